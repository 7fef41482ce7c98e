#include "meters/sampler.h"

#include "os/signals.h"

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

namespace picchio::meters {
namespace {

using std::chrono::duration_cast;

Sampler::Clock::duration period(double hz) {
  return duration_cast<Sampler::Clock::duration>(std::chrono::duration<double>(1 / hz));
}

}  // namespace

void MeterSet::add(std::unique_ptr<Meter> meter) {
  const std::size_t number = meters_.size();
  const auto devices = meter->devices();
  for (std::size_t own = 0; own < devices.size(); ++own) {
    Slot slot{number, own, -1};
    const auto same = std::ranges::find_if(gpus_, [&](const MeteredGpu& known) {
      return !known.address.empty() && known.address == devices[own].address;
    });
    if (same == gpus_.end()) {
      slot.place = static_cast<std::ptrdiff_t>(gpus_.size());
      gpus_.push_back(devices[own]);
      gpus_.back().index = static_cast<int>(slot.place);
    }
    slots_.push_back(slot);
  }
  meters_.push_back(std::move(meter));
}

MeterSet MeterSet::open(const Place& place, std::span<const Candidate> from) {
  MeterSet set;
  for (const Candidate& candidate : from) {
    Result<std::unique_ptr<Meter>> meter = candidate.probe(place);
    if (meter) {
      set.add(*std::move(meter));
    } else if (meter.error().kind != ErrorKind::not_found) {
      set.news_.push_back(meter.error().message);
      if (!meter.error().hint.empty()) {
        set.troubles_.push_back({meter.error().message, meter.error().hint});
      }
    }
  }
  return set;
}

MeterSet MeterSet::open_within(const Place& place, std::chrono::steady_clock::duration patience) {
  struct Opened {
    std::mutex mutex;
    std::optional<MeterSet> set;
  };
  const auto opened = std::make_shared<Opened>();
  Worker worker([opened, place](StopSignal&) {
    MeterSet set = open(place);
    const std::scoped_lock lock(opened->mutex);
    opened->set = std::move(set);
  });
  const auto give_up = std::chrono::steady_clock::now() + patience;
  const auto waiting = [&] {
    const std::scoped_lock lock(opened->mutex);
    return !opened->set && std::chrono::steady_clock::now() < give_up &&
           !(place.interrupts != nullptr && place.interrupts->caught());
  };
  while (waiting()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  constexpr std::chrono::milliseconds kLastMoment{100};
  (void)worker.stop_within(kLastMoment);
  const std::scoped_lock lock(opened->mutex);
  if (opened->set) return *std::move(opened->set);
  MeterSet none;
  none.news_.emplace_back("a GPU driver does not answer: its meter could not be opened");
  return none;
}

std::ptrdiff_t MeterSet::place_of(std::size_t meter, int own) const {
  for (const Slot& slot : slots_) {
    if (slot.meter == meter && static_cast<int>(slot.own) == own) return slot.place;
  }
  return -1;
}

std::vector<GpuReading> MeterSet::sample() {
  std::vector<GpuReading> out(gpus_.size());
  for (std::size_t i = 0; i < meters_.size(); ++i) {
    std::vector<GpuReading> readings = meters_[i]->sample();
    const auto devices = meters_[i]->devices();
    for (std::size_t own = 0; own < readings.size() && own < devices.size(); ++own) {
      const std::ptrdiff_t place = place_of(i, static_cast<int>(own));
      if (place < 0) continue;
      const auto slot = static_cast<std::size_t>(place);
      out[slot] = std::move(readings[own]);
      if (gpus_[slot].name != devices[own].name) {
        gpus_[slot] = devices[own];
        gpus_[slot].index = static_cast<int>(slot);
      }
    }
  }
  return out;
}

std::vector<GpuProcessUse> MeterSet::process_use(std::span<const int> pids,
                                                 std::vector<std::string>* reasons) {
  std::vector<GpuProcessUse> out;
  for (std::size_t i = 0; i < meters_.size(); ++i) {
    const Result<std::vector<GpuProcessUse>> use = meters_[i]->process_use(pids);
    if (!use) {
      const bool told =
          reasons == nullptr || std::ranges::find(*reasons, use.error().message) != reasons->end();
      if (!told) reasons->push_back(use.error().message);
      continue;
    }
    for (GpuProcessUse one : *use) {
      const std::ptrdiff_t place = place_of(i, one.device);
      if (place < 0) continue;
      one.device = static_cast<int>(place);
      out.push_back(one);
    }
  }
  return out;
}

struct Sampler::State {
  State(MeterSet all, SamplerOptions how, std::function<std::vector<int>()> whom,
        Clock::time_point zero)
      : meters(std::move(all)), options(how), pids(std::move(whom)), began(zero) {}

  MeterSet meters;  // the thread's alone once it runs
  SamplerOptions options;
  std::function<std::vector<int>()> pids;
  Clock::time_point began;
  std::mutex mutex;  // of what stands below
  Telemetry recorded;
};

Sampler::Sampler(MeterSet meters, SamplerOptions options, std::function<std::vector<int>()> pids,
                 Clock::time_point began)
    : state_(std::make_shared<State>(std::move(meters), options, std::move(pids), began)),
      options_(options),
      worker_([state = state_](StopSignal& signal) { run(*state, signal); }) {}

Sampler::~Sampler() { (void)worker_.stop_within(options_.patience); }

void Sampler::look(State& state, StopSignal& signal, bool at_processes) {
  const auto at = duration_cast<Micros>(Clock::now() - state.began);
  GpuSample sample{at, state.meters.sample()};
  ProcessSample processes{at, {}};
  std::vector<std::string> reasons;
  // After a call that outlasted the sampler, whom `pids` belongs to may be gone.
  if (signal.stopped()) at_processes = false;
  const bool asked = at_processes && state.pids != nullptr;
  if (asked) {
    const std::vector<int> pids = state.pids();
    if (!pids.empty()) processes.use = state.meters.process_use(pids, &reasons);
  }
  const std::scoped_lock lock(state.mutex);
  Telemetry& recorded = state.recorded;
  for (std::size_t i = 0; i < recorded.gpus.size(); ++i) {
    const MeteredGpu& now = state.meters.gpus()[i];
    if (recorded.gpus[i].name != now.name) recorded.gpus[i] = now;
    // Said once, so it is kept with the device.
    for (MissingFigure& figure : sample.readings[i].given_up) {
      recorded.gpus[i].missing.push_back(std::move(figure));
    }
    sample.readings[i].given_up.clear();
  }
  recorded.samples.push_back(std::move(sample));
  if (asked) {
    recorded.processes.push_back(std::move(processes));
    if (state.options.latest) {
      forget_when_full(recorded.processes, state.options.most);
    } else {
      halve_when_full(recorded.processes, state.options.most);
    }
  }
  for (std::string& reason : reasons) {
    const bool told = std::ranges::find(recorded.news, reason) != recorded.news.end();
    if (!told) recorded.news.push_back(std::move(reason));
  }
  if (state.options.latest) {
    forget_when_full(recorded.samples, state.options.most);
  } else if (halve_when_full(recorded.samples, state.options.most)) {
    ++recorded.halvings;
  }
}

void Sampler::run(State& state, StopSignal& signal) {
  {
    const std::scoped_lock lock(state.mutex);
    Telemetry& recorded = state.recorded;
    recorded.gpus.assign(state.meters.gpus().begin(), state.meters.gpus().end());
    recorded.news = state.meters.news();
    recorded.troubles = state.meters.troubles();
    recorded.hz = state.options.hz;
    if (recorded.gpus.empty()) {
      recorded.none_because =
          recorded.news.empty() ? "no GPU meter on this machine" : recorded.news.front();
      return;
    }
  }
  auto next = Clock::now();
  auto next_processes = next;
  do {
    const auto now = Clock::now();
    const bool at_processes = now >= next_processes;
    if (at_processes) next_processes = now + period(state.options.process_hz);
    look(state, signal, at_processes);
    next += period(state.options.hz);
    // After a driver that blocked, the missed looks are not made up for.
    next = std::max(next, Clock::now());
  } while (signal.wait_until(next));
}

Telemetry Sampler::so_far() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->recorded;
}

Telemetry Sampler::recent(Micros span) const {
  const std::scoped_lock lock(state_->mutex);
  const Telemetry& recorded = state_->recorded;
  Telemetry out;
  out.gpus = recorded.gpus;
  out.hz = recorded.hz;
  out.halvings = recorded.halvings;
  out.news = recorded.news;
  out.troubles = recorded.troubles;
  out.none_because = recorded.none_because;
  const auto copy_end = [span](const auto& from, auto& to) {
    if (from.empty()) return;
    const Micros begin = from.back().at - span;
    const auto first =
        std::ranges::lower_bound(from, begin, {}, [](const auto& s) { return s.at; });
    to.assign(first, from.end());
  };
  copy_end(recorded.samples, out.samples);
  copy_end(recorded.processes, out.processes);
  return out;
}

Telemetry Sampler::stop() {
  const bool ended = worker_.stop_within(options_.patience);
  Telemetry out = so_far();
  if (!ended) {
    out.news.emplace_back("a GPU meter did not come back from its last look: its driver hangs");
  }
  return out;
}

}  // namespace picchio::meters
