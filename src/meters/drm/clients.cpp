#include "meters/drm/clients.h"

#include <algorithm>
#include <set>

namespace picchio::meters::drm {
namespace {

// amdgpu: dma, dec, enc, enc_1, jpeg, vpe; i915: copy, video, video-enhance; xe: bcs, vcs, vecs.
constexpr std::string_view kNoCompute[] = {
    "dma",  "dec",   "enc",           "enc_1", "jpeg", "vpe",
    "copy", "video", "video-enhance", "bcs",   "vcs",  "vecs",
};

struct Step {
  std::uint64_t by = 0;
  bool known = false;  // both looks told it
};

/// Raises `kept` to `seen` and says by how much.
Step raise(std::optional<std::uint64_t>& kept, std::optional<std::uint64_t> seen) {
  if (!seen) return {};
  Step step{.known = kept.has_value()};
  if (kept && *seen > *kept) step.by = *seen - *kept;
  kept = std::max(kept.value_or(0), *seen);
  return step;
}

void add(std::optional<double>& sum, double value) { sum = sum.value_or(0.0) + value; }

template <class Number>
void add_told(std::optional<Number>& sum, const std::optional<Number>& value) {
  if (value) sum = sum.value_or(0) + *value;
}

bool in_own_memory(std::string_view region) {
  return region.starts_with("vram") || region.starts_with("local");
}

}  // namespace

bool computes(std::string_view engine) {
  return std::ranges::find(kNoCompute, engine) == std::end(kNoCompute);
}

std::optional<std::int64_t> memory_of(const Client& client, bool unified) {
  std::optional<double> sum;
  for (const RegionUse& region : client.regions) {
    // "cpu" is what amdgpu moved out of the GPU's reach.
    if (region.name == "cpu" || (!unified && !in_own_memory(region.name))) continue;
    if (const auto bytes = region.in_use()) add(sum, static_cast<double>(*bytes));
  }
  if (!sum || *sum > 0x1p50) return std::nullopt;
  return static_cast<std::int64_t>(*sum);
}

void ClientBook::read_engines(Entry& entry, const Client& client, bool first,
                              std::optional<double> interval) {
  entry.fraction.reset();
  // amdgpu leaves out the lines of engines that were never used.
  if (client.driver == "amdgpu" && !client.percent_format) {
    if (!entry.seconds) entry.seconds = 0.0;
    if (!first && interval) entry.fraction = 0.0;
  }
  for (const EngineUse& engine : client.engines) {
    if (!computes(engine.name)) continue;
    const auto capacity = static_cast<double>(engine.capacity);
    // An engine that shows for the first time on a known amdgpu client started from nothing.
    const bool counts_from_zero = client.driver == "amdgpu" && !first;
    Counters& kept = entry.engines[engine.name];
    if (counts_from_zero && !kept.busy_ns) kept.busy_ns = 0;
    const bool told_before = kept.busy_ns.has_value();
    const Step busy = raise(kept.busy_ns, engine.busy_ns);
    const Step cycles = raise(kept.cycles, engine.cycles);
    const Step total = raise(kept.total_cycles, engine.total_cycles);
    if (engine.busy_ns) {
      const std::uint64_t gained = told_before ? busy.by : *engine.busy_ns;
      const double seconds = static_cast<double>(gained) * 1e-9 / capacity;
      add(entry.seconds, seconds);
      if (busy.known && interval) add(entry.fraction, seconds / *interval);
    } else if (cycles.known && total.known && total.by > 0) {
      const double share =
          static_cast<double>(cycles.by) / static_cast<double>(total.by) / capacity;
      add(entry.fraction, std::min(share, 1.0));
      if (interval) add(entry.seconds, std::min(share, 1.0) * *interval);
    }
  }
}

void ClientBook::look(Micros at, std::span<const Sighting> sightings) {
  std::optional<double> interval;
  if (at_ && at > *at_) interval = seconds(at - *at_);
  at_ = at;
  std::set<Key> seen;
  for (const Sighting& sighting : sightings) {
    // Without an id (no driver of today) every descriptor would count again; none is safer.
    if (!sighting.client.id) continue;
    const Key key{sighting.device, *sighting.client.id};
    if (!seen.insert(key).second) continue;
    const auto [found, first] = clients_.try_emplace(key);
    Entry& entry = found->second;
    entry.pid = sighting.pid;
    entry.open = true;
    entry.memory_bytes = memory_of(sighting.client, sighting.unified);
    entry.evicted_bytes = sighting.client.evicted_vram;
    read_engines(entry, sighting.client, first, interval);
  }
  for (auto& [key, entry] : clients_) {
    if (seen.contains(key)) continue;
    entry.open = false;
    entry.fraction.reset();
    entry.memory_bytes.reset();
    entry.evicted_bytes.reset();
  }
}

std::vector<GpuProcessUse> ClientBook::use(std::span<const int> pids) const {
  std::map<std::pair<int, int>, GpuProcessUse> sums;  // by position of the pid, then device
  for (const auto& [key, entry] : clients_) {
    const auto pid = std::ranges::find(pids, entry.pid);
    if (pid == pids.end()) continue;
    GpuProcessUse& sum = sums[{static_cast<int>(pid - pids.begin()), key.first}];
    sum.pid = entry.pid;
    sum.device = key.first;
    if (entry.fraction) add(sum.busy_percent, *entry.fraction * 100.0);
    add_told(sum.gpu_seconds, entry.seconds);
    add_told(sum.memory_bytes, entry.memory_bytes);
    add_told(sum.evicted_bytes, entry.evicted_bytes);
  }
  std::vector<GpuProcessUse> all;
  for (auto& [where, sum] : sums) {
    if (sum.busy_percent) sum.busy_percent = std::min(*sum.busy_percent, 100.0);
    all.push_back(sum);
  }
  return all;
}

void ClientBook::forget(int pid) {
  std::erase_if(clients_, [pid](const auto& each) { return each.second.pid == pid; });
}

}  // namespace picchio::meters::drm
