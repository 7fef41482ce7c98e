// A graph of tensors as the engine would build it for one micro-batch: sizes and who reads what,
// nothing of the values. And the order of its computation.
#pragma once

#include "gguf/header.h"
#include "gguf/memory/size.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace picchio::gguf {

using TensorId = std::int32_t;
inline constexpr TensorId kNone = -1;

/// A backend: the devices in their order, then the host.
using BackendId = std::int32_t;

/// Of up to three dimensions; further ones are taken into the last.
struct Shape {
  Size width = 0;
  Size middle = 1;
  Size outer = 1;
  std::int64_t element_bytes = 4;

  [[nodiscard]] Size numbers() const { return width * middle * outer; }
  [[nodiscard]] Size bytes() const { return numbers() * element_bytes; }
};

struct GraphTensor {
  Shape shape = {};
  std::int64_t bytes = 0;
  std::vector<TensorId> sources = {};
  TensorId root = kNone;       // a view's: whose memory it is
  bool view = false;           // no computation of its own
  bool at_start = true;        // a view's: of the beginning of its root
  bool strided = false;        // its rows do not touch
  bool may_overwrite = false;  // may take the place of a source of the same shape
  bool external = false;       // weights and caches: not in a compute buffer
  bool weight = false;
  bool offloadable = false;  // a weight of the host that a device may copy
  bool dependency = false;   // only keeps its source alive up to its place in the order
  bool input = false;        // set from outside before the computation
  bool output = false;       // read from outside behind it
  BackendId home = kNone;    // where it must be; kNone: to be found out
};

/// A file may lack any tensor: what is made of kNone alone is kNone, and a source that is kNone is
/// left out.
class Graph {
 public:
  explicit Graph(BackendId host) : host_(host) {}

  TensorId input(const Shape& shape);
  TensorId weight(const HeaderTensor& tensor, BackendId home, bool offloadable);
  /// `bytes` are what a backend copies that reads it from elsewhere.
  TensorId cache(BackendId home, Size bytes);
  /// Memory to be written to.
  TensorId scratch(const Shape& shape);
  /// An operation with a result of its own.
  TensorId op(const Shape& shape, std::initializer_list<TensorId> sources,
              bool may_overwrite = false);
  /// The same memory seen in another shape.
  TensorId view(TensorId of, const Shape& shape, bool strided = false, bool at_start = true);
  /// An operation that writes into the memory of `into`.
  TensorId write(TensorId into, std::initializer_list<TensorId> sources);

  void set_home(TensorId tensor, BackendId home) { at(tensor).home = home; }
  void set_output(TensorId tensor) { at(tensor).output = true; }

  /// Puts `tensor` behind everything that it is made of, as far as that is not in the order yet.
  void expand(TensorId tensor);

  /// Of nothing for kNone.
  [[nodiscard]] Shape shape(TensorId tensor) const {
    return tensor == kNone ? Shape{} : tensors_[static_cast<std::size_t>(tensor)].shape;
  }
  [[nodiscard]] const std::vector<GraphTensor>& tensors() const { return tensors_; }
  [[nodiscard]] const std::vector<TensorId>& leaves() const { return leaves_; }
  [[nodiscard]] const std::vector<TensorId>& nodes() const { return nodes_; }
  [[nodiscard]] BackendId host() const { return host_; }
  /// False once a tensor was larger than any machine's memory.
  [[nodiscard]] bool fits() const { return fits_; }

 private:
  GraphTensor& at(TensorId tensor) { return tensors_[static_cast<std::size_t>(tensor)]; }
  TensorId add(GraphTensor tensor);

  BackendId host_;
  std::vector<GraphTensor> tensors_;
  std::vector<bool> visited_;
  std::vector<TensorId> leaves_;
  std::vector<TensorId> nodes_;
  bool fits_ = true;
};

/// What the scheduler asks of a backend.
struct BackendTraits {
  bool offloads = false;            // computes with weights of the host
  std::int64_t largest_tensor = 0;  // takes no larger ones; 0: takes all
};

}  // namespace picchio::gguf
