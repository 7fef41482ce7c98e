#include "verdict/baseline.h"

#include "base/median.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace picchio {
namespace {

// Three that agree are no accident; a first one that was cold does not agree with the others.
constexpr std::size_t kLockWith = 3;
// Servers that share their machine differ by less than this from one request to the next.
constexpr double kAgree = 0.6931;  // a factor of 2
// One that never agrees with itself is compared with what it shows all the same.
constexpr std::size_t kLockAnyway = 12;
// From here on the middle is known to a few percent.
constexpr std::size_t kMostFirsts = 16;
// The spread of so many is known to a twentieth.
constexpr std::size_t kMostLatest = 256;
// So few say little of how far they lie apart by chance.
constexpr std::size_t kSpreadKnown = 8;
// It moves slowly: often enough to reckon it anew.
constexpr std::size_t kSpreadOften = 16;
// By chance a few lie closer together than many would: as much is put on top.
constexpr double kFew = 4;
constexpr double kSpreadUnknown = 0.15;
// Taken for the clock of single requests: less would make a server that has repeated itself exactly
// fall at its first hiccup.
constexpr double kLeastSpread = 0.03;
// Of a normal distribution: from the median distance to the standard deviation.
constexpr double kFromMedianDistance = 1.4826;
// Twice as fast, three times in a row, was not a server at its best before.
constexpr double kFaster = 0.6931;
constexpr double kFasterSpreads = 6;
constexpr std::size_t kFasterTimes = 3;

std::optional<double> log_of(std::optional<double> rate) {
  if (!rate || !std::isfinite(*rate) || *rate <= 0) return std::nullopt;
  return std::log(*rate);
}

/// Around their own middle, so that a slow slide does not look like noise.
double spread_of(const std::vector<double>& values) {
  const double middle = median_of(values).value_or(0);
  std::vector<double> distances;
  distances.reserve(values.size());
  for (const double value : values) distances.push_back(std::abs(value - middle));
  const double of_few = 1 + kFew / static_cast<double>(std::max<std::size_t>(values.size(), 1));
  const double seen = of_few * kFromMedianDistance * median_of(std::move(distances)).value_or(0);
  return std::max(seen, values.size() < kSpreadKnown ? kSpreadUnknown : kLeastSpread);
}

}  // namespace

void LogBaseline::add(double value) {
  ++count_;
  if (firsts_.size() < kMostFirsts) {
    firsts_.push_back(value);
    median_ = median_of(firsts_).value_or(value);
  }
  if (latest_.size() < kMostLatest) {
    latest_.push_back(value);
  } else {
    latest_[next_] = value;
    next_ = (next_ + 1) % kMostLatest;
  }
  if (count_ < kSpreadOften || count_ % kSpreadOften == 0) spread_ = spread_of(latest_);
}

std::optional<Baseline> RateBaseline::baseline_of(const LogBaseline& lane) {
  if (lane.count() == 0) return std::nullopt;
  return Baseline{std::exp(lane.median()), lane.spread(), static_cast<int>(lane.count())};
}

void RateBaseline::add(const Rates& rates) {
  if (rates.prefill) prefill_.add(*rates.prefill);
  if (rates.decode) decode_.add(*rates.decode);
  if (rates.prefill && rates.decode) ratio_.add(*rates.prefill - *rates.decode);
}

bool RateBaseline::agree(std::size_t last) const {
  if (candidates_.size() < last) return false;
  const auto latest = std::span(candidates_).last(last);
  const auto within = [&](auto lane) {
    const auto [low, high] = std::ranges::minmax_element(latest, {}, lane);
    const std::optional<double> a = (*low).*lane;
    const std::optional<double> b = (*high).*lane;
    return a.has_value() == b.has_value() && (!a || *b - *a <= kAgree);
  };
  return within(&Rates::decode) && within(&Rates::prefill);
}

void RateBaseline::lock(std::size_t last) {
  for (const Rates& rates : std::span(candidates_).last(last)) add(rates);
  candidates_.clear();
}

RateBaseline::Learned RateBaseline::learn(std::optional<double> prefill,
                                          std::optional<double> decode) {
  const Rates rates{log_of(prefill), log_of(decode)};
  if (!rates.prefill && !rates.decode) return Learned::nothing;
  if (!locked()) {
    candidates_.push_back(rates);
    const bool enough = candidates_.size() >= kLockAnyway;
    if (!agree(kLockWith) && !enough) return Learned::nothing;
    lock(agree(kLockWith) ? kLockWith : kLockAnyway);
    return Learned::locked;
  }
  const RateDeviation d = deviation(prefill, decode);
  const bool faster =
      d.decode ? *d.decode > std::max(kFaster, kFasterSpreads * d.decode_spread)
               : d.prefill && *d.prefill > std::max(kFaster, kFasterSpreads * d.prefill_spread);
  if (!faster) {
    faster_.clear();
    add(rates);
    return Learned::nothing;
  }
  faster_.push_back(rates);
  if (faster_.size() < kFasterTimes) return Learned::nothing;
  const std::vector<Rates> firsts = std::move(faster_);
  forget();
  for (const Rates& each : firsts) add(each);
  return Learned::anew;
}

RateDeviation RateBaseline::deviation(std::optional<double> prefill,
                                      std::optional<double> decode) const {
  RateDeviation out;
  out.prefill_spread = prefill_.spread();
  out.decode_spread = decode_.spread();
  out.ratio_spread = ratio_.spread();
  const auto p = log_of(prefill);
  const auto d = log_of(decode);
  if (p && prefill_.count() > 0) out.prefill = *p - prefill_.median();
  if (d && decode_.count() > 0) out.decode = *d - decode_.median();
  if (p && d && ratio_.count() > 0) out.ratio = *p - *d - ratio_.median();
  return out;
}

}  // namespace picchio
