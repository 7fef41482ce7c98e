#include "verdict/own_runs.h"

#include "base/median.h"
#include "verdict/arguments.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

namespace picchio {
namespace {

// Passes of a run that lie further apart were disturbed.
constexpr double kMostSpread = 0.15;
// Threads that wait for each other and have not all a core are slowed down many times over: a run
// with 1.0 of 2 cores decoded at a tenth of its speed.
constexpr double kUndisturbed = 0.85;

// They say where the model goes and how large its cache is, which is known of a run. Any other may
// change its speed: threads, speculation, priorities, tensors in other places.
constexpr std::string_view kKnownArguments[] = {
    "--n-gpu-layers", "--device",  "--ctx-size", "--cache-type-k", "--cache-type-v", "--flash-attn",
    "--main-gpu",     "--no-mmap", "--mlock",    "--no-warmup",    "--split-mode",
};

bool usual_arguments(std::string_view shown) {
  return std::ranges::all_of(shown_arguments(shown), [](const ShownArgument& argument) {
    return std::ranges::find(kKnownArguments, argument.flag) != std::end(kKnownArguments);
  });
}

bool is_steady(const LaneFigures& lane) {
  if (!lane.low || !lane.high || !lane.warm.value) return true;  // one pass
  return *lane.high - *lane.low <= kMostSpread * *lane.warm.value;
}

bool had_its_cores(const RunFigures& figures) {
  const std::optional<int> threads = figures.threads();
  if (!figures.cpu.busy_cores || !threads) return true;
  return *figures.cpu.busy_cores >= kUndisturbed * *threads;
}

bool is_telling(const RunFigures& figures) {
  const bool judged = figures.state && figures.state != State::conflicting_evidence &&
                      figures.state != State::no_timing_evidence;
  return judged && !figures.meter.throttled && is_steady(figures.lane(Lane::decode)) &&
         usual_arguments(figures.placement.arguments);
}

bool on_the_host(const DeviceBytes& device) { return device.device == "host"; }

// A point of a fit: a model with the fastest of its runs. What else a machine does only slows a run
// down, and not always shows in the cores that it had.
struct Point {
  double bytes = 0;
  double weights = 0;
  double products = 0;
  double seconds = 0;  // of a token
};

struct Points {
  std::vector<Point> models;
  std::size_t runs = 0;
};

/// `point` of a run is absent where it tells nothing.
Points points_of(std::span<const OwnRun> runs,
                 const std::function<std::optional<Point>(const OwnRun&)>& point) {
  Points out;
  std::vector<std::pair<std::string_view, std::vector<Point>>> by_model;
  for (const OwnRun& run : runs) {
    const std::optional<Point> one = point(run);
    if (!one) continue;
    ++out.runs;
    auto known =
        std::ranges::find(by_model, run.model, [](const auto& model) { return model.first; });
    if (known == by_model.end()) known = by_model.insert(by_model.end(), {run.model, {}});
    known->second.push_back(*one);
  }
  for (const auto& [name, points] : by_model) {
    out.models.push_back(*std::ranges::min_element(points, {}, &Point::seconds));
  }
  return out;
}

/// What a token costs besides its bytes: so much for each weight, in bytes, or so many seconds.
struct Besides {
  double usual = 0;
  double give_or_take = 1;      // standard deviation
  double most = 0;              // the search ends here
  double bytes_of_product = 0;  // of attention: that are read in the time of one
  bool for_each_weight = false;
};

// Fitted to 12 models of 5 quants on two cores of a server's CPU, and to 4 with 800 tokens in the
// cache: docs/plan-accuracy.md.
constexpr Besides kOfCpu{.usual = 0.25,
                         .give_or_take = 0.15,
                         .most = 2,
                         .bytes_of_product = 1.4,
                         .for_each_weight = true};
// As roofline.h has it of launches: 1 to 2 ms; newer engines launch graphs of kernels at once.
constexpr Besides kOfGpu{.usual = 0.001, .give_or_take = 0.001, .most = 0.01};
constexpr Besides kNothing{};
constexpr int kSteps = 200;

// How well a fit meets a healthy run.
constexpr double kUsualScatter = 0.05;
// What is further off says nothing of how the costs part: it was another kind of run.
constexpr double kOutlier = 3 * kUsualScatter;

FittedSpeed speed_of(double seconds_per_byte, double besides, const Besides& rule) {
  FittedSpeed out;
  out.seconds_per_byte = seconds_per_byte;
  out.seconds_per_product = seconds_per_byte * rule.bytes_of_product;
  if (rule.for_each_weight) {
    out.seconds_per_weight = seconds_per_byte * besides;
  } else {
    out.seconds_besides = besides;
  }
  return out;
}

double seconds_of(const FittedSpeed& speed, const Point& point) {
  return speed.seconds_per_byte * point.bytes + speed.seconds_per_weight * point.weights +
         speed.seconds_per_product * point.products + speed.seconds_besides;
}

/// With what a token costs besides given, the bandwidth is the median of the points'.
std::optional<FittedSpeed> with_besides(const std::vector<Point>& points, double besides,
                                        const Besides& rule) {
  std::vector<double> costs;
  for (const Point& point : points) {
    const double amount = point.bytes + rule.bytes_of_product * point.products +
                          (rule.for_each_weight ? besides * point.weights : 0);
    const double seconds = point.seconds - (rule.for_each_weight ? 0 : besides);
    if (seconds > 0 && amount > 0) costs.push_back(std::log(seconds / amount));
  }
  // A launch that takes longer than most of the tokens is none.
  if (2 * costs.size() <= points.size()) return std::nullopt;
  const std::optional<double> middle = median_of(std::move(costs));
  if (!middle) return std::nullopt;
  return speed_of(std::exp(*middle), besides, rule);
}

double penalty(const std::vector<Point>& points, const FittedSpeed& speed, double besides,
               const Besides& rule) {
  double sum = std::pow((besides - rule.usual) / rule.give_or_take, 2);
  for (const Point& point : points) {
    const double off = std::log(point.seconds / seconds_of(speed, point));
    sum += std::pow(std::min(std::fabs(off), kOutlier) / kUsualScatter, 2);
  }
  return sum;
}

/// The most likely one, between what is usual and what the points say.
std::optional<FittedSpeed> likeliest(const std::vector<Point>& points, const Besides& rule) {
  std::optional<FittedSpeed> out;
  double least = std::numeric_limits<double>::infinity();
  for (int step = 0; step <= kSteps; ++step) {
    const double besides = rule.most * step / kSteps;
    const std::optional<FittedSpeed> speed = with_besides(points, besides, rule);
    if (!speed) continue;
    const double cost = penalty(points, *speed, besides, rule);
    if (cost >= least) continue;
    least = cost;
    out = speed;
  }
  return out;
}

/// What three of four models are off by when each is forecast from the others.
double error_of(const std::vector<Point>& points, const Besides& rule) {
  std::vector<double> errors;
  for (std::size_t i = 0; i < points.size(); ++i) {
    std::vector<Point> others = points;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    const std::optional<FittedSpeed> speed = likeliest(others, rule);
    if (!speed) continue;
    const double off = std::fabs(std::log(points[i].seconds / seconds_of(*speed, points[i])));
    errors.push_back(std::expm1(off));
  }
  std::ranges::sort(errors);
  return errors.empty() ? kUsualError : errors[errors.size() * 3 / 4];
}

std::optional<FittedSpeed> fit(const Points& points, const Besides& rule, double usual_error) {
  constexpr std::size_t kTelling = 3;  // models
  std::optional<FittedSpeed> out = likeliest(points.models, rule);
  if (!out) return std::nullopt;
  out->models = points.models.size();
  out->runs = points.runs;
  out->error =
      out->models < kTelling ? usual_error : std::max(kLeastError, error_of(points.models, rule));
  return out;
}

}  // namespace

std::optional<std::string> only_memory(const RunFigures& figures) {
  const PlacementFigures& placement = figures.placement;
  if (!is_telling(figures) || placement.devices.empty()) return std::nullopt;
  if (std::ranges::all_of(placement.devices, on_the_host)) {
    const bool cache_too = placement.kv.empty() || placement.kv == "cpu";
    if (!cache_too || !had_its_cores(figures)) return std::nullopt;
    return std::string();
  }
  const auto others = std::ranges::count_if(placement.devices, std::not_fn(on_the_host));
  const bool all_there = placement.gpu_share && *placement.gpu_share >= 1 &&
                         (placement.kv.empty() || placement.kv == "gpu");
  if (others != 1 || placement.device_count != 1 || !all_there || placement.device.empty()) {
    return std::nullopt;
  }
  return placement.device;
}

std::optional<FittedSpeed> fit_decode(std::span<const OwnRun> runs, MemoryKind kind) {
  const Points points = points_of(runs, [](const OwnRun& run) -> std::optional<Point> {
    if (!run.decode || *run.decode <= 0 || run.bytes_per_token <= 0) return std::nullopt;
    return Point{static_cast<double>(run.bytes_per_token),
                 static_cast<double>(run.weights_per_token),
                 static_cast<double>(run.products_per_token), 1 / *run.decode};
  });
  return fit(points, kind == MemoryKind::cpu ? kOfCpu : kOfGpu, kUsualError);
}

std::optional<FittedSpeed> fit_prefill(std::span<const OwnRun> runs, const std::string& main_type) {
  const Points points = points_of(runs, [&](const OwnRun& run) -> std::optional<Point> {
    const bool alike = run.main_type == main_type && run.prompt_weights > 0;
    if (!alike || !run.prefill || *run.prefill <= 0) return std::nullopt;
    // Its weights are all that a token of a prompt costs: they stand in the place of the bytes.
    return Point{static_cast<double>(run.prompt_weights), 0, 0, 1 / *run.prefill};
  });
  std::optional<FittedSpeed> out = fit(points, kNothing, kUsualPromptError);
  if (out) out->seconds_per_weight = std::exchange(out->seconds_per_byte, 0);
  return out;
}

}  // namespace picchio
