#include "verdict/depth_slope.h"

#include "base/median.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <vector>

namespace picchio {
namespace {

// Student's t for 95 %, both sides, by degrees of freedom from 1 on.
constexpr std::array kT = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                           2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                           2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
constexpr double kTOfMany = 1.96;
constexpr double kThousand = 1000;
// A share of the weights that a log rounds.
constexpr double kSameShare = 0.02;

double t_of(std::size_t degrees) { return degrees <= kT.size() ? kT.at(degrees - 1) : kTOfMany; }

double ms_per_token(const DepthRate& pass) { return kThousand / pass.tokens_per_second; }

double median_at(std::span<const DepthRate> passes, std::int64_t depth) {
  std::vector<double> rates;
  for (const DepthRate& pass : passes) {
    if (pass.depth == depth) rates.push_back(pass.tokens_per_second);
  }
  return median_of(std::move(rates)).value_or(0);
}

bool placed_alike(const PlacementFigures& a, const PlacementFigures& b) {
  const auto share_differs = [&] {
    if (a.gpu_share.has_value() != b.gpu_share.has_value()) return true;
    return a.gpu_share && std::abs(*a.gpu_share - *b.gpu_share) > kSameShare;
  };
  return a.layers_on_gpu == b.layers_on_gpu && a.kv == b.kv && !share_differs();
}

std::vector<DepthRate> rates_of(const Sweep& sweep, Lane lane) {
  std::vector<DepthRate> out;
  for (const SweepTier& tier : sweep.tiers) {
    const bool otherwise =
        sweep.placed_otherwise_from && tier.context >= *sweep.placed_otherwise_from;
    if (!tier.has_figures() || otherwise) continue;
    const auto depth = tier.figures.more.filled_tokens;
    if (!depth) continue;
    for (const double rate : tier.passes(lane)) out.push_back({*depth, rate});
  }
  return out;
}

}  // namespace

std::optional<DepthSlope> depth_slope(std::span<const DepthRate> all) {
  std::vector<DepthRate> passes;
  std::ranges::copy_if(all, std::back_inserter(passes),
                       [](const DepthRate& pass) { return pass.tokens_per_second > 0; });
  if (passes.empty()) return std::nullopt;
  const auto [least, most] = std::ranges::minmax(passes, {}, &DepthRate::depth);
  if (least.depth == most.depth) return std::nullopt;
  const auto n = static_cast<double>(passes.size());
  double mean_x = 0;
  double mean_y = 0;
  for (const DepthRate& pass : passes) {
    mean_x += static_cast<double>(pass.depth) / n;
    mean_y += ms_per_token(pass) / n;
  }
  double xx = 0;
  double xy = 0;
  for (const DepthRate& pass : passes) {
    const double x = static_cast<double>(pass.depth) - mean_x;
    xx += x * x;
    xy += x * (ms_per_token(pass) - mean_y);
  }
  const double slope = xy / xx;
  DepthSlope out;
  out.ms_at_zero = mean_y - slope * mean_x;
  out.ms_per_thousand = kThousand * slope;
  out.shallowest = least.depth;
  out.deepest = most.depth;
  out.rate_shallowest = median_at(passes, least.depth);
  out.rate_deepest = median_at(passes, most.depth);
  out.passes = passes.size();
  if (passes.size() < 3) return out;
  double residuals = 0;
  for (const DepthRate& pass : passes) {
    const double off =
        ms_per_token(pass) - out.ms_at_zero - slope * static_cast<double>(pass.depth);
    residuals += off * off;
  }
  const std::size_t degrees = passes.size() - 2;
  const double error = std::sqrt(residuals / static_cast<double>(degrees) / xx);
  out.uncertainty = kThousand * t_of(degrees) * error;
  return out;
}

void add_slopes(Sweep& sweep) {
  sweep.placed_otherwise_from.reset();
  const auto first = std::ranges::find_if(sweep.tiers, &SweepTier::has_figures);
  if (first == sweep.tiers.end()) return;
  const auto other = std::find_if(first, sweep.tiers.end(), [&](const SweepTier& tier) {
    return tier.has_figures() && !placed_alike(first->figures.placement, tier.figures.placement);
  });
  if (other != sweep.tiers.end()) sweep.placed_otherwise_from = other->context;
  sweep.decode = depth_slope(rates_of(sweep, Lane::decode));
  sweep.prefill = depth_slope(rates_of(sweep, Lane::prefill));
}

}  // namespace picchio
