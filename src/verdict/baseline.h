// A server's own rates while all was well, and how far a probe lies from them. Pure.
//
// Rates are compared by the natural logarithm of their ratio to the baseline: half as fast is as
// far as twice as fast, and noise of some percent has one width whatever the rate.
#pragma once

#include "evidence/monitored.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace picchio {

/// Logarithms of one probe's rates over the baseline's: below zero it was slower. The spreads are
/// robust standard deviations of the same over the probes that were well, never below kLeastSpread.
/// Absent: the lane was not measured, or the baseline has none.
struct RateDeviation {
  std::optional<double> prefill;
  std::optional<double> decode;
  std::optional<double> ratio;  // of prefill over decode
  double prefill_spread = 0;
  double decode_spread = 0;
  double ratio_spread = 0;
};

/// Values of one quantity, as logarithms.
class LogBaseline {
 public:
  void add(double value);
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] double median() const { return median_; }
  [[nodiscard]] double spread() const { return spread_; }

 private:
  std::vector<double> firsts_;  // that the median is made of
  std::vector<double> latest_;  // a ring
  std::size_t next_ = 0;
  std::size_t count_ = 0;
  double median_ = 0;
  double spread_ = 0;
};

class RateBaseline {
 public:
  enum class Learned {
    nothing,
    locked,  // there is a baseline from now on
    anew,    // the server is so much faster that what was the baseline was none
  };

  /// To be called with probes that were well only. The first probes that agree with each other make
  /// the baseline. Its middle gets better with some more of them, and then stays where it is: a
  /// slide of weeks is to be seen.
  Learned learn(std::optional<double> prefill, std::optional<double> decode);

  [[nodiscard]] bool locked() const { return decode_.count() > 0 || prefill_.count() > 0; }
  [[nodiscard]] std::optional<Baseline> prefill() const { return baseline_of(prefill_); }
  [[nodiscard]] std::optional<Baseline> decode() const { return baseline_of(decode_); }

  [[nodiscard]] RateDeviation deviation(std::optional<double> prefill,
                                        std::optional<double> decode) const;

  void forget() { *this = {}; }

 private:
  struct Rates {
    std::optional<double> prefill;  // logarithms
    std::optional<double> decode;
  };

  [[nodiscard]] static std::optional<Baseline> baseline_of(const LogBaseline& lane);
  void add(const Rates& rates);
  void lock(std::size_t last);
  [[nodiscard]] bool agree(std::size_t last) const;

  std::vector<Rates> candidates_;
  LogBaseline prefill_;
  LogBaseline decode_;
  LogBaseline ratio_;
  std::vector<Rates> faster_;  // the latest in a row
};

}  // namespace picchio
