#include "report/comparison.h"

#include "base/text.h"
#include "report/block.h"
#include "report/json_parts.h"
#include "report/json_values.h"
#include "report/layout.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <vector>

namespace picchio {
namespace {

constexpr std::size_t kNameColumns = 17;  // "flash attention" and two blanks
constexpr std::size_t kSideColumns = 30;
constexpr std::size_t kColumns = 80;

std::string shown(const std::string& text) {
  return text.empty() ? std::string("not told") : plain(text);
}

std::string percent(double share) { return fmt::format("{:.1f}%", 100 * share); }

std::string rate(std::optional<double> value) {
  return value ? fmt::format("{:.1f}", *value) : std::string("n/a");
}

/// "A 21.9x faster", "A 4.2% faster, within the spread (5.0%)".
std::string lane_outcome(const ComparedLane& lane) {
  if (!lane.why_not.empty()) return "not compared: " + plain(lane.why_not);
  const double ratio = lane.ratio();
  if (ratio <= 0) return "not compared: no rate";
  const bool a_faster = ratio >= 1;
  const double factor = a_faster ? ratio : 1 / ratio;
  const std::string side = a_faster ? "A" : "B";
  std::string faster = factor >= 1.5 ? fmt::format("{} {:.1f}x faster", side, factor)
                                     : fmt::format("{} {:.1f}% faster", side, 100 * (factor - 1));
  if (lane.differs()) return faster;
  if (factor < 1.0005) return "the same";
  return fmt::format("{}, within {}", faster, percent(lane.limit.value_or(0)));
}

std::vector<std::string> not_judged(const Comparison& comparison) {
  std::vector<std::string> out;
  const auto add = [&](const ComparedCondition& each) {
    if (each.judged()) return;
    const std::string who =
        each.a.empty() ? each.b.empty() ? "neither tells" : "A does not tell" : "B does not tell";
    out.push_back(fmt::format("{} ({})", each.name, who));
  };
  std::ranges::for_each(comparison.conditions, add);
  // Where one had no evidence a gate must not look as if both were healthy.
  add(comparison.verdicts);
  return out;
}

std::string row_title(const Comparison& comparison) {
  const bool warm = std::ranges::any_of(
      comparison.lanes, [](const ComparedLane& lane) { return lane.warm && lane.a && lane.b; });
  return warm ? "rates (warm median), tok/s" : "rates (first pass), tok/s";
}

std::string xml(std::string_view text) {
  std::string out;
  for (const char c : plain(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

report::Json condition_json(const ComparedCondition& condition) {
  return {
      {"name", condition.name},
      {"a", report::text_or_null(condition.a)},
      {"b", report::text_or_null(condition.b)},
      {"differs", condition.judged() ? report::Json(condition.differs) : report::Json(nullptr)}};
}

std::string cell(const std::string& text) { return plain_markdown(shown(text)); }

}  // namespace

std::string comparison_outcome(const Comparison& comparison) {
  if (!comparison.not_comparable.empty()) {
    return fmt::format("NOT COMPARABLE: {}.", plain(comparison.not_comparable));
  }
  if (comparison.suspect && *comparison.suspect < comparison.conditions.size()) {
    const ComparedCondition& first = comparison.conditions[*comparison.suspect];
    return fmt::format(
        "SUSPECT: {}. A: {}. B: {}. It is the first condition that differs; what "
        "stands below it is not to blame until this is the same.",
        first.name, shown(first.a), shown(first.b));
  }
  if (comparison.verdicts.differs &&
      std::ranges::none_of(comparison.lanes, &ComparedLane::differs)) {
    return "THE VERDICTS DIFFER, and no condition that both tell does.";
  }
  if (comparison.differs()) {
    return "NO SUSPECT: the rates differ by more than chance, and no condition that both tell "
           "does.";
  }
  if (!comparison.any_lane()) return "NO RATES: the two have no lane in common.";
  if (comparison.tolerance) {
    return fmt::format("ALIKE: within the tolerance of {}.", percent(*comparison.tolerance));
  }
  const bool assumed = std::ranges::any_of(
      comparison.lanes, [](const ComparedLane& lane) { return lane.spread_assumed; });
  if (assumed) {
    return "ALIKE: within 5%, which is taken where a run tells no spread of its own.";
  }
  return "ALIKE: within the runs' own spread.";
}

std::string comparison_text(const Comparison& comparison, const ComparedNames& names) {
  std::string out = fmt::format("A: {}\nB: {}\n\n", plain(names.a), plain(names.b));
  const auto row = [&](std::string_view name, const std::string& a, const std::string& b) {
    std::vector<std::string> left = report::wrap(a, kSideColumns, 0);
    std::vector<std::string> right = report::wrap(b, kSideColumns, 0);
    const std::size_t rows = std::max({left.size(), right.size(), std::size_t{1}});
    left.resize(rows);
    right.resize(rows);
    for (std::size_t i = 0; i < rows; ++i) {
      const std::string line = fmt::format("{:<{}}{:<{}}  {}", i == 0 ? name : "", kNameColumns,
                                           left[i], kSideColumns, right[i]);
      out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
  };
  row("", "A", "B");
  row("model", shown(comparison.model),
      comparison.other_model.empty() ? "same" : shown(comparison.other_model));
  for (const ComparedCondition& each : comparison.conditions) {
    if (each.a.empty() && each.b.empty()) continue;
    row(each.name, shown(each.a), each.judged() && each.a == each.b ? "same" : shown(each.b));
  }
  const ComparedCondition& verdicts = comparison.verdicts;
  if (!verdicts.a.empty() || !verdicts.b.empty()) {
    row("verdict", shown(verdicts.a),
        verdicts.judged() && verdicts.a == verdicts.b ? "same" : shown(verdicts.b));
  }
  out += "\n";
  if (comparison.not_comparable.empty()) {
    out += row_title(comparison) + "\n";
    for (const ComparedLane& lane : comparison.lanes) {
      out += fmt::format("  {:<11}{:>10}{:>12}   {}\n", name_of(lane.lane), rate(lane.a),
                         rate(lane.b), lane_outcome(lane));
    }
    out += "\n";
  }
  for (const std::string& line : report::wrap(comparison_outcome(comparison), kColumns, 2)) {
    out += line + "\n";
  }
  const std::vector<std::string> unknown = not_judged(comparison);
  if (comparison.not_comparable.empty() && !unknown.empty()) {
    const std::string text = fmt::format("Not judged: {}.", fmt::join(unknown, ", "));
    for (const std::string& line : report::wrap(text, kColumns, 2)) out += line + "\n";
  }
  return out;
}

std::string comparison_markdown(const Comparison& comparison, const ComparedNames& names) {
  std::string out =
      fmt::format("| | {} | {} | |\n| --- | --- | --- | --- |\n", cell(names.a), cell(names.b));
  out +=
      fmt::format("| model | {} | {} | |\n", cell(comparison.model),
                  cell(comparison.other_model.empty() ? comparison.model : comparison.other_model));
  const auto row = [&](const ComparedCondition& each) {
    if (each.a.empty() && each.b.empty()) return;
    out += fmt::format("| {} | {} | {} | {} |\n", each.name, cell(each.a), cell(each.b),
                       each.differs    ? "differs"
                       : each.judged() ? ""
                                       : "not judged");
  };
  for (const ComparedCondition& each : comparison.conditions) row(each);
  row(comparison.verdicts);
  if (comparison.not_comparable.empty()) {
    for (const ComparedLane& lane : comparison.lanes) {
      out += fmt::format("| {} tok/s | {} | {} | {} |\n", name_of(lane.lane), rate(lane.a),
                         rate(lane.b), cell(lane_outcome(lane)));
    }
  }
  return out + "\n" + cell(comparison_outcome(comparison)) + "\n";
}

std::string comparison_json(const Comparison& comparison, const ComparedNames& names) {
  using report::text_or_null;
  using report::value_or_null;
  report::Json conditions = report::Json::array();
  for (const ComparedCondition& each : comparison.conditions) {
    conditions.push_back(condition_json(each));
  }
  report::Json lanes = report::Json::object();
  for (const ComparedLane& lane : comparison.lanes) {
    lanes[std::string(name_of(lane.lane))] = {
        {"a", value_or_null(lane.a)},
        {"b", value_or_null(lane.b)},
        {"warm", lane.warm},
        {"ratio", lane.why_not.empty() ? report::Json(lane.ratio()) : report::Json(nullptr)},
        {"limit", value_or_null(lane.limit)},
        {"differs", lane.why_not.empty() ? report::Json(lane.differs()) : report::Json(nullptr)},
        {"not_compared", text_or_null(lane.why_not)}};
  }
  report::Json out;
  out["schema"] = "picchio.compare.v1";
  out["a"] = names.a;
  out["b"] = names.b;
  out["model"] = text_or_null(comparison.model);
  out["other_model"] = text_or_null(comparison.other_model);
  out["not_comparable"] = text_or_null(comparison.not_comparable);
  out["differs"] = comparison.not_comparable.empty() ? report::Json(comparison.differs())
                                                     : report::Json(nullptr);
  out["suspect"] = comparison.suspect
                       ? report::Json(comparison.conditions[*comparison.suspect].name)
                       : report::Json(nullptr);
  out["tolerance"] = value_or_null(comparison.tolerance);
  out["conditions"] = conditions;
  out["verdict"] = condition_json(comparison.verdicts);
  out["lanes"] = lanes;
  out["outcome"] = comparison_outcome(comparison);
  return report::dump(out);
}

std::string comparison_junit(const Comparison& comparison, const ComparedNames& names) {
  std::string cases;
  int failures = 0;
  int skipped = 0;
  int count = 0;
  const auto add = [&](std::string_view name, bool judged, bool failed, const std::string& text) {
    const std::string tag = !judged ? "skipped" : failed ? "failure" : "";
    ++count;
    failures += judged && failed ? 1 : 0;
    skipped += judged ? 0 : 1;
    cases += fmt::format("    <testcase classname=\"picchio.compare\" name=\"{}\"", name);
    cases +=
        tag.empty() ? "/>\n" : fmt::format("><{} message=\"{}\"/></testcase>\n", tag, xml(text));
  };
  const bool comparable = comparison.not_comparable.empty();
  for (const ComparedLane& lane : comparison.lanes) {
    add(name_of(lane.lane), comparable && lane.why_not.empty(), lane.differs(),
        comparable ? fmt::format("A {} tok/s, B {} tok/s: {}", rate(lane.a), rate(lane.b),
                                 lane_outcome(lane))
                   : comparison.not_comparable);
  }
  // A gate must not pass for want of something to compare.
  add("a lane in common", comparable, !comparison.any_lane(), comparison_outcome(comparison));
  const auto add_condition = [&](const ComparedCondition& each) {
    add(each.name, comparable && each.judged(), each.differs,
        fmt::format("A: {}; B: {}", shown(each.a), shown(each.b)));
  };
  if (!comparison.conditions.empty()) add_condition(comparison.conditions.front());
  add_condition(comparison.verdicts);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"{} against "
      "{}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\">\n{}  </testsuite>\n</testsuites>\n",
      xml(names.b), xml(names.a), count, failures, skipped, cases);
}

}  // namespace picchio
