#include "commands/plan/room.h"

#include "base/text.h"
#include "commands/meter_place.h"
#include "machine/inventory.h"
#include "machine/processor.h"
#include "meters/sampler.h"
#include "verdict/bandwidth.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

namespace picchio {
namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;
// More than any machine has; beyond 2^63 the arithmetic would end.
constexpr double kMostGiB = 1 << 20;

Result<std::int64_t> gib(std::string_view text, std::string_view option) {
  const auto value = parse_double(trim(text));
  if (value && *value >= 0 && *value <= kMostGiB) {
    return static_cast<std::int64_t>(std::llround(*value * kGiB));
  }
  return with_hint(fail(ErrorKind::unsupported, "{} takes GiB, not '{}'", option, plain(text)),
                   "--vram 24, or --vram 24,12 for two GPUs");
}

/// A GPU of the table, whatever it is called in full.
Result<RoomDevice> device_of_table(const std::string& name, std::optional<std::int64_t> memory) {
  const std::optional<MemoryPeak> peak = find_peak(name, memory);
  if (!peak) {
    return with_hint(fail(ErrorKind::not_found, "no GPU '{}' in the table", plain(name)),
                     "in full, as its driver prints it: --gpu \"GeForce RTX 4090\"; or --vram GiB");
  }
  RoomDevice out{.name = name, .free_bytes = 0, .peak_bytes_per_second = peak->bytes_per_second};
  if (memory) {
    out.free_bytes = *memory;
    return out;
  }
  if (!peak->size_bytes) {
    return with_hint(fail(ErrorKind::unsupported, "the table does not say how much memory '{}' has",
                          plain(name)),
                     fmt::format("--gpu \"{}\" --vram GiB", plain(name)));
  }
  out.free_bytes = *peak->size_bytes;
  return out;
}

Result<> take_given_devices(const RoomWish& wish, PlanRoom& out) {
  out.from = "free memory of the GPU as given";
  if (wish.vram.empty()) {
    Result<RoomDevice> device = device_of_table(wish.gpu, std::nullopt);
    if (!device) return std::unexpected(device.error());
    out.devices.push_back(*std::move(device));
    out.from = "the GPU's memory by its data sheet; driver and desktop take some of it";
    return {};
  }
  for (const std::string_view part : split(wish.vram, ',')) {
    const Result<std::int64_t> bytes = gib(part, "--vram");
    if (!bytes) return std::unexpected(bytes.error());
    if (wish.gpu.empty()) {
      out.devices.push_back({fmt::format("GPU {}", out.devices.size()), *bytes, std::nullopt});
      continue;
    }
    Result<RoomDevice> device = device_of_table(wish.gpu, *bytes);
    if (!device) return std::unexpected(device.error());
    out.devices.push_back(*std::move(device));
  }
  return {};
}

void take_metered(const MeteredGpu& gpu, const GpuReading& reading, PlanRoom& out) {
  const std::string name = gpu.name.empty() ? gpu.address : gpu.name;
  if (!gpu.memory_bytes || !reading.memory_bytes) {
    out.notes.push_back(name + " does not tell how much memory is free: --vram GiB does");
    return;
  }
  RoomDevice device{
      .name = name,
      .free_bytes = std::max<std::int64_t>(0, *gpu.memory_bytes - *reading.memory_bytes),
      .peak_bytes_per_second = gpu.peak_bytes_per_second};
  if (!device.peak_bytes_per_second) {
    if (const auto peak = find_peak(gpu.name, gpu.memory_bytes, gpu.cores); peak && peak->sure) {
      device.peak_bytes_per_second = peak->bytes_per_second;
    }
  }
  out.shared = out.shared || gpu.unified_memory;
  out.devices.push_back(std::move(device));
}

Result<> take_metered_devices(const os::Interrupts& interrupts, PlanRoom& out) {
  meters::MeterSet set = meters::MeterSet::open_within(meter_place(&interrupts));
  if (interrupts.caught()) return std::unexpected(Error{ErrorKind::interrupted, "interrupted", {}});
  const std::vector<MeteredGpu> gpus(set.gpus().begin(), set.gpus().end());
  if (gpus.empty()) {
    if (const MachineGpu* gpu = usable_gpu(read_machine())) {
      out.notes.push_back(gpu->name + " has no meter that tells its free memory: --vram GiB does");
    }
    return {};
  }
  const std::vector<GpuReading> readings = set.sample();
  for (std::size_t i = 0; i < gpus.size() && i < readings.size(); ++i) {
    take_metered(gpus[i], readings[i], out);
  }
  out.from = "free memory as the GPU's meter says just now";
  return {};
}

}  // namespace

Result<PlanRoom> find_room(const RoomWish& wish, const os::Interrupts& interrupts) {
  PlanRoom out;
  if (wish.ram_gib) {
    out.host_free = static_cast<std::int64_t>(std::llround(*wish.ram_gib * kGiB));
  } else {
    out.host_free = available_memory();
  }
  if (wish.cpu_only) return out;
  const bool given = !wish.vram.empty() || !wish.gpu.empty();
  const Result<> ok = given ? take_given_devices(wish, out) : take_metered_devices(interrupts, out);
  if (!ok) return std::unexpected(ok.error());
  return out;
}

}  // namespace picchio
