#include "verdict/residency.h"

#include "base/median.h"
#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace picchio {
namespace {

using Points = std::span<const ResidencyPoint>;

// A shape needs a beginning, a middle and an end.
constexpr std::size_t kFewestPoints = 5;
// An idle llama-server's resident memory moves by 1 to 5 MiB with its heap and its connections.
constexpr double kNoiseBytes = 16.0 * 1024 * 1024;
// Buffers that a server makes and frees for a request: some percent of a model.
constexpr double kNoiseShare = 0.03;
// On a ramp of many GiB a step back of less than this part of it is no turn.
constexpr double kTurnShare = 0.25;
// From this many moves up and down on it is no accident that came once.
constexpr std::size_t kOscillatingMoves = 3;
// A process begins anew with its libraries alone; pressure on memory leaves what decode touches
// all the time, which is most of the weights.
constexpr double kReloadShare = 0.15;
// Of the time since the rise began, so much at its height is a plateau and no breath in between.
constexpr double kPlateauShare = 0.3;
constexpr std::size_t kPlateauPoints = 3;
// The points that count as those with the most and the fewest bytes, of the range between.
constexpr double kEndShare = 0.2;
// Under a larger part, bytes that went are not said to have cost anything: rates vary by as much.
constexpr double kSlowerShare = 0.8;

double amount(const ResidencyPoint& point) { return static_cast<double>(point.resident); }

bool is_lower(const ResidencyPoint& a, const ResidencyPoint& b) { return a.resident < b.resident; }

/// Where the curve turns by more than `threshold`: its beginning, every turn, and the extreme that
/// its last move reached so far. One alone: it never moved.
std::vector<std::size_t> turns_of(Points points, double threshold) {
  std::size_t low = 0;
  std::size_t high = 0;
  std::vector<std::size_t> turns;
  int direction = 0;  // 1: the last turn was a low, so it moves up
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (is_lower(points[i], points[low])) low = i;
    if (is_lower(points[high], points[i])) high = i;
    if (direction <= 0 && amount(points[i]) - amount(points[low]) > threshold) {
      turns.push_back(low);
      direction = 1;
      high = i;
    } else if (direction >= 0 && amount(points[high]) - amount(points[i]) > threshold) {
      turns.push_back(high);
      direction = -1;
      low = i;
    }
    if (direction > 0) low = high;
    if (direction < 0) high = low;
  }
  if (turns.empty()) return {0};
  turns.push_back(direction > 0 ? high : low);
  return turns;
}

struct Course {
  Points points;                   // those that the shape is read from
  std::vector<std::size_t> turns;  // of them
  bool reloaded = false;           // what stood before belongs to an earlier load
};

double range_of(Points points) {
  const auto [low, high] = std::ranges::minmax_element(points, is_lower);
  return amount(*high) - amount(*low);
}

double noise_of(Points points, std::optional<std::int64_t> weight_bytes) {
  const double scale = weight_bytes ? static_cast<double>(*weight_bytes)
                                    : amount(*std::ranges::max_element(points, is_lower));
  return std::max(kNoiseBytes, kNoiseShare * scale);
}

Course course_of(Points points, std::optional<std::int64_t> weight_bytes) {
  const double noise = noise_of(points, weight_bytes);
  const auto turns = [&](Points of) {
    return turns_of(of, std::max(noise, kTurnShare * range_of(of)));
  };
  Course course{points, turns(points), false};
  // A low between two highs, and almost nothing: the model was loaded again. Several are a course
  // of their own.
  std::size_t begins = 0;
  std::size_t reloads = 0;
  for (std::size_t i = 1; i + 1 < course.turns.size(); ++i) {
    const std::size_t here = course.turns[i];
    if (amount(points[here]) > kReloadShare * amount(points[course.turns[i - 1]])) continue;
    begins = here;
    ++reloads;
  }
  const Points rest = points.subspan(begins);
  if (reloads == 1 && rest.size() >= kFewestPoints) return {rest, turns(rest), true};
  return course;
}

bool has_settled(const Course& course, double noise) {
  const Points points = course.points;
  const std::size_t from = course.turns[course.turns.size() - 2];
  const double level = amount(points[course.turns.back()]) - noise;
  std::size_t reached = from;
  while (amount(points[reached]) < level) ++reached;
  const Micros all = points.back().since - points[from].since;
  const Micros there = points.back().since - points[reached].since;
  return points.size() - reached >= kPlateauPoints &&
         seconds(there) >= kPlateauShare * seconds(all);
}

ResidencyShape shape_of(const Course& course, double noise) {
  const std::size_t moves = course.turns.size() - 1;
  if (moves == 0) return ResidencyShape::flat;
  if (moves >= kOscillatingMoves) return ResidencyShape::oscillating;
  const std::size_t last = course.turns.back();
  const bool rose = is_lower(course.points[course.turns[moves - 1]], course.points[last]);
  if (!rose) return ResidencyShape::falling;
  return has_settled(course, noise) ? ResidencyShape::plateau : ResidencyShape::rising;
}

/// Middle of the rates at points from `low` to `high` bytes.
std::optional<double> decode_between(Points points, double low, double high) {
  std::vector<double> rates;
  for (const ResidencyPoint& point : points) {
    if (point.decode && amount(point) >= low && amount(point) <= high) {
      rates.push_back(*point.decode);
    }
  }
  return median_of(std::move(rates));
}

void take_rates(Points points, double noise, ResidencyReport& out) {
  const double range = range_of(points);
  if (range <= noise) return;
  const double low = amount(*std::ranges::min_element(points, is_lower));
  const double end = kEndShare * range;
  const auto at_high = decode_between(points, low + range - end, low + range);
  const auto at_low = decode_between(points, low, low + end);
  if (!at_high || !at_low) return;
  out.decode_at_high = at_high;
  out.decode_at_low = at_low;
}

std::string course_words(const ResidencyReport& report, const Course& course) {
  const auto at = [&](std::size_t i) { return format_bytes(course.points[i].resident); };
  const std::string last = format_bytes(report.last);
  switch (report.shape) {
    case ResidencyShape::too_few:
      return fmt::format("has {} now; too few probes told it for a shape", last);
    case ResidencyShape::flat:
      return fmt::format("stayed at {}", last);
    case ResidencyShape::rising:
      return fmt::format("rose from {} to {} and has not settled",
                         at(course.turns[course.turns.size() - 2]), last);
    case ResidencyShape::plateau:
      return fmt::format("rose from {} to {} and stayed there",
                         at(course.turns[course.turns.size() - 2]), last);
    case ResidencyShape::falling:
      return fmt::format("fell from {} to {}", at(course.turns[course.turns.size() - 2]), last);
    case ResidencyShape::oscillating:
      break;
  }
  const auto [low, high] = std::ranges::minmax_element(course.points, is_lower);
  return fmt::format("went up and down {} times between {} and {}", course.turns.size() - 1,
                     format_bytes(low->resident), format_bytes(high->resident));
}

std::string share_words(std::int64_t resident, std::optional<std::int64_t> weight_bytes) {
  if (!weight_bytes || *weight_bytes <= 0) return "";
  if (resident >= *weight_bytes) {
    return fmt::format(", enough to hold all {} of the weights", format_bytes(*weight_bytes));
  }
  constexpr double kPercent = 100;
  const double share = static_cast<double>(resident) / static_cast<double>(*weight_bytes);
  return fmt::format(
      ", at most {:.0f}% of the {} of weights on disk; the rest is in a GPU's memory or is read "
      "from disk when needed",
      kPercent * share, format_bytes(*weight_bytes));
}

std::string rate_words(const ResidencyReport& report) {
  if (!report.decode_at_high || !report.decode_at_low) return "";
  std::string out =
      fmt::format(" Decode was {:.1f} tok/s with the most resident and {:.1f} tok/s with the least",
                  *report.decode_at_high, *report.decode_at_low);
  const bool lost =
      report.shape == ResidencyShape::falling || report.shape == ResidencyShape::oscillating;
  if (lost && *report.decode_at_low < kSlowerShare * *report.decode_at_high) {
    out += ": what was pushed out had to be read again";
  }
  return out + ".";
}

/// Of every four from `from` on the lowest and the highest.
std::vector<ResidencyPoint> thinned(Points points, std::size_t from) {
  std::vector<ResidencyPoint> out(points.begin(),
                                  points.begin() + static_cast<std::ptrdiff_t>(from));
  while (from < points.size()) {
    const Points four = points.subspan(from, std::min<std::size_t>(4, points.size() - from));
    const auto [low, high] = std::ranges::minmax_element(four, is_lower);
    if (four.size() == 1) {
      out.push_back(four.front());
    } else {
      out.push_back(*std::min(low, high));
      out.push_back(*std::max(low, high));
    }
    from += four.size();
  }
  return out;
}

}  // namespace

void ResidencySeries::settle_last() {
  ++in_group_;
  ++kept_;
  constexpr std::size_t kExtremes = 2;
  if (kept_ > kExtremes) {
    const auto three = std::span(points_).last(kExtremes + 1);
    const auto [low, high] = std::ranges::minmax_element(three, is_lower);
    for (auto each = three.begin(); each != three.end(); ++each) {
      if (each == low || each == high) continue;
      points_.erase(points_.begin() + (&*each - points_.data()));
      break;
    }
    kept_ = kExtremes;
  }
  if (in_group_ == group_) in_group_ = kept_ = 0;
}

void ResidencySeries::thin_out() {
  points_ = thinned(points_, 1);
  group_ *= 2;
  in_group_ = kept_ = 0;
}

void ResidencySeries::add(ResidencyPoint point) {
  if (point.resident < 0) return;
  // The first stays what it was.
  if (points_.size() > 1) settle_last();
  if (points_.size() >= kMostPoints) thin_out();
  points_.push_back(point);
}

ResidencyReport judge_residency(const ResidencySeries& series,
                                std::optional<std::int64_t> weight_bytes) {
  ResidencyReport out;
  out.weight_bytes = weight_bytes;
  const Points points = series.points();
  if (points.empty()) {
    out.sentence = "No probe told the resident memory of the process.";
    return out;
  }
  const auto [low, high] = std::ranges::minmax_element(points, is_lower);
  out.first = points.front().resident;
  out.low = low->resident;
  out.high = high->resident;
  out.last = points.back().resident;
  Course course{points, {0}, false};
  const double noise = noise_of(points, weight_bytes);
  if (points.size() >= kFewestPoints) {
    course = course_of(points, weight_bytes);
    out.shape = shape_of(course, noise);
  }
  take_rates(course.points, noise, out);
  out.sentence = fmt::format(
      "Resident memory {}{}{}.{}", course.reloaded ? "fell to almost nothing once, and then " : "",
      course_words(out, course), share_words(out.last, weight_bytes), rate_words(out));
  return out;
}

}  // namespace picchio
