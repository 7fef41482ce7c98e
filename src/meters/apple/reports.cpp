#include "meters/apple/reports.h"

#include "base/text.h"

#include <algorithm>
#include <array>
#include <utility>

namespace picchio::meters::apple {
namespace {

using std::chrono::seconds;

// "GPU Energy" is the whole GPU; "GPU0_0" and "GPU SRAM" beside it are parts of it or of others, so
// nothing is ever added up. "GPU" is what some chips call it.
constexpr std::array kEnergyChannels = {"GPU Energy", "GPU"};

// Some systems move their counters in steps about a second apart, so power is what lies between two
// moves at least so far apart.
constexpr Micros kPowerWindow = seconds(1);
// And after so long without a move nobody can tell a still counter from a GPU without power.
constexpr Micros kStill = seconds(4);
// A step to more than this is garbage: no Mac can draw it, even when two seconds' energy comes in a
// tenth of one.
constexpr double kMostWatts = 20'000;

struct Unit {
  std::string_view label;
  double joules;
};
constexpr Unit kUnits[] = {{"J", 1},          {"mJ", 1e-3}, {"uJ", 1e-6},
                           {"\u00b5J", 1e-6}, {"nJ", 1e-9}, {"pJ", 1e-12}};

bool does_work(std::string_view state) {
  return state != "OFF" && state != "IDLE" && state != "DOWN";
}

}  // namespace

std::optional<double> joules_of_unit(std::string_view label) {
  const std::string_view wanted = trim(label);
  for (const Unit& unit : kUnits) {
    if (unit.label == wanted) return unit.joules;
  }
  return std::nullopt;
}

Result<Reports> Reports::open(const Functions& functions, const char* group, const char* subgroup) {
  if (!functions.reads_reports()) {
    return fail(ErrorKind::not_found, "this system has no IOReport");
  }
  Reports reports(functions);
  const CoreFoundation& cf = reports.cf_;
  const Owned group_name = cf.string(group);
  const Owned subgroup_name = subgroup == nullptr ? Owned() : cf.string(subgroup);
  reports.list_key_ = cf.string("IOReportChannels");
  if (group_name && reports.list_key_) {
    reports.channels_ =
        cf.own(functions.channels_in_group(group_name.get(), subgroup_name.get(), 0, 0, 0));
  }
  if (!reports.channels_) {
    return fail(ErrorKind::not_found, "IOReport has no group '{}' here", group);
  }
  abi::Cf subscribed = nullptr;
  reports.subscription_ =
      cf.own(functions.subscribe(nullptr, reports.channels_.get(), &subscribed, 0, nullptr));
  reports.subscribed_ = cf.own(subscribed);
  if (!reports.subscription_) {
    return fail(ErrorKind::denied, "IOReport does not hand out its group '{}'", group);
  }
  reports.kept_ = reports.sample();
  if (!reports.kept_) return fail(ErrorKind::failed, "IOReport gives no sample of '{}'", group);
  return reports;
}

Owned Reports::sample() const {
  const Owned& wanted = subscribed_ ? subscribed_ : channels_;
  return cf_.own(f_->samples(subscription_.get(), wanted.get(), nullptr));
}

Owned Reports::since_kept() {
  newest_ = sample();
  if (!newest_) return {};
  return cf_.own(f_->samples_delta(kept_.get(), newest_.get(), nullptr));
}

void Reports::keep() {
  if (newest_) kept_ = std::exchange(newest_, Owned());
}

abi::Cf Reports::channel(const Owned& sample, std::string_view name) {
  const abi::Cf list = cf_.value_of(sample.get(), list_key_);
  const auto is_it = [&](abi::Cf channel) {
    return channel != nullptr && cf_.text_of(f_->channel_name(channel)) == name;
  };
  // A group can have a hundred channels, which stay in their order.
  if (const abi::Cf channel = cf_.element_of(list, last_place_); is_it(channel)) return channel;
  const std::vector<abi::Cf> all = cf_.elements_of(list);
  const auto found = std::ranges::find_if(all, is_it);
  if (found == all.end()) return nullptr;
  last_place_ = static_cast<std::size_t>(found - all.begin());
  return *found;
}

Result<EnergyMeter> EnergyMeter::open(const Functions& functions, Micros now) {
  auto reports = Reports::open(functions, "Energy Model", nullptr);
  if (!reports) return std::unexpected(std::move(reports).error());
  if (functions.channel_unit == nullptr || functions.integer_value == nullptr) {
    return fail(ErrorKind::not_found, "this system's IOReport tells no units or no values");
  }
  for (const char* name : kEnergyChannels) {
    const abi::Cf channel = reports->channel(reports->kept(), name);
    if (channel == nullptr) continue;
    const auto label = reports->cf().text_of(functions.channel_unit(channel)).value_or("");
    const auto unit = joules_of_unit(label);
    if (!unit) {
      return fail(ErrorKind::unsupported, "IOReport counts it in an unknown unit, '{}'", label);
    }
    return EnergyMeter(functions, *std::move(reports), name, *unit, now);
  }
  return fail(ErrorKind::not_found, "IOReport has no channel of the GPU's energy here");
}

EnergyMeter::Told EnergyMeter::look(Micros now) {
  const Owned change = reports_.since_kept();
  const abi::Cf channel = change ? reports_.channel(change, channel_) : nullptr;
  if (channel == nullptr) return {};
  const std::int64_t counts = f_->integer_value(channel, nullptr);
  // The sample that was kept stays: what it misses comes with the next good one.
  if (counts == abi::kInvalidSample) return {};
  const double grown = static_cast<double>(counts) * unit_;
  const bool possible = grown >= 0 && grown <= kMostWatts * picchio::seconds(now - base_);
  reports_.keep();
  base_ = now;
  if (!possible) {  // set back, or garbage: what was there before says nothing of power
    moves_.clear();
    return {};
  }
  if (grown > 0) {
    joules_ += grown;
    moves_.push_back({now, joules_});
    while (moves_.size() > 2 && now - moves_[1].at >= kPowerWindow) moves_.pop_front();
  }
  if (joules_ <= 0) return {};
  return {joules_, watts(now)};
}

std::optional<double> EnergyMeter::watts(Micros now) const {
  if (moves_.size() < 2 || now - moves_.back().at > kStill) return std::nullopt;
  const Move& from = moves_.front();
  const Move& to = moves_.back();
  return (to.joules - from.joules) / picchio::seconds(to.at - from.at);
}

Result<ClockMeter> ClockMeter::open(const Functions& functions, std::vector<double> clocks) {
  if (clocks.empty()) {
    return fail(ErrorKind::not_found, "no table of the GPU's clocks in the IO registry");
  }
  if (functions.state_count == nullptr || functions.state_name == nullptr ||
      functions.state_residency == nullptr) {
    return fail(ErrorKind::not_found, "this system has no IOReport of performance states");
  }
  auto reports = Reports::open(functions, "GPU Stats", "GPU Performance States");
  if (!reports) return std::unexpected(std::move(reports).error());
  const abi::Cf channel = reports->channel(reports->kept(), "GPUPH");
  if (channel == nullptr) {
    return fail(ErrorKind::not_found, "IOReport has no channel of the GPU's states here");
  }
  std::size_t states = 0;
  for (std::int32_t i = 0; i < functions.state_count(channel); ++i) {
    const auto name = reports->cf().text_of(functions.state_name(channel, i));
    if (name && does_work(*name)) ++states;
  }
  if (states != clocks.size()) {
    return fail(ErrorKind::unsupported, "{} performance states, but a table of {} clocks", states,
                clocks.size());
  }
  return ClockMeter(functions, *std::move(reports), std::move(clocks));
}

std::optional<double> ClockMeter::look() {
  const Owned change = reports_.since_kept();
  const abi::Cf channel = change ? reports_.channel(change, "GPUPH") : nullptr;
  if (channel == nullptr) return std::nullopt;
  double time = 0;
  double cycles = 0;
  std::size_t state = 0;
  for (std::int32_t i = 0; i < f_->state_count(channel); ++i) {
    const auto name = reports_.cf().text_of(f_->state_name(channel, i));
    if (!name || !does_work(*name)) continue;
    if (state == clocks_.size()) return std::nullopt;
    const std::int64_t residency = f_->state_residency(channel, i);
    if (residency == abi::kInvalidSample) return std::nullopt;
    if (residency > 0) {
      time += static_cast<double>(residency);
      cycles += static_cast<double>(residency) * clocks_[state];
    }
    ++state;
  }
  reports_.keep();
  if (time <= 0) return std::nullopt;
  return cycles / time;
}

}  // namespace picchio::meters::apple
