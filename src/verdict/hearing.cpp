#include "verdict/hearing.h"

#include "base/text.h"
#include "evidence/metered_gpu.h"
#include "verdict/cards_in_use.h"
#include "verdict/witnesses.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace picchio {

const DeviceAccount* biggest(const Placement& placement, DeviceKind kind) {
  const DeviceAccount* found = nullptr;
  std::int64_t most = 0;
  for (const DeviceAccount& device : placement.devices) {
    const std::int64_t bytes = device.weights_bytes.value_or(0);
    if (device.kind != kind || bytes <= most) continue;
    found = &device;
    most = bytes;
  }
  return found;
}

std::string label(const DeviceAccount& device) {
  // "RPC0[192.0.2.1:50052]": a block is pasted in public, and an address is nobody's business.
  if (device.kind == DeviceKind::remote) return plain(device.name.substr(0, device.name.find('[')));
  return fit(plain(device.description.empty() ? device.name : device.description), 40);
}

std::string short_label(const DeviceAccount& device) {
  const std::string whole = label(device);
  return whole.substr(0, whole.find(" ("));
}

std::string share_of(const Placement& placement, const DeviceAccount& device) {
  std::int64_t all = 0;
  for (const DeviceAccount& other : placement.devices) all += other.weights_bytes.value_or(0);
  if (all <= 0) return "some";
  return fmt::format("{:.0f}%", 100.0 * static_cast<double>(device.weights_bytes.value_or(0)) /
                                    static_cast<double>(all));
}

bool log_lists_hardware(const Hearing& h) {
  if (h.run.passes.empty()) return false;
  return std::ranges::any_of(h.run.passes.front().log.devices, [](const Device& device) {
    return device.kind == DeviceKind::hardware_gpu;
  });
}

const MachineGpu* machine_gpu(const Hearing& h) {
  return h.measured ? usable_gpu(h.run.raw.machine) : nullptr;
}

bool machine_without_gpu(const Hearing& h) {
  return h.measured && h.run.raw.machine.gpus_known && machine_gpu(h) == nullptr &&
         h.run.raw.telemetry.troubles.empty();
}

bool of_a_vendor_not_here(const Hearing& h, const DeviceAccount& device) {
  const std::string_view vendor = vendor_of(device);
  const Machine& machine = h.run.raw.machine;
  if (!h.measured || !machine.gpus_known || vendor.empty() || vendor == "other") return false;
  return std::ranges::none_of(machine.gpus, [&](const MachineGpu& gpu) {
    return gpu.can_compute && (gpu.vendor.empty() || lower(gpu.vendor) == vendor);
  });
}

bool asks_a_remote(const Hearing& h) {
  if (h.run.placement.shape == Shape::remote) return true;
  if (biggest(h.run.placement, DeviceKind::remote) != nullptr) return true;
  const bool flag = std::ranges::any_of(
      engine_arguments(h.run.raw),
      [](const std::string& argument) { return argument.starts_with("--rpc"); });
  return flag || h.run.raw.environment.contains("LLAMA_ARG_RPC");
}

bool failed_load(const Hearing& h) {
  if (h.run.passes.empty()) return true;
  const Load* load = main_load(h.run.passes.front().log);
  return load != nullptr && load->failure.has_value();
}

bool ran_on_cpu(const Hearing& h) {
  if (h.run.placement.shape == Shape::cpu) return true;
  if (h.run.placement.shape != Shape::unknown || !h.measured) return false;
  if (failed_load(h) || asks_a_remote(h)) return false;
  if (h.says(Witness::process, Word::cpu)) return true;
  const bool own_word = h.run.raw.server && h.says(Witness::claim, Word::cpu);
  if (own_word && !h.says(Witness::gpu_meter, Word::gpu)) return true;
  if (computed_elsewhere(h.run)) return false;
  return machine_without_gpu(h) && !log_lists_hardware(h) && !h.says(Witness::process, Word::gpu);
}

bool bytes_on_hardware(const Hearing& h) {
  return h.run.placement.shape == Shape::gpu || h.run.placement.shape == Shape::partial;
}

bool known_backend(const Placement& placement) {
  for (const DeviceAccount& device : placement.devices) {
    if (device.kind != DeviceKind::hardware_gpu || device.weights_bytes.value_or(0) <= 0) continue;
    const bool known = std::ranges::any_of(
        std::to_array<std::string_view>({"CUDA", "ROCm", "HIP", "Vulkan", "SYCL"}),
        [&](std::string_view backend) { return device.name.starts_with(backend); });
    if (!known) return false;
  }
  return true;
}

bool has_rates(const Hearing& h) { return !h.timed || decode_rate(h.run) || prefill_rate(h.run); }

const Testimony& Hearing::of(Witness witness) const {
  // hear_all() hears every witness of the table, so there always is one.
  return *std::ranges::find(testimonies, witness, &Testimony::witness);
}

bool Hearing::says(Witness witness, Word word) const { return of(witness).word == word; }

std::string number_to_quote(const Run& run) {
  const std::optional<double> rate = decode_rate(run);
  if (!rate) return {};
  return fmt::format(" The number to quote is {} decode, {:.1f} tok/s.",
                     run.warm_decode.median ? "the warm median" : "the one pass's", *rate);
}

}  // namespace picchio
