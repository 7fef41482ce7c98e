#include "gguf/memory/placement.h"

#include "gguf/memory/size.h"
#include "gguf/token_use.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace picchio::gguf {
namespace {

/// Shares of the devices, each added to the ones before it, from 0 to 1.
std::vector<float> cumulative_shares(const Placement& placement, std::size_t devices) {
  std::vector<float> shares;
  shares.reserve(devices);
  float sum = 0;
  for (std::size_t i = 0; i < devices; ++i) {
    const double share = placement.tensor_split.empty()
                             ? static_cast<double>(placement.devices[i].free_bytes)
                             : (i < placement.tensor_split.size() ? placement.tensor_split[i] : 0);
    sum += static_cast<float>(share);
    shares.push_back(sum);
  }
  if (sum > 0) {
    for (float& share : shares) share /= sum;
  } else {
    for (std::size_t i = 0; i < devices; ++i) {
      shares[i] = static_cast<float>(i + 1) / static_cast<float>(devices);
    }
  }
  return shares;
}

// What the engine tries a device's limits with.
constexpr std::int64_t kTrialTokens = 512;

bool takes(const PlannedDevice& device, const HeaderTensor& tensor) {
  if (!device.scans_mamba && tensor.name.ends_with(".ssm_a") && tensor.ne[0] > 1) return false;
  if (!device.largest_tensor) return true;
  // The product with a batch has to fit as well.
  Size product = Size(tensor.ne[1]) * kTrialTokens * 4;
  if (tensor.dimensions != 2) product = 0;
  return product.fits() && product.value_or_zero() <= *device.largest_tensor &&
         tensor.bytes.value_or(0) <= *device.largest_tensor;
}

bool fits(const HeaderTensor& tensor, std::size_t device, const Placement& placement) {
  return device == kHost || takes(placement.devices[device], tensor);
}

bool is_expert(std::string_view role) {
  for (const std::string_view part : {"ffn_up_", "ffn_down_", "ffn_gate_", "ffn_gate_up_"}) {
    if (!role.starts_with(part)) continue;
    const std::string_view rest = role.substr(part.size());
    if (rest.starts_with("exps") || rest.starts_with("chexps")) return true;
  }
  return false;
}

bool is_dense_ffn(std::string_view role) {
  return role.starts_with("ffn_up.") || role.starts_with("ffn_down.") ||
         role.starts_with("ffn_gate.");
}

}  // namespace

Result<Placed> placed(const ModelLayers& model, const Placement& placement) {
  for (const double share : placement.tensor_split) {
    if (!(share >= 0) || !std::isfinite(share)) {
      return fail(ErrorKind::unsupported, "a share of the tensor split is no number of 0 or more");
    }
  }
  Placed out;
  out.layers.assign(model.layers.size(), kHost);
  out.used_devices = placement.split_layers ? placement.devices.size()
                                            : std::min<std::size_t>(placement.devices.size(), 1);
  // The output counts as one layer behind the blocks, those of next-token prediction among them.
  const std::int64_t all = model.blocks + 1;
  const std::int64_t on_devices = out.used_devices == 0 ? 0
                                  : placement.n_gpu_layers < 0
                                      ? all
                                      : std::min(placement.n_gpu_layers, all);
  if (on_devices == 0) return out;
  const std::vector<float> shares = cumulative_shares(placement, out.used_devices);
  const std::int64_t first = all - on_devices;
  const auto device = [&](std::int64_t layer) {
    if (layer < first) return kHost;
    const float at = static_cast<float>(layer - first) / static_cast<float>(on_devices);
    const auto found = std::ranges::upper_bound(shares, at);
    return std::min(static_cast<std::size_t>(std::distance(shares.begin(), found)),
                    out.used_devices - 1);
  };
  for (std::size_t i = 0; i < out.layers.size(); ++i) {
    out.layers[i] = device(static_cast<std::int64_t>(i));
  }
  out.output = device(model.blocks);
  out.everything = on_devices == all;
  return out;
}

std::size_t device_of(const HeaderTensor& tensor, std::size_t block, std::string_view role,
                      const Placed& where, const Placement& placement) {
  const auto index = static_cast<std::int64_t>(block);
  if (index < placement.n_cpu_moe && is_expert(role)) return kHost;
  if (index < placement.n_cpu_ffn && is_dense_ffn(role)) return kHost;
  if (std::ranges::any_of(placement.host_roles,
                          [&](const std::string& begin) { return role.starts_with(begin); })) {
    return kHost;
  }
  const std::size_t device = where.layers[block];
  return fits(tensor, device, placement) ? device : kHost;
}

std::size_t device_of(const HeaderTensor& tensor, const Placed& where, const Placement& placement) {
  if (always_on_host(tensor.name)) return kHost;
  // Used in the first layer, whatever their names say.
  for (const std::string_view early : {"per_layer_model_proj.", "per_layer_proj_norm.", "rope_"}) {
    if (tensor.name.starts_with(early)) return where.layers.empty() ? kHost : where.layers[0];
  }
  return device_of_head(tensor, where, placement);
}

std::size_t device_of_head(const HeaderTensor& tensor, const Placed& where,
                           const Placement& placement) {
  return fits(tensor, where.output, placement) ? where.output : kHost;
}

bool is_offloadable(const HeaderTensor& tensor, const Placement& placement) {
  return !always_on_host(tensor.name) && !is_repacked(tensor, placement) &&
         std::ranges::all_of(placement.devices,
                             [&](const PlannedDevice& device) { return takes(device, tensor); });
}

bool is_repacked(const HeaderTensor& tensor, const Placement& placement) {
  // Measured on a CPU with AVX2, ggml 0.27.0: Q8_0 and the others stay as they are.
  constexpr std::string_view kTypes[] = {"q4_0", "q4_K", "iq4_nl", "mxfp4"};
  // Rows are interleaved by eight.
  constexpr std::int64_t kRows = 8;
  if (!placement.repacks || std::ranges::find(kTypes, tensor.type) == std::end(kTypes)) {
    return false;
  }
  const bool matrix = tensor.dimensions == 2 ||
                      (tensor.dimensions == 3 && tensor.name.find("_exps") != std::string::npos);
  return matrix && tensor.ne[1] % kRows == 0 &&
         std::ranges::none_of(placement.devices, [&](const PlannedDevice& device) {
           return device.pins_host_memory && takes(device, tensor);
         });
}

}  // namespace picchio::gguf
