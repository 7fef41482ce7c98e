#include "report/history.h"

#include "base/text.h"
#include "report/json_values.h"
#include "report/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

namespace picchio {
namespace {

using report::Json;
using report::text_or_null;
using report::value_or_null;

constexpr std::size_t kColumns = 80;
constexpr std::size_t kLabel = 11;

std::string rate_text(const std::optional<double>& rate) {
  if (!rate) return "n/a";
  return fmt::format("{:.1f}", *rate);
}

std::string engine_of(const StoredRow& row) {
  return plain(row.build.empty() ? row.engine : row.engine + " " + row.build);
}

std::string state_of(const std::optional<State>& state) {
  return state ? std::string(name_of(*state)) : "n/a";
}

/// One column: its heading, the widest it may be, and which side it leans to.
struct TableColumn {
  std::string_view heading;
  std::size_t most;
  bool right;
};
constexpr std::array kTable = {TableColumn{"id", 12, true},       TableColumn{"date", 16, false},
                               TableColumn{"machine", 16, false}, TableColumn{"model", 36, false},
                               TableColumn{"quant", 10, false},   TableColumn{"state", 21, false},
                               TableColumn{"prefill", 9, true},   TableColumn{"decode", 9, true},
                               TableColumn{"wallclock", 9, true}, TableColumn{"engine", 28, false}};
constexpr std::size_t kMachineColumn = 2;
using Cells = std::array<std::string, kTable.size()>;

Cells cells_of(const StoredRow& row, const ShowMoment& show) {
  return {fmt::format("@{}", row.id),
          show(row.at),
          plain(row.host),
          plain(row.model),
          row.quant.empty() ? "n/a" : plain(row.quant),
          state_of(row.state),
          rate_text(row.lane(Lane::prefill).value),
          rate_text(row.lane(Lane::decode).value),
          rate_text(row.lane(Lane::wallclock).value),
          engine_of(row)};
}

std::string laid_out(const std::vector<Cells>& table, bool with_machine) {
  std::array<std::size_t, kTable.size()> widths{};
  for (const Cells& cells : table) {
    for (std::size_t i = 0; i < kTable.size(); ++i) {
      widths[i] = std::max(widths[i], std::min(cells[i].size(), kTable[i].most));
    }
  }
  std::string out;
  for (const Cells& cells : table) {
    std::string line;
    for (std::size_t i = 0; i < kTable.size(); ++i) {
      if (i == kMachineColumn && !with_machine) continue;
      const std::string cell = fit(cells[i], kTable[i].most);
      if (!line.empty()) line += "  ";
      line += kTable[i].right ? fmt::format("{:>{}}", cell, widths[i])
                              : fmt::format("{:<{}}", cell, widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  }
  return out;
}

Json lane_json(const StoredLane& lane) {
  return {{"value", value_or_null(lane.value)},
          {"low", value_or_null(lane.low)},
          {"high", value_or_null(lane.high)}};
}

Json row_json(const StoredRow& row) {
  return {{"id", row.id},
          {"content", row.content},
          {"at", to_rfc3339(row.at)},
          {"host", text_or_null(row.host)},
          {"model", row.model},
          {"model_key", text_or_null(row.model_key)},
          {"quant", text_or_null(row.quant)},
          {"protocol", text_or_null(row.protocol)},
          {"engine", text_or_null(row.engine)},
          {"build", text_or_null(row.build)},
          {"state", row.state ? Json(name_of(*row.state)) : Json(nullptr)},
          {"weights_on_gpu_fraction", value_or_null(row.gpu_share)},
          {"one_pass", row.one_pass},
          {"prefill", lane_json(row.lane(Lane::prefill))},
          {"decode", lane_json(row.lane(Lane::decode))},
          {"wallclock", lane_json(row.lane(Lane::wallclock))},
          {"chip", text_or_null(row.chip)},
          {"gpu", text_or_null(row.gpu)},
          {"driver", text_or_null(row.driver)},
          {"os", text_or_null(row.os)},
          {"kv_type_k", text_or_null(row.kv_type_k)},
          {"kv_type_v", text_or_null(row.kv_type_v)}};
}

/// "label      text", wrapped under the text; nothing for an empty one.
void add_line(std::string& out, std::string_view label, const std::string& text) {
  if (text.empty()) return;
  std::string_view before = label;
  for (const std::string& line : report::wrap(text, kColumns - kLabel, 0)) {
    out += fmt::format("{:<{}}{}\n", before, kLabel, line);
    before = "";
  }
}

std::string lane_text(const LaneFigures& lane) {
  const auto cell = [](const Rate& rate) {
    return rate.abstains ? std::string("abstain") : rate_text(rate.value);
  };
  std::string out = fmt::format("cold {}, warm {} tok/s", cell(lane.cold), cell(lane.warm));
  if (lane.low && lane.high) out += fmt::format(" ({:.1f} to {:.1f})", *lane.low, *lane.high);
  return out;
}

std::string placement_text(const PlacementFigures& place) {
  std::string out(place.engagement ? name_of(*place.engagement) : "");
  const auto add = [&](const std::string& text) {
    if (!out.empty()) out += ", ";
    out += text;
  };
  if (place.layers_total) {
    add(fmt::format("{}/{} layers on GPU", place.layers_on_gpu.value_or(0), *place.layers_total));
  }
  if (place.gpu_share) add(fmt::format("weights {:.0f}% gpu", 100 * *place.gpu_share));
  if (!place.kv.empty()) add("kv " + plain(place.kv));
  for (const DeviceBytes& device : place.devices) {
    add(fmt::format("{} on {}", format_bytes(static_cast<std::int64_t>(device.bytes)),
                    plain(device.device)));
  }
  return out;
}

std::string machine_text(const RecordedRun& run) {
  const MachineFigures& machine = run.figures.machine;
  std::string out = plain(machine.chip);
  if (!machine.gpu.empty()) out += " + " + plain(machine.gpu);
  if (machine.ram_gib) out += fmt::format(", {:.0f} GB", *machine.ram_gib);
  for (const std::string* text : {&machine.os, &run.host}) {
    if (!text->empty()) out += ", " + plain(*text);
  }
  if (!run.figures.more.driver.empty()) out += ", driver " + plain(run.figures.more.driver);
  return out;
}

}  // namespace

std::string history_table(std::span<const StoredRow> rows, const ShowMoment& show) {
  if (rows.empty()) return "";
  std::vector<Cells> table(1);
  for (std::size_t i = 0; i < kTable.size(); ++i) table[0][i] = kTable[i].heading;
  for (const StoredRow& row : rows) table.push_back(cells_of(row, show));
  const bool several = std::ranges::any_of(
      rows, [&](const StoredRow& row) { return row.host != rows.front().host; });
  return laid_out(table, several);
}

std::string history_json(std::span<const StoredRow> rows, bool more) {
  Json runs = Json::array();
  for (const StoredRow& row : rows) runs.push_back(row_json(row));
  return report::dump(
      {{"schema", "picchio.history-list.v1"}, {"runs", std::move(runs)}, {"more", more}});
}

std::string stored_run_text(const StoredRun& stored, const ShowMoment& show) {
  const RecordedRun& run = stored.run;
  const RunFigures& figures = run.figures;
  std::string out = fmt::format("run @{}, {}, {}\n", stored.id, show(run.at), stored.content);
  std::string model = plain(figures.model);
  if (!figures.quant.empty()) model += ", " + plain(figures.quant);
  if (figures.weight_bytes) {
    model += ", " + format_bytes(static_cast<std::int64_t>(*figures.weight_bytes));
  }
  add_line(out, "model", model);
  add_line(out, "file", plain(run.model_file));
  if (run.model_key != run.model_file) add_line(out, "served as", plain(run.model_key));
  add_line(out, "engine", plain(figures.engine + " " + figures.build));
  add_line(out, "machine", machine_text(run));
  add_line(out, "placement", placement_text(figures.placement));
  add_line(out, "arguments", plain(figures.placement.arguments));
  std::string settings = figures.context ? fmt::format("ctx {}", *figures.context) : "";
  if (!figures.more.kv_type_k.empty()) {
    settings += fmt::format("{}kv {}/{}", settings.empty() ? "" : ", ",
                            plain(figures.more.kv_type_k), plain(figures.more.kv_type_v));
  }
  add_line(out, "settings", settings);
  for (const Lane which : kLanes) {
    add_line(out, name_of(which), lane_text(figures.lane(which)));
  }
  add_line(out, "verdict", state_of(figures.state) + ". " + plain(figures.sentence));
  add_line(out, "why", plain(figures.why));
  add_line(out, "fix", plain(figures.fix));
  add_line(out, "rule", plain(run.rule));
  for (const Testimony& each : run.testimonies) {
    add_line(
        out, name_of(each.witness),
        fmt::format("{}: {}", each.word ? name_of(*each.word) : "abstains", plain(each.sentence)));
  }
  add_line(out, "by",
           fmt::format("picchio v{} {}", plain(figures.version), plain(figures.protocol)));
  return out;
}

std::string drift_line(const Drift& drift) {
  if (drift.outside.empty()) return "";
  std::string out;
  for (const DriftedLane& lane : drift.outside) {
    out += fmt::format("{}{} {:.1f} tok/s is {} the {:.1f} to {:.1f}", out.empty() ? "" : ", ",
                       name_of(lane.lane), lane.value, lane.value > lane.high ? "above" : "below",
                       lane.low, lane.high);
  }
  out += fmt::format(" of the {} runs before it", drift.earlier_runs);
  if (!drift.since) return out;
  if (!drift.changed) {
    return out + fmt::format("; nothing that is recorded changed since @{}", *drift.since);
  }
  return out + fmt::format("; since @{} changed: {}, from {} to {}", *drift.since,
                           drift.changed->name, fit(plain(drift.changed->a), kColumns),
                           fit(plain(drift.changed->b), kColumns));
}

}  // namespace picchio
