// llama-bench prints a table of rates. Its backend column names what is registered, never where the
// model lies; only "ngl 0", and a build with no GPU backend at all, say something of placement.
#include "base/text.h"
#include "engines/log_devices.h"
#include "engines/log_rules.h"
#include "engines/log_text.h"

#include <algorithm>

namespace picchio {
namespace {

std::vector<std::string> cells_of(std::string_view text) {
  std::vector<std::string> out;
  text = trim(text);
  take_prefix(text, "|");
  if (text.ends_with('|')) text.remove_suffix(1);
  for (const std::string_view cell : split(text, '|')) out.emplace_back(trim(cell));
  return out;
}

// "CPU", "BLAS", "CPU,BLAS"
bool only_host_backends(std::string_view names) {
  const auto parts = split(names, ',');
  return std::ranges::all_of(parts,
                             [](std::string_view name) { return is_host_device(trim(name)); });
}

void set_backends(LogState& state, const LogLine& line, std::string_view names) {
  state.log.backends = std::string(names);
  if (!names.empty() && only_host_backends(names)) {
    // Not the row itself: it differs from row to row, and one event is enough.
    state.event(LogEventKind::not_compiled_for_gpu, names,
                "llama-bench names no GPU backend: " + std::string(names), line.number);
  }
}

void set_layers_asked(LogState& state, const LogLine& line, std::int64_t layers) {
  if (layers < -1 || layers > 1'000'000) return;
  OffloadPlan plan;
  plan.requested = static_cast<int>(layers);
  if (layers == 0) plan.offload = 0;
  plan.line = line.number;
  state.log.plan = plan;
}

// "| model                          |       size |     params | backend    | ngl |            test
// |                  t/s |"
bool read_header(LogState& state, const LogLine& line, const Found&) {
  state.bench.columns = cells_of(line.text);
  state.bench.last_row.clear();
  return true;
}

// "| llama 7B Q4_0                  |   3.56 GiB |     6.74 B | CUDA       |   0 |           pp512
// |        212.09 ± 1.66 |"
bool read_row(LogState& state, const LogLine& line, const Found&) {
  if (state.bench.columns.empty() || !line.text.starts_with('|')) return false;
  const auto cells = cells_of(line.text);
  if (cells.size() != state.bench.columns.size()) return false;
  std::string configuration;
  std::string test;
  std::optional<double> rate;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string& column = state.bench.columns[i];
    if (column == "t/s") {
      std::string_view text = cells[i];
      rate = take_double(text);
    } else if (column == "test") {
      test = cells[i];
    } else {
      configuration += cells[i] + "|";
      const auto number = parse_int(cells[i]);
      if (column == "backend") set_backends(state, line, cells[i]);
      if (column == "ngl" && number) set_layers_asked(state, line, *number);
      if (column == "threads" && number && *number > 0 && *number < 100'000) {
        state.log.threads = static_cast<int>(*number);
      }
    }
  }
  if (!rate || *rate <= 0) return false;
  auto& timings = state.log.timings;
  const bool decode = test.starts_with("tg");
  const bool same = state.bench.last_row == configuration && !timings.empty() &&
                    !(decode ? timings.back().decode_tokens_per_second
                             : timings.back().prefill_tokens_per_second);
  if (!same) timings.emplace_back();
  (decode ? timings.back().decode_tokens_per_second : timings.back().prefill_tokens_per_second) =
      rate;
  timings.back().line = line.number;
  state.bench.last_row = configuration;
  return false;
}

// llama-bench -o json: "    \"n_gpu_layers\": 0,". The blank tells it from old servers' echo of a
// parameter that a CPU build zeroed itself: {...,"n_gpu_layers":0}
bool read_json_layers(LogState& state, const LogLine& line, const Found& found) {
  std::string_view rest = found.rest;
  if (const auto layers = take_int(rest)) set_layers_asked(state, line, *layers);
  return false;
}

// "    \"n_gen\": 128,", then "    \"avg_ts\": 43.61,"
bool read_json_gen(LogState& state, const LogLine&, const Found& found) {
  std::string_view rest = found.rest;
  state.bench.generates = take_int(rest).value_or(0) > 0;
  return false;
}

bool read_json_rate(LogState& state, const LogLine& line, const Found& found) {
  std::string_view rest = found.rest;
  const auto rate = take_double(rest);
  if (!rate || *rate <= 0) return false;
  EngineTimings timings;
  timings.line = line.number;
  (state.bench.generates ? timings.decode_tokens_per_second : timings.prefill_tokens_per_second) =
      rate;
  state.log.timings.push_back(timings);
  return false;
}

bool read_json_build(LogState& state, const LogLine&, const Found& found) {
  std::string_view rest = found.rest;
  state.log.build = take_int(rest);
  return false;
}

bool read_json_backends(LogState& state, const LogLine& line, const Found& found) {
  set_backends(state, line, found.rest.substr(0, found.rest.find('"')));
  return false;
}

constexpr LineRule kRules[] = {
    {"\"n_gpu_layers\": ", read_json_layers},
    {"\"backends\": \"", read_json_backends},
    {"\"build_number\": ", read_json_build},
    {"\"n_gen\": ", read_json_gen},
    {"\"avg_ts\": ", read_json_rate},
    {"t/s |", read_header},
    {"\xC2\xB1", read_row},
};

}  // namespace

std::span<const LineRule> bench_rules() { return kRules; }

}  // namespace picchio
