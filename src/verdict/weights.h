// Weighing one load: whose memory holds how many bytes of the weights. Pure.
//
// Three things make the printed sizes lie. A mapped buffer is a span of the file and can cover
// tensors that lie elsewhere; a repacked buffer can be a second copy; and what a planning pass
// prints is zero. The header, where there is one, says what the sum has to be.
#pragma once

#include "evidence/engine_log.h"
#include "evidence/model_file.h"
#include "evidence/placement.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace picchio {

enum class WeightSource {
  buffer_lines,    // of the load itself: exact unless the device's buffers are mapped
  planning_table,  // the planning pass's memory table: tensor bytes, in whole MiB
  layer_lines,     // per-layer device lines and overrides, priced by the header
  exit_table,      // the table at exit, for a log that kept nothing else
};

/// What stands behind an RPC device.
enum class RemoteTruth { unknown, cpu, gpu };

struct Weights {
  WeightSource source = WeightSource::buffer_lines;
  std::int64_t hardware = 0;
  std::int64_t software = 0;
  std::int64_t remote = 0;
  std::int64_t host = 0;              // after trimming
  std::int64_t host_printed = 0;      // before
  std::optional<std::int64_t> total;  // of all tensors that this load reads; absent: not told
  std::int64_t total_error = 0;       // "5.28 GiB" is rounded: the total may be off by this much
  std::int64_t rounding = 0;          // the device figures, all lines together
  bool spans = false;                 // device bytes are file spans: an upper bound
  bool trimmed = false;  // the host share is what the total leaves, not what was printed

  [[nodiscard]] std::int64_t all() const { return hardware + software + remote + host; }
};

/// Nullopt: the load has no line about weights.
[[nodiscard]] std::optional<Weights> weigh(const EngineLog& log, const Load& load,
                                           const ModelFile* model);

/// The devices of the account, weights after trimming, host last.
[[nodiscard]] std::vector<DeviceAccount> device_accounts(const EngineLog& log, const Load& load,
                                                         const std::optional<Weights>& weights);

/// A buffer line knows its kind; a layer line or a table row only has a name. `printed` is what the
/// line itself said, and never makes a software or remote device hardware again.
[[nodiscard]] DeviceKind kind_of_device(const EngineLog& log, std::string_view device,
                                        std::optional<DeviceKind> printed = std::nullopt);

[[nodiscard]] RemoteTruth remote_truth(const EngineLog& log, const Load& load);

/// Bytes of weights that must be off the host for a full offload. A model without output.weight
/// uses its embedding as the head as well (`tied_head`), so the engine stores it once more on the
/// device; an encoder has no head at all.
[[nodiscard]] std::int64_t needed_on_device(const ModelFile& model, bool tied_head);

}  // namespace picchio
