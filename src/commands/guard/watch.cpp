#include "commands/guard/watch.h"

#include "commands/meter_place.h"
#include "commands/watch_recorder.h"
#include "machine/process_facts.h"
#include "os/identity.h"
#include "verdict/watched.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace picchio {
namespace {

// No engine says as much within a moment; whatever does is no log worth the time that reading all
// of it would take from the command.
constexpr std::size_t kMostQueued = std::size_t{4} << 20;
constexpr std::chrono::milliseconds kTick{100};
// In a flood three quarters of a core are left to whoever writes and hands it on.
constexpr std::chrono::milliseconds kShortestNap{50};
constexpr std::chrono::milliseconds kLongestNap{500};
constexpr int kNapTimes = 3;
constexpr std::chrono::milliseconds kLookAtMeters{500};
constexpr std::chrono::minutes kMetersFor{15};
constexpr std::chrono::milliseconds kMetersPatience{1000};
constexpr std::chrono::milliseconds kShortPatience{200};

}  // namespace

void BoundedBytes::push(std::string_view bytes) {
  {
    const std::scoped_lock lock(mutex_);
    if (lost_ || bytes_.size() + bytes.size() > most_) {
      lost_ = true;
    } else {
      bytes_ += bytes;
    }
  }
  wake_.notify_one();
}

BoundedBytes::Taken BoundedBytes::take(std::string& bytes, std::chrono::milliseconds longest) {
  bytes.clear();
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, longest, [&] { return !bytes_.empty() || lost_ || ended_; });
  std::swap(bytes, bytes_);
  return {std::exchange(lost_, false), ended_};
}

void BoundedBytes::end() {
  {
    const std::scoped_lock lock(mutex_);
    ended_ = true;
  }
  wake_.notify_one();
}

struct GuardMeters::Shared {
  int pid = 0;
  std::string name;
  Machine machine;
  std::mutex mutex;
  std::string said;

  void record(StopSignal& signal);
};

void GuardMeters::Shared::record(StopSignal& signal) {
  meters::MeterSet set = meters::MeterSet::open_within(meter_place(nullptr));
  if (set.gpus().empty()) return;
  auto tree = WatchedTree::of("/", pid, os::own_pid());
  if (!tree) return;
  WatchRecorder recorder(std::move(set), {.hz = 2, .length = {}},
                         WatchTarget{.pid = pid, .name = name, .found_by = {}}, *std::move(tree),
                         machine);
  const auto until = std::chrono::steady_clock::now() + kMetersFor;
  auto next = std::chrono::steady_clock::now();
  while (recorder.look() && next < until) {
    next += kLookAtMeters;
    if (!signal.wait_until(next)) break;
  }
  const WatchVerdict verdict = judge_watch(recorder.stop());
  const std::scoped_lock lock(mutex);
  said = fmt::format("{}: {}", name_of(verdict.activity), verdict.sentence);
}

GuardMeters::GuardMeters(int pid, std::string name, Machine machine)
    : shared_(std::make_shared<Shared>()) {
  shared_->pid = pid;
  shared_->name = std::move(name);
  shared_->machine = std::move(machine);
  worker_ =
      std::make_unique<Worker>([shared = shared_](StopSignal& signal) { shared->record(signal); });
}

GuardMeters::~GuardMeters() { (void)stop(false); }

std::string GuardMeters::stop(bool wanted) {
  // A driver that does not answer is left behind with what it uses.
  if (worker_) (void)worker_->stop_within(wanted ? kMetersPatience : kShortPatience);
  worker_.reset();
  if (!wanted) return {};
  const std::scoped_lock lock(shared_->mutex);
  return shared_->said;
}

GuardWatch::GuardWatch(Request request)
    : request_(std::move(request)), queue_(kMostQueued), judge_(request_.scene) {
  worker_ = std::make_unique<Worker>([this](StopSignal& signal) { run(signal); });
}

GuardWatch::~GuardWatch() { finish(); }

Micros GuardWatch::now() const {
  return std::chrono::duration_cast<Micros>(std::chrono::steady_clock::now() - began_);
}

void GuardWatch::finish() {
  queue_.end();
  if (worker_) worker_->stop();
  worker_.reset();
}

void GuardWatch::run(StopSignal& signal) {
  std::string bytes;
  for (;;) {
    const BoundedBytes::Taken taken = queue_.take(bytes, kTick);
    const Micros began = now();
    judge_.feed(bytes, now());
    if (taken.lost) judge_.gap();
    if (!taken.ended && judge_.wants_look(now())) {
      EngineLook look = look_for_engine("/", request_.pid);
      if (look.engine) look.facts.workers = local_workers("/", request_.scene.arguments);
      judge_.look(std::move(look), now());
    }
    for (const GuardFinding& finding : judge_.conclude(now(), taken.ended)) {
      request_.found(finding);
    }
    if (taken.ended) return;
    if (!taken.lost) continue;
    const Micros nap = kNapTimes * (now() - began);
    (void)signal.wait_until(std::chrono::steady_clock::now() +
                            std::clamp<Micros>(nap, kShortestNap, kLongestNap));
  }
}

}  // namespace picchio
