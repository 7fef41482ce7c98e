#include "commands/watch_recorder.h"

#include "os/identity.h"
#include "os/proc.h"
#include "verdict/watched_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace picchio {
namespace {

// Everybody is asked for, not only the tree: who else is there is half of the answer, and a DRM
// meter forgets the counters of a process that it was not asked about. As often as nvtop does.
constexpr double kProcessHz = 1;
// A driver's first answer about times is often thrown away: a short watch wants more of them.
constexpr double kShortProcessHz = 4;
constexpr Micros kShort{5'000'000};

std::vector<int> everybody_else() {
  std::vector<int> pids = os::all_processes("/").value_or(std::vector<int>());
  std::erase(pids, os::own_pid());
  return pids;
}

double process_hz(const WatchPace& pace) {
  return pace.length > Micros{0} && pace.length < kShort ? kShortProcessHz : kProcessHz;
}

std::vector<std::string> unmetered_gpus(const Machine& machine,
                                        std::span<const MeteredGpu> metered) {
  std::vector<std::string> out;
  for (const MachineGpu& gpu : machine.gpus) {
    // A GPU outside of PCI has no address in either list.
    const bool read = std::ranges::any_of(
        metered, [&](const MeteredGpu& each) { return each.address == gpu.address; });
    if (gpu.can_compute && !read) out.push_back(gpu.name);
  }
  return out;
}

}  // namespace

WatchRecorder::WatchRecorder(meters::MeterSet meters, const WatchPace& pace,
                             std::optional<WatchTarget> target, std::optional<WatchedTree> tree,
                             const Machine& machine)
    : has_meters_(!meters.gpus().empty()),
      target_(std::move(target)),
      tree_(std::move(tree)),
      logical_cores_(machine.logical_cores),
      unmetered_(unmetered_gpus(machine, meters.gpus())),
      no_gpu_(machine.gpus_known && usable_gpu(machine) == nullptr && !has_meters_),
      began_(Clock::now()),
      sampler_(std::move(meters), {.hz = pace.hz, .process_hz = process_hz(pace)}, everybody_else,
               began_) {}

Micros WatchRecorder::now() const {
  return std::chrono::duration_cast<Micros>(Clock::now() - began_);
}

bool WatchRecorder::look() {
  const Micros at = now();
  note_others(sampler_.recent(std::chrono::seconds(2)), at);
  if (!tree_ || tree_->look(at)) return true;
  ended_at_ = at;
  return false;
}

void WatchRecorder::note_others(const Telemetry& recent, Micros at) {
  if (recent.processes.empty()) return;
  for (const GpuProcessUse& use : recent.processes.back().use) {
    const auto known = std::ranges::find(others_, use.pid, &WatchedProcess::pid);
    if (known != others_.end()) {
      known->last = at;
      continue;
    }
    others_.push_back({.pid = use.pid,
                       .name = os::comm_of("/", use.pid).value_or(""),
                       .in_tree = false,
                       .first = at,
                       .last = at});
  }
}

WatchRecord WatchRecorder::record_of(Telemetry telemetry) const {
  WatchRecord record;
  record.target = target_;
  if (record.target && tree_) record.target->name = tree_->name();
  record.length = now();
  if (ended_at_ && target_) {
    record.length = *ended_at_;
    record.ended =
        fmt::format("process {} ended after {:.0f} s", target_->pid, seconds(*ended_at_));
  }
  record.telemetry = std::move(telemetry);
  fill_in_busy(record.telemetry);
  record.logical_cores = logical_cores_;
  record.processes = others_;
  record.unmetered = unmetered_;
  record.no_gpu = no_gpu_;
  if (!tree_) return record;
  record.processes.insert(record.processes.begin(), tree_->members().begin(),
                          tree_->members().end());
  record.cpu = tree_->cpu();
  record.tree_readable = tree_->readable() && !tree_->members().empty();
  record.device_nodes = tree_->device_nodes();
  return record;
}

WatchRecord WatchRecorder::recent(Micros span) const { return record_of(sampler_.recent(span)); }

WatchRecord WatchRecorder::stop() {
  // Who came last shall have a name too.
  note_others(sampler_.recent(std::chrono::seconds(2)), now());
  WatchRecord record = record_of({});
  record.telemetry = sampler_.stop();
  fill_in_busy(record.telemetry);
  return record;
}

}  // namespace picchio
