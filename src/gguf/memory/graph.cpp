#include "gguf/memory/graph.h"

#include <utility>

namespace picchio::gguf {
namespace {

// 4 TiB. Sums over the tensors of a graph, of which 512 layers of 512 experts have less than 2^20,
// stay below 2^63.
constexpr std::int64_t kLargestTensor = std::int64_t{1} << 42U;

}  // namespace

TensorId Graph::add(GraphTensor tensor) {
  const Size bytes = tensor.shape.bytes();
  fits_ = fits_ && bytes.fits() && bytes.value_or_zero() <= kLargestTensor;
  tensor.bytes = bytes.value_or_zero();
  tensors_.push_back(std::move(tensor));
  visited_.push_back(false);
  return static_cast<TensorId>(tensors_.size() - 1);
}

TensorId Graph::input(const Shape& shape) {
  GraphTensor tensor{.shape = shape};
  tensor.input = true;
  return add(std::move(tensor));
}

TensorId Graph::weight(const HeaderTensor& tensor, BackendId home, bool offloadable) {
  GraphTensor out{.shape = {.width = tensor.bytes.value_or(0), .element_bytes = 1}};
  out.external = true;
  out.weight = true;
  out.offloadable = offloadable;
  out.home = home;
  return add(std::move(out));
}

TensorId Graph::cache(BackendId home, Size bytes) {
  GraphTensor out{.shape = {.width = bytes, .element_bytes = 1}};
  out.external = true;
  out.home = home;
  return add(std::move(out));
}

TensorId Graph::scratch(const Shape& shape) { return add(GraphTensor{.shape = shape}); }

TensorId Graph::op(const Shape& shape, std::initializer_list<TensorId> sources,
                   bool may_overwrite) {
  GraphTensor out{.shape = shape};
  for (const TensorId source : sources) {
    if (source != kNone) out.sources.push_back(source);
  }
  out.may_overwrite = may_overwrite;
  return add(std::move(out));
}

TensorId Graph::view(TensorId of, const Shape& shape, bool strided, bool at_start) {
  if (of == kNone) return kNone;
  const GraphTensor& viewed = at(of);
  GraphTensor out{.shape = shape, .sources = {of}};
  out.root = viewed.root != kNone ? viewed.root : of;
  out.view = true;
  out.at_start = at_start && (viewed.root == kNone || viewed.at_start);
  out.strided = strided;
  return add(std::move(out));
}

TensorId Graph::write(TensorId into, std::initializer_list<TensorId> sources) {
  if (into == kNone) return kNone;
  GraphTensor out{.shape = at(into).shape};
  for (const TensorId source : sources) {
    if (source != kNone) out.sources.push_back(source);
  }
  out.sources.push_back(into);
  out.root = at(into).root != kNone ? at(into).root : into;
  return add(std::move(out));
}

void Graph::expand(TensorId tensor) {
  if (tensor == kNone) return;
  // Depth first, sources from left to right, without recursion: a graph of many layers is deep.
  std::vector<std::pair<TensorId, std::size_t>> path{{tensor, 0}};
  if (visited_[static_cast<std::size_t>(tensor)]) return;
  visited_[static_cast<std::size_t>(tensor)] = true;
  while (!path.empty()) {
    auto& [current, next] = path.back();
    const GraphTensor& here = at(current);
    if (next < here.sources.size()) {
      const TensorId source = here.sources[next++];
      if (visited_[static_cast<std::size_t>(source)]) continue;
      visited_[static_cast<std::size_t>(source)] = true;
      path.emplace_back(source, 0);
      continue;
    }
    (here.sources.empty() ? leaves_ : nodes_).push_back(current);
    path.pop_back();
  }
}

}  // namespace picchio::gguf
