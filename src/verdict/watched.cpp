#include "verdict/watched.h"

#include "base/text.h"
#include "verdict/recording.h"
#include "verdict/watched_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

namespace picchio {
namespace {

// A GPU works when a tenth of the looks say so: a window that moves is over sooner.
constexpr double kWorkingShare = 0.1;
// Idle desktops show a few percent all the time and a frame's worth now and then.
constexpr double kQuietMedian = 5;
constexpr double kQuietPeak = 20;
// Fewer looks than this are no watch: a driver's first answer is often an old one.
constexpr int kEnoughLooks = 3;
// At the processes: a driver answers to the first of them with nothing, and may skip another.
constexpr int kFewLooks = 4;
// A share of the time that is rounding.
constexpr double kNothing = 0.5;
// Contexts alone take some ten to some hundred MiB; less than this is a client that only looked.
constexpr std::int64_t kOwnMemory = std::int64_t{64} << 20;
// What a driver keeps for itself and its contexts.
constexpr std::int64_t kUnaccounted = std::int64_t{1} << 30;
// /proc cuts "nvidia-cuda-mps-server": it computes for its clients, and the driver names only it.
constexpr std::string_view kSharingServer = "nvidia-cuda-mps";

using Found = std::optional<WatchFinding>;

std::string label(std::string_view name, int pid, std::string_view more = "") {
  const std::string shown = fit(plain(name), 24);
  return shown.empty() ? fmt::format("pid {}{}", pid, more)
                       : fmt::format("{} (pid {}{})", shown, pid, more);
}

std::string label(const ProcessShare& share) { return label(share.name, share.pid); }

std::string target_label(const WatchRecord& record) {
  return record.target ? label(record.target->name, record.target->pid) : "somebody";
}

std::string gpu_label(const WatchedScene& s) {
  const std::string name = fit(plain(s.gpu.name), 32);
  return name.empty() ? fmt::format("GPU {}", s.figures.gpu)
                      : fmt::format("GPU {} ({})", s.figures.gpu, name);
}

bool is_member(const ProcessShare& share, const WatchRecord& record) {
  return share.in_tree || !record.target;
}

// The one of the tree that did the work, or holds the memory.
const ProcessShare* leading(const WatchedScene& s) {
  const auto& all = s.figures.processes;
  return all.empty() || !is_member(all.front(), s.record) ? nullptr : &all.front();
}

std::vector<const ProcessShare*> others(const WatchedScene& s) {
  std::vector<const ProcessShare*> out;
  for (const ProcessShare& share : s.figures.processes) {
    if (!is_member(share, s.record)) out.push_back(&share);
  }
  return out;
}

// "python3 (pid 77, 96%), Xorg (pid 900)": the three that matter most.
std::string others_text(const WatchedScene& s) {
  constexpr std::size_t kMost = 3;
  const auto all = others(s);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < all.size() && i < kMost; ++i) {
    std::string more;
    if (all[i]->busy_mean && *all[i]->busy_mean >= 1) {
      more = fmt::format(", {:.0f}%", *all[i]->busy_mean);
    } else if (all[i]->memory_peak) {
      more = ", " + format_bytes(*all[i]->memory_peak);
    }
    names.push_back(label(all[i]->name, all[i]->pid, more));
  }
  if (all.size() > kMost) names.push_back(fmt::format("{} more", all.size() - kMost));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string busy_text(const WatchedScene& s) {
  if (!s.figures.busy_median) return "busy";
  return fmt::format("{:.0f}% busy at median ({:.0f}% at most)", *s.figures.busy_median,
                     s.figures.busy_peak.value_or(0));
}

bool busy_told(const WatchedScene& s) { return s.figures.busy_median.has_value(); }

/// The device as a whole did work, whoever's. An upper bound never shows that.
bool device_works(const WatchedScene& s) {
  return busy_told(s) && !s.gpu.busy_is_upper_bound && s.figures.looks_working >= 2 &&
         s.figures.looks_working >= kWorkingShare * s.figures.looks;
}

bool device_quiet(const WatchedScene& s) {
  return busy_told(s) && s.figures.looks >= kEnoughLooks && *s.figures.busy_median < kQuietMedian &&
         *s.figures.busy_peak < kQuietPeak;
}

/// By the time that the meter gives the tree's processes.
bool tree_works(const WatchedScene& s) {
  const ProcessShare& tree = s.figures.tree;
  // One look alone may be a slip of the driver's; a short watch has no more.
  const int wanted = s.figures.process_looks <= kFewLooks ? std::min(2, tree.looks_told) : 2;
  return tree.looks_told > 0 && tree.looks_working >= wanted;
}

bool tree_hardly_works(const WatchedScene& s) {
  return s.figures.tree.busy_peak.value_or(0) > kNothing;
}

bool shared_by_server(const WatchedScene& s) {
  return std::ranges::any_of(
      others(s), [](const ProcessShare* share) { return share->name.starts_with(kSharingServer); });
}

bool tells_processes(const WatchedScene& s) {
  const bool neither = why_missing(s.gpu, GpuFigure::process_busy) != nullptr &&
                       why_missing(s.gpu, GpuFigure::process_memory) != nullptr;
  return !neither && s.figures.process_looks > 0;
}

/// The meter would have named the tree, had it worked on this GPU.
bool tree_has_none(const WatchedScene& s) {
  const ProcessShare& tree = s.figures.tree;
  if (shared_by_server(s)) return false;
  if (tree.looks > 0) return tree.looks_told > 0 && tree.busy_peak.value_or(0) <= kNothing;
  if (!tells_processes(s)) return false;
  // A driver's own list is believed where it names anybody at all; DRM's meters see a process
  // through its open files.
  return s.gpu.meter == "nvml" || s.gpu.meter == "apple" ? !s.figures.processes.empty()
                                                         : s.record.tree_readable;
}

std::string tree_memory_text(const WatchedScene& s) {
  const auto bytes = s.figures.tree.memory_peak;
  return bytes && *bytes > 0 ? format_bytes(*bytes) : std::string();
}

std::string unattributed_reason(const WatchedScene& s) {
  for (const GpuFigure figure : {GpuFigure::process_busy, GpuFigure::process_memory}) {
    const MissingFigure* why = why_missing(s.gpu, figure);
    if (why != nullptr) return plain(why->reason);
  }
  if (shared_by_server(s)) return "a server shares it among processes, and only that is named";
  if (s.figures.processes.empty()) return "the meter names no process there";
  if (s.figures.process_looks < kEnoughLooks) return "it was watched for too short a time";
  return "the meter does not tell whose work it is";
}

// ---- rules of both tables

Found contradiction(const WatchedScene& s) {
  if (!tree_works(s) || !busy_told(s) || s.gpu.busy_is_upper_bound) return std::nullopt;
  if (s.figures.looks < kEnoughLooks || *s.figures.busy_peak >= kQuietMedian) return std::nullopt;
  return WatchFinding{
      Activity::not_sure,
      fmt::format("the meter of {} contradicts itself: processes had up to {:.0f}% "
                  "of its time, and it was never more than {:.0f}% busy",
                  gpu_label(s), s.figures.tree.busy_peak.value_or(0), *s.figures.busy_peak)};
}

Found attributed(const WatchedScene& s) {
  if (!tree_works(s)) return std::nullopt;
  const ProcessShare* who = leading(s);
  if (who == nullptr) return std::nullopt;
  std::string text = label(*who);
  const bool is_child = s.record.target && who->pid != s.record.target->pid;
  if (is_child) text += ", a child of " + target_label(s.record) + ",";
  const double mean = who->busy_mean.value_or(s.figures.tree.busy_mean.value_or(0));
  if (mean >= kProcessWorking) {
    text += fmt::format(" had {:.0f}% of the time of {} on average", mean, gpu_label(s));
  } else {
    text += fmt::format(" worked on {} in {} of {} looks, with {:.0f}% of its time at most",
                        gpu_label(s), s.figures.tree.looks_working, s.figures.process_looks,
                        s.figures.tree.busy_peak.value_or(0));
  }
  if (const auto memory = who->memory_peak; memory && *memory > 0) {
    text += fmt::format(" and {} of its memory", format_bytes(*memory));
  }
  if (!s.figures.lost.empty()) {
    text += fmt::format(", until the GPU was lost after {:.0f} s", seconds(s.figures.lost_at));
  }
  return WatchFinding{Activity::busy, text};
}

Found lost(const WatchedScene& s) {
  if (s.figures.lost.empty()) return std::nullopt;
  return WatchFinding{Activity::not_sure,
                      fmt::format("{} was lost after {:.0f} s: {}", gpu_label(s),
                                  seconds(s.figures.lost_at), plain(s.figures.lost))};
}

Found asleep(const WatchedScene& s) {
  if (s.figures.looks > 0 || s.figures.looks_asleep == 0) return std::nullopt;
  return WatchFinding{Activity::idle, gpu_label(s) + " was asleep all the time"};
}

Found nothing_told(const WatchedScene& s) {
  const MissingFigure* why = why_missing(s.gpu, GpuFigure::busy);
  std::string reason = "its meter gave no answer";
  if (why != nullptr) {
    reason = "not told: " + plain(why->reason);
  } else if (s.figures.looks > 0 && s.figures.looks < kEnoughLooks) {
    reason = "it was watched for too short a time";
  }
  return WatchFinding{Activity::not_sure,
                      fmt::format("how busy {} was is not known: {}", gpu_label(s), reason)};
}

// ---- for a target

Found no_device_open(const WatchedScene& s) {
  const bool none = s.record.tree_readable && s.record.device_nodes.empty();
  if (!none || s.figures.tree.looks > 0) return std::nullopt;
  std::string text = fmt::format("{} has no GPU device open, so it did not work on {}",
                                 target_label(s.record), gpu_label(s));
  if (device_works(s)) {
    text += fmt::format(", which was {}", busy_text(s));
    if (!others(s).empty()) text += " with somebody else's work: " + others_text(s);
  }
  return WatchFinding{Activity::idle, text};
}

/// More of the device's memory is in use than the tree and a driver's bookkeeping account for: a
/// process that /proc hides from us is there.
bool somebody_hidden(const WatchedScene& s) {
  const auto all = s.figures.memory_peak;
  const auto own = s.figures.tree.memory_peak;
  return all && own && *all - *own > kUnaccounted;
}

/// Its own memory on a busy device, and nobody else in sight.
Found memory_and_alone(const WatchedScene& s) {
  const ProcessShare& tree = s.figures.tree;
  const bool holds = tree.memory_peak.value_or(0) >= kOwnMemory;
  // A driver that tells times may be late with them, so a short watch does not count.
  const bool no_times = tree.looks_told == 0 && s.figures.process_looks >= kEnoughLooks;
  if (!device_works(s) || !holds || !no_times || !others(s).empty()) return std::nullopt;
  if (somebody_hidden(s)) return std::nullopt;
  const ProcessShare* who = leading(s);
  return WatchFinding{
      Activity::busy,
      fmt::format("{} holds {} on {}, which was {}; nobody else was seen there ({})",
                  who == nullptr ? target_label(s.record) : label(*who), tree_memory_text(s),
                  gpu_label(s), busy_text(s), unattributed_reason(s))};
}

Found shared(const WatchedScene& s) {
  const ProcessShare& tree = s.figures.tree;
  if (!device_works(s) || tree.looks == 0 || tree.looks_told > 0 || others(s).empty()) {
    return std::nullopt;
  }
  return WatchFinding{
      Activity::not_sure,
      fmt::format("{} was {}, but {} is there beside {}, and whose work it was is "
                  "not told",
                  gpu_label(s), busy_text(s), target_label(s.record), others_text(s))};
}

Found hardly(const WatchedScene& s) {
  if (!tree_hardly_works(s)) return std::nullopt;
  return WatchFinding{Activity::not_sure,
                      fmt::format("{} had {:.1f}% of the time of {} on average, {:.0f}% at most: "
                                  "too little for work, too much for none",
                                  target_label(s.record), s.figures.tree.busy_mean.value_or(0),
                                  gpu_label(s), s.figures.tree.busy_peak.value_or(0))};
}

Found somebody_elses(const WatchedScene& s) {
  if (!device_works(s) || !tree_has_none(s)) return std::nullopt;
  const std::string memory = tree_memory_text(s);
  const std::string own =
      memory.empty()
          ? fmt::format("{} has nothing there", target_label(s.record))
          : fmt::format("{} holds {} there and did no work", target_label(s.record), memory);
  const std::string whose = others(s).empty() ? "processes that cannot be seen" : others_text(s);
  return WatchFinding{Activity::idle,
                      fmt::format("{} was {}, but with somebody else's work: {}; {}", gpu_label(s),
                                  busy_text(s), whose, own)};
}

Found busy_for_nobody(const WatchedScene& s) {
  if (!device_works(s)) return std::nullopt;
  return WatchFinding{Activity::not_sure,
                      fmt::format("{} was {}; for whom, nothing tells: {}", gpu_label(s),
                                  busy_text(s), unattributed_reason(s))};
}

Found quiet(const WatchedScene& s) {
  if (!device_quiet(s)) return std::nullopt;
  std::string text = fmt::format("{} was {}", gpu_label(s), busy_text(s));
  if (const std::string memory = tree_memory_text(s); s.record.target && !memory.empty()) {
    text = fmt::format("{} holds {} of {}, which did not work: {}", target_label(s.record), memory,
                       gpu_label(s), busy_text(s));
  }
  return WatchFinding{Activity::idle, text};
}

Found tree_idle(const WatchedScene& s) {
  if (!tree_has_none(s) || s.figures.process_looks < kEnoughLooks) return std::nullopt;
  const std::string memory = tree_memory_text(s);
  return WatchFinding{
      Activity::idle,
      memory.empty() ? fmt::format("{} had nothing of {}", target_label(s.record), gpu_label(s))
                     : fmt::format("{} holds {} of {} and had none of its time",
                                   target_label(s.record), memory, gpu_label(s))};
}

Found in_between(const WatchedScene& s) {
  if (!busy_told(s) || s.figures.looks < kEnoughLooks) return std::nullopt;
  const std::string bound =
      s.gpu.busy_is_upper_bound ? " at most: so long it was awake, which is not yet work" : "";
  return WatchFinding{
      Activity::not_sure,
      fmt::format("{} was {}{}; {}", gpu_label(s), busy_text(s), bound,
                  s.record.target ? "for whom, nothing tells" : "too little to call it work")};
}

// ---- for the whole machine

Found kernels_run(const WatchedScene& s) {
  if (!device_works(s)) return std::nullopt;
  return WatchFinding{Activity::busy,
                      fmt::format("{} was {}; for whom, nothing tells: {}", gpu_label(s),
                                  busy_text(s), unattributed_reason(s))};
}

constexpr std::array kTargetRules = {
    WatchRule{"contradiction", contradiction},
    WatchRule{"attributed", attributed},
    WatchRule{"no-device-open", no_device_open},
    WatchRule{"lost", lost},
    WatchRule{"asleep", asleep},
    WatchRule{"memory-and-alone", memory_and_alone},
    WatchRule{"shared", shared},
    WatchRule{"hardly", hardly},
    WatchRule{"somebody-elses", somebody_elses},
    WatchRule{"busy-for-nobody", busy_for_nobody},
    WatchRule{"quiet", quiet},
    WatchRule{"tree-idle", tree_idle},
    WatchRule{"in-between", in_between},
    WatchRule{"nothing-told", nothing_told},
};

constexpr std::array kMachineRules = {
    WatchRule{"contradiction", contradiction},
    WatchRule{"attributed", attributed},
    WatchRule{"lost", lost},
    WatchRule{"asleep", asleep},
    WatchRule{"kernels-run", kernels_run},
    WatchRule{"quiet", quiet},
    WatchRule{"in-between", in_between},
    WatchRule{"nothing-told", nothing_told},
};

// ---- all GPUs together

// A process's name keeps its spelling.
std::string as_sentence(std::string text) {
  for (const std::string_view word : {"how ", "the "}) {
    if (text.starts_with(word)) text.front() = static_cast<char>(text.front() - 'a' + 'A');
  }
  return text + ".";
}

/// Sentences of the GPUs that say the same as the whole; two of them are enough to read.
std::string joined(const WatchVerdict& verdict) {
  constexpr int kMost = 2;
  std::string out;
  int count = 0;
  for (const WatchedGpu& gpu : verdict.gpus) {
    if (gpu.activity != verdict.activity || ++count > kMost) continue;
    if (!out.empty()) out += ' ';
    out += as_sentence(gpu.sentence);
  }
  if (count > kMost) out += fmt::format(" {} more GPUs: the same.", count - kMost);
  return out;
}

void judge_without_meter(const WatchRecord& record, WatchVerdict& verdict) {
  const std::string why = plain(record.telemetry.none_because);
  // The sampler's own words where nothing went wrong.
  const bool nothing_there = why.empty() || why == "no GPU meter on this machine";
  if (record.target && record.tree_readable && record.device_nodes.empty()) {
    verdict.activity = Activity::idle;
    verdict.rule = "no-device-open";
    verdict.sentence = fmt::format(
        "{}, but {} has no GPU device open, so no GPU of this machine did its work.",
        nothing_there ? "There is no GPU meter on this machine" : "No meter works (" + why + ")",
        target_label(record));
    return;
  }
  if (record.no_gpu) {
    verdict.activity = Activity::idle;
    verdict.rule = "no-gpu";
    verdict.sentence = "There is no GPU in this machine that could have done its work.";
    return;
  }
  verdict.rule = "no-meter";
  verdict.sentence = fmt::format("Nothing tells what a GPU did: {}.",
                                 nothing_there ? "no GPU meter on this machine" : why);
}

}  // namespace

std::span<const WatchRule> watch_rules(bool has_target) {
  if (has_target) return kTargetRules;
  return kMachineRules;
}

WatchVerdict judge_watch(const WatchRecord& record) {
  WatchVerdict verdict;
  verdict.gpus = watched_figures(record);
  verdict.cpu_cores = cores_of(record);
  for (WatchedGpu& figures : verdict.gpus) {
    const auto gpu = static_cast<std::size_t>(figures.gpu);
    const WatchedScene scene{record, record.telemetry.gpus[gpu], figures};
    for (const WatchRule& rule : watch_rules(record.target.has_value())) {
      const Found found = rule.find(scene);
      if (!found) continue;
      figures.activity = found->activity;
      figures.rule = rule.name;
      figures.sentence = found->sentence;
      break;
    }
  }
  if (verdict.gpus.empty()) {
    judge_without_meter(record, verdict);
    return verdict;
  }
  const auto is = [&](Activity activity) {
    return std::ranges::find(verdict.gpus, activity, &WatchedGpu::activity);
  };
  auto deciding = is(Activity::busy);
  if (deciding == verdict.gpus.end()) deciding = is(Activity::not_sure);
  if (deciding == verdict.gpus.end()) deciding = verdict.gpus.begin();
  verdict.activity = deciding->activity;
  verdict.rule = deciding->rule;
  verdict.sentence = joined(verdict);
  const bool cannot_have = record.tree_readable && record.device_nodes.empty();
  if (verdict.activity == Activity::idle && !record.unmetered.empty() && !cannot_have) {
    verdict.activity = Activity::not_sure;
    verdict.rule = "unmetered-gpu";
    verdict.sentence += fmt::format(" But no meter reads {}.", fit(plain(record.unmetered[0]), 60));
  }
  return verdict;
}

}  // namespace picchio
