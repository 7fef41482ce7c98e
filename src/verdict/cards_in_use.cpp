#include "verdict/cards_in_use.h"

#include "base/text.h"
#include "evidence/metered_gpu.h"
#include "verdict/bandwidth.h"

#include <fmt/format.h>

#include <algorithm>

namespace picchio {
namespace {

std::string_view vendor_of_backend(std::string_view device) {
  struct Row {
    std::string_view backend;
    std::string_view vendor;
  };
  // Vulkan and OpenCL drive any vendor's.
  constexpr Row kRows[] = {{"CUDA", "nvidia"}, {"ROCm", "amd"},   {"HIP", "amd"},
                           {"SYCL", "intel"},  {"MTL", "apple"},  {"Metal", "apple"},
                           {"MUSA", "other"},  {"CANN", "other"}, {"HTP", "other"}};
  for (const Row& row : kRows) {
    if (device.starts_with(row.backend)) return row.vendor;
  }
  return {};
}

std::string_view vendor_of_words(std::string_view text) {
  const std::string words = lower(text);
  struct Row {
    std::string_view word;
    std::string_view vendor;
  };
  constexpr Row kRows[] = {{"nvidia", "nvidia"}, {"geforce", "nvidia"}, {"tesla", "nvidia"},
                           {"quadro", "nvidia"}, {"amd", "amd"},        {"radeon", "amd"},
                           {"instinct", "amd"},  {"intel", "intel"},    {"apple", "apple"}};
  for (const Row& row : kRows) {
    if (words.contains(row.word)) return row.vendor;
  }
  return {};
}

std::string vendor_of_metered(const MeteredGpu& gpu) {
  const std::string_view vendor = vendor_of_meter(gpu.meter);
  return vendor.empty() ? std::string(vendor_of_words(gpu.name)) : lower(vendor);
}

/// "0000:01:00.0" of "using device CUDA0 (NVIDIA GeForce RTX 4090) (0000:01:00.0) - 23592 MiB
/// free", which builds of mid 2025 and later print.
std::string address_in_log(std::string_view log, std::string_view device) {
  const std::string words = fmt::format("using device {} (", device);
  const std::size_t found = log.find(words);
  if (found == std::string_view::npos) return {};
  std::string_view line = log.substr(found);
  line = line.substr(0, line.find('\n'));
  line = line.substr(0, line.rfind(") - "));
  const std::string_view last = line.substr(line.rfind('(') + 1);
  const bool like_one = last.size() == 12 && last[4] == ':' && last[7] == ':' && last[10] == '.';
  return like_one ? lower(last) : std::string();
}

/// Indices of the GPUs that `device` can be; several where nothing tells equal ones apart.
std::vector<std::size_t> metered_as(const DeviceAccount& device, const Run& run) {
  const Telemetry& telemetry = run.raw.telemetry;
  const std::string address =
      run.raw.passes.empty() ? "" : address_in_log(run.raw.passes.front().log, device.name);
  for (std::size_t i = 0; i < telemetry.gpus.size() && !address.empty(); ++i) {
    if (telemetry.gpus[i].address == address) return {i};
  }
  std::vector<std::size_t> of_vendor;
  std::vector<std::size_t> of_name;
  const std::string_view vendor = vendor_of(device);
  for (std::size_t i = 0; i < telemetry.gpus.size(); ++i) {
    const std::string other = vendor_of_metered(telemetry.gpus[i]);
    if (!vendor.empty() && !other.empty() && vendor != other) continue;
    of_vendor.push_back(i);
    if (same_device_name(device.description, telemetry.gpus[i].name)) of_name.push_back(i);
  }
  return of_name.empty() ? of_vendor : of_name;
}

bool holds_weights(const DeviceAccount& device) {
  return device.kind == DeviceKind::hardware_gpu && device.weights_bytes.value_or(0) > 0;
}

/// How much a card did: to give the harder one to the device with more weights.
double activity_of(const GpuUse& use) {
  const double own = 1e4 * use.work.tree_share.value_or(0) +
                     static_cast<double>(use.tree_memory.value_or(0)) / (1 << 20);
  return own + use.work.busy_median.value_or(0) +
         static_cast<double>(use.memory_step.value_or(0)) / (1 << 24);
}

}  // namespace

std::string_view vendor_of(const DeviceAccount& device) {
  // A CUDA that somebody put on another vendor's card says so in the name.
  const std::string_view named = vendor_of_words(device.description);
  return named.empty() ? vendor_of_backend(device.name) : named;
}

std::vector<CardInUse> cards_in_use(const Run& run) {
  std::vector<const DeviceAccount*> devices;
  for (const DeviceAccount& device : run.placement.devices) {
    if (holds_weights(device)) devices.push_back(&device);
  }
  std::ranges::stable_sort(devices, std::ranges::greater{},
                           [](const DeviceAccount* d) { return d->weights_bytes.value_or(0); });
  std::vector<CardInUse> out;
  for (const DeviceAccount* device : devices) {
    CardInUse card{device->name, device->weights_bytes.value_or(0), std::nullopt};
    std::vector<std::size_t> found = metered_as(*device, run);
    std::erase_if(found, [&](std::size_t i) { return i >= run.gpu_use.size(); });
    std::ranges::stable_sort(found, std::ranges::greater{},
                             [&](std::size_t i) { return activity_of(run.gpu_use[i]); });
    const auto taken = [&](std::size_t i) {
      return std::ranges::any_of(out, [&](const CardInUse& other) { return other.gpu == i; });
    };
    const auto free = std::ranges::find_if_not(found, taken);
    // Two backends can drive one card.
    if (free != found.end()) card.gpu = *free;
    if (!card.gpu && !found.empty()) card.gpu = found.front();
    out.push_back(std::move(card));
  }
  return out;
}

}  // namespace picchio
