// Energy and clock of the GPU from IOReport, the counters behind Apple's own powermetrics. They
// need no rights, and nothing of them is documented.
#pragma once

#include "base/result.h"
#include "base/time.h"
#include "meters/apple/library.h"

#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace picchio::meters::apple {

/// Some channels of one group, sampled together. `functions` must read reports and outlive it.
class Reports {
 public:
  /// `subgroup` may be null: all of the group. Errors: not_found, there is no such group here.
  [[nodiscard]] static Result<Reports> open(const Functions& functions, const char* group,
                                            const char* subgroup);

  /// What every channel did since the sample that was kept, which this one replaces when keep()
  /// follows. Null: no sample could be had.
  [[nodiscard]] Owned since_kept();
  void keep();

  /// The channel of this name in a sample or a difference; lives as long as that.
  [[nodiscard]] abi::Cf channel(const Owned& sample, std::string_view name);
  [[nodiscard]] const Owned& kept() const { return kept_; }
  [[nodiscard]] const CoreFoundation& cf() const { return cf_; }

 private:
  explicit Reports(const Functions& functions) : f_(&functions), cf_(functions) {}
  [[nodiscard]] Owned sample() const;

  const Functions* f_;
  CoreFoundation cf_;
  Owned channels_;
  Owned subscribed_;
  Owned subscription_;
  Owned list_key_;
  Owned kept_;
  Owned newest_;
  std::size_t last_place_ = 0;  // of the channel that was found last
};

/// Joules for one of a channel's counts; absent: not a unit of energy.
[[nodiscard]] std::optional<double> joules_of_unit(std::string_view label);

class EnergyMeter {
 public:
  /// Errors: why there is none here.
  [[nodiscard]] static Result<EnergyMeter> open(const Functions& functions, Micros now);

  struct Told {
    std::optional<double> joules;  // since it was opened; absent until the counter moved
    std::optional<double> watts;   // between two moves of the counter
  };
  [[nodiscard]] Told look(Micros now);

 private:
  struct Move {
    Micros at{};
    double joules = 0;
  };
  EnergyMeter(const Functions& functions, Reports reports, std::string channel, double unit,
              Micros now)
      : f_(&functions),
        reports_(std::move(reports)),
        channel_(std::move(channel)),
        unit_(unit),
        base_(now) {}
  [[nodiscard]] std::optional<double> watts(Micros now) const;

  const Functions* f_;
  Reports reports_;
  std::string channel_;
  double unit_;
  Micros base_;  // when the kept sample was taken
  double joules_ = 0;
  std::deque<Move> moves_;
};

class ClockMeter {
 public:
  /// `clocks`: MHz of the states that do work, in their order. Errors: why there is none here.
  [[nodiscard]] static Result<ClockMeter> open(const Functions& functions,
                                               std::vector<double> clocks);

  /// MHz, as the mean over the time since the last look in which the GPU was on; absent: it was
  /// off.
  [[nodiscard]] std::optional<double> look();

 private:
  ClockMeter(const Functions& functions, Reports reports, std::vector<double> clocks)
      : f_(&functions), reports_(std::move(reports)), clocks_(std::move(clocks)) {}

  const Functions* f_;
  Reports reports_;
  std::vector<double> clocks_;
};

}  // namespace picchio::meters::apple
