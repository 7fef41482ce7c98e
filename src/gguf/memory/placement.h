// Where the engine puts layers and tensors.
#pragma once

#include "base/result.h"
#include "gguf/memory/layers.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace picchio::gguf {

struct PlannedDevice {
  std::string name = {};
  std::int64_t free_bytes = 0;  // shares of layers follow it, unless a split is asked for
  /// The largest tensor that it takes: Vulkan's limit of a storage buffer. Larger weights stay on
  /// the host.
  std::optional<std::int64_t> largest_tensor = std::nullopt;
  /// Computes with weights of the host in large batches, for which it holds copies of them: CUDA
  /// and Vulkan do, devices behind RPC do not.
  bool offloads_operations = true;
  /// Gives the host memory of its own kind for weights that it may read: CUDA and Vulkan do. Such
  /// weights are not repacked.
  bool pins_host_memory = true;
  /// Runs the first Mamba's scan; Vulkan runs the second's only, and leaves the first's to the
  /// host.
  bool scans_mamba = true;
};

struct Placement {
  std::vector<PlannedDevice> devices;  // none: all on the host
  std::int64_t n_gpu_layers = -1;      // -ngl, the output counted as one; below 0: all
  std::vector<double> tensor_split;    // -ts: shares of the devices; empty: by free memory
  bool split_layers = true;            // -sm none: the first device takes all
  bool offload_kv = true;              // -nkvo
  bool offload_operations = true;      // --no-op-offload
  std::int64_t n_cpu_moe = 0;          // -ncmoe: experts of so many first blocks stay on the host
  std::int64_t n_cpu_ffn = 0;          // -ncffn: the same of dense feed-forward parts
  /// What -ot "PREFIX.*=CPU" says of all blocks: tensors whose role begins so stay on the host.
  std::vector<std::string> host_roles;
  /// Whether the host's engine keeps weights of some types in a layout of its own, beside the file:
  /// CPUs with AVX2 do with Q4_0, Q4_K, IQ4_NL and MXFP4.
  bool repacks = false;
};

constexpr std::size_t kHost = static_cast<std::size_t>(-1);

/// By index into the devices; kHost.
struct Placed {
  std::vector<std::size_t> layers;  // of ModelLayers::layers
  std::size_t output = kHost;
  std::size_t used_devices = 0;  // -sm none: one of them

  /// Every layer on devices: only then a pipeline of several is built.
  bool everything = false;
};

[[nodiscard]] Result<Placed> placed(const ModelLayers& model, const Placement& placement);

/// Of a block's tensor by its role, "ffn_up_exps.weight".
[[nodiscard]] std::size_t device_of(const HeaderTensor& tensor, std::size_t block,
                                    std::string_view role, const Placed& where,
                                    const Placement& placement);
/// Of a tensor in no block, by its name.
[[nodiscard]] std::size_t device_of(const HeaderTensor& tensor, const Placed& where,
                                    const Placement& placement);
/// Of what the output is computed with: output.weight, or the embedding in its place.
[[nodiscard]] std::size_t device_of_head(const HeaderTensor& tensor, const Placed& where,
                                         const Placement& placement);

/// Whether a device may hold a copy of this weight of the host for one operation.
[[nodiscard]] bool is_offloadable(const HeaderTensor& tensor, const Placement& placement);

/// Whether the host keeps this weight in the layout of its own.
[[nodiscard]] bool is_repacked(const HeaderTensor& tensor, const Placement& placement);

}  // namespace picchio::gguf
