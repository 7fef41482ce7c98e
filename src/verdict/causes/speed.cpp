// Causes of a run that is where it should be, or where it was asked to be, and slow.
#include "base/text.h"
#include "evidence/metered_gpu.h"
#include "verdict/causes/evidence.h"

#include <fmt/format.h>

#include <algorithm>

namespace picchio {
namespace {

const MeteredGpu* metered(const CauseEvidence& e, const GpuUse& use) {
  const auto& gpus = e.run->raw.telemetry.gpus;
  const auto index = static_cast<std::size_t>(use.gpu);
  return use.gpu >= 0 && index < gpus.size() ? &gpus[index] : nullptr;
}

std::string card(const CauseEvidence& e, const GpuUse& use) {
  const MeteredGpu* gpu = metered(e, use);
  return gpu == nullptr || gpu->name.empty() ? std::string("the GPU") : plain(gpu->name);
}

std::int64_t host_weights(const CauseEvidence& e) {
  std::int64_t out = 0;
  for (const DeviceAccount& device : e.placement.devices) {
    if (device.kind == DeviceKind::host || device.kind == DeviceKind::software) {
      out += device.weights_bytes.value_or(0);
    }
  }
  return out;
}

/// The widest that a card's link was seen while an engine ran: it trains down when idle.
std::optional<PcieLink> widest_link(const Telemetry& telemetry, std::size_t gpu) {
  std::optional<PcieLink> widest;
  for (const GpuSample& sample : telemetry.samples) {
    if (gpu >= sample.readings.size()) continue;
    const std::optional<PcieLink>& link = sample.readings[gpu].link;
    if (link && (!widest || link->width > widest->width)) widest = link;
  }
  return widest;
}

}  // namespace

std::optional<Cause> gpu_throttled(const CauseEvidence& e) {
  if (e.run == nullptr || !e.some_on_gpu) return std::nullopt;
  const auto hot = std::ranges::find_if(
      e.run->gpu_use, [](const GpuUse& use) { return use.in_use && often_throttled(use); });
  if (hot == e.run->gpu_use.end()) return std::nullopt;
  return cause("gpu_throttled", card(e, *hot) + " slowed down: heat, or the board's signal",
               fmt::format("{:.0f}% of the looks at work, by the driver's reasons",
                           100 * hot->throttled_share));
}

std::optional<Cause> power_limited(const CauseEvidence& e) {
  // At full load many cards sit at their limit; only almost all of the time is worth a word.
  constexpr double kAlways = 0.9;
  if (e.run == nullptr || !e.some_on_gpu) return std::nullopt;
  const auto capped = std::ranges::find_if(e.run->gpu_use, [](const GpuUse& use) {
    return use.in_use && use.power_capped_share >= kAlways;
  });
  if (capped == e.run->gpu_use.end()) return std::nullopt;
  return cause("power_limited", card(e, *capped) + " is held at its power limit",
               fmt::format("{:.0f}% of the looks at work, by the driver's reasons",
                           100 * capped->power_capped_share));
}

std::optional<Cause> link_low(const CauseEvidence& e) {
  // With all weights on the card little crosses the link.
  if (e.run == nullptr || e.placement.shape != Shape::partial) return std::nullopt;
  for (const GpuUse& use : e.run->gpu_use) {
    const MeteredGpu* gpu = metered(e, use);
    if (!use.in_use || gpu == nullptr || !gpu->link_max) continue;
    const auto now = widest_link(e.run->raw.telemetry, static_cast<std::size_t>(use.gpu));
    if (!now || now->width <= 0 || now->width * 2 > gpu->link_max->width) continue;
    return cause("pcie_link_low",
                 fmt::format("PCIe x{} of x{}: {}", now->width, gpu->link_max->width, card(e, use)),
                 "the widest link that its meter saw at work");
  }
  return std::nullopt;
}

std::optional<Cause> larger_than_ram(const CauseEvidence& e) {
  if (e.run == nullptr || e.run->raw.server || !e.host_computes()) return std::nullopt;
  const std::optional<std::int64_t>& ram = e.run->raw.machine.ram_bytes;
  const std::int64_t held = host_weights(e);
  if (!ram || held <= *ram) return std::nullopt;
  return cause("model_larger_than_ram",
               fmt::format("{} of weights in {} of RAM: the disk is read", format_bytes(held),
                           format_bytes(*ram)),
               "the account of bytes and the machine's memory");
}

std::optional<Cause> single_channel(const CauseEvidence& e) {
  if (e.run == nullptr || !e.host_computes()) return std::nullopt;
  if (e.run->raw.server && !e.run->raw.server->local) return std::nullopt;
  const std::optional<MemoryModules>& modules = e.run->raw.machine.memory_modules;
  if (!modules || modules->filled != 1 || modules->slots < 2) return std::nullopt;
  return cause("ram_single_channel", "one memory module: RAM runs in a single channel",
               fmt::format("the firmware lists 1 module in {} slots", modules->slots));
}

std::optional<Cause> too_many_threads(const CauseEvidence& e) {
  if (e.run == nullptr || !e.host_computes() || !e.log.threads) return std::nullopt;
  if (e.run->raw.server && !e.run->raw.server->local) return std::nullopt;
  const std::optional<int>& cores = e.run->raw.machine.logical_cores;
  if (!cores || *e.log.threads <= *cores) return std::nullopt;
  return cause("too_many_threads",
               fmt::format("{} threads compute on {} cores", *e.log.threads, *cores),
               "the engine's own thread count");
}

}  // namespace picchio
