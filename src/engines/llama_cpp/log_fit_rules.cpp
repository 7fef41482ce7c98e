#include "base/text.h"
#include "engines/log_devices.h"
#include "engines/log_rules.h"
#include "engines/log_text.h"

#include <algorithm>

namespace picchio {
namespace {

constexpr std::size_t kMaxRows = 256;  // one a device

FitFacts& fit_of(LogState& state, const LogLine& line) {
  if (!state.log.fit) state.log.fit.emplace();
  state.log.fit->line = line.number;
  return *state.log.fit;
}

std::optional<std::int64_t> number_behind(std::string_view text, std::string_view words) {
  const std::size_t at = text.find(words);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + words.size());
  return take_int(text);
}

// "common_init_result: fitting params to device memory ..."
bool read_fit_start(LogState& state, const LogLine& line, const Found&) {
  if (!state.in_fit()) state.log.fit.reset();
  (void)line;
  return false;
}

// "common_params_fit_impl: getting device memory data for initial parameters:"
// "operator(): getting device memory data for the extra model at a context size of 512:"   draft
bool read_probe_start(LogState& state, const LogLine& line, const Found& found) {
  const bool extra = found.rest.contains("extra model");
  if (found.rest.contains("initial parameters") && !state.in_fit()) state.log.fit.reset();
  (void)fit_of(state, line);
  state.begin_fit(line.number, extra);
  return false;
}

// "  - ROCm0 (AMD Radeon RX 6700 XT): 25 layers ( 5 overflowing),  11065 MiB used,   1036 MiB free"
bool read_fit_row(LogState& state, const LogLine& line, std::string_view text) {
  const std::size_t layers_at = text.rfind(" layers");
  const std::size_t colon = text.rfind(": ", layers_at);
  if (layers_at == std::string_view::npos || colon == std::string_view::npos) return false;
  std::string_view name = trim(text.substr(0, colon));
  take_prefix(name, "- ");
  FitRow row;
  row.device = std::string(name.substr(0, name.find(" (")));
  const auto layers = parse_int(text.substr(colon + 2, layers_at - colon - 2));
  std::string_view rest = text.substr(layers_at + 7);
  if (const auto overflow = between(rest, "(", " overflowing")) {
    row.overflowing =
        static_cast<int>(std::clamp<std::int64_t>(parse_int(*overflow).value_or(0), 0, 100'000));
  }
  const auto used = between(rest, ",", " MiB used");
  const auto free = between(rest, "MiB used,", " MiB free");
  const auto used_mib = used ? parse_int(*used) : std::nullopt;
  const auto free_mib = free ? parse_int(*free) : std::nullopt;
  if (!layers || *layers < 0 || *layers > 100'000 || !used_mib || !free_mib) {
    state.note(line.number, line.text);
    return false;
  }
  row.layers = static_cast<int>(*layers);
  row.used_mib = *used_mib;
  row.free_mib = *free_mib;
  FitFacts& fit = fit_of(state, line);
  const auto known = std::ranges::find(fit.rows, row.device, &FitRow::device);
  if (known != fit.rows.end()) {
    *known = row;  // each step of the fit prints its plan; the last one holds
  } else if (fit.rows.size() < kMaxRows) {
    fit.rows.push_back(row);
  }
  return false;
}

// "common_params_fit_impl: ..." since spring 2026, "llama_params_fit_impl: ..." in Dec 2025
bool read_fit_line(LogState& state, const LogLine& line, const Found& found) {
  const std::string_view text = found.rest;
  if (text.contains(" MiB used,") && text.contains(" layers"))
    return read_fit_row(state, line, text);
  FitFacts& fit = fit_of(state, line);
  // "projected to use 13702 MiB of device memory vs. 12101 MiB of free device memory"; the same
  // with "host memory" on a machine without devices
  if (text.contains("of free device memory")) {
    if (const auto use = number_behind(text, "projected to use ")) fit.projected_mib = use;
    if (const auto have = number_behind(text, " vs. ")) fit.available_mib = have;
  }
  if (const auto less = number_behind(text, "need to reduce device memory by "))
    fit.reduce_by_mib = less;
  const auto from = number_behind(text, "context size reduced from ");
  const std::size_t to_at = text.find(" to ");
  if (from && to_at != std::string_view::npos) {
    std::string_view rest = text.substr(to_at + 4);
    if (const auto to = take_int(rest)) fit.context_cut = {*from, *to};
  }
  return false;
}

// "common_fit_params: successfully fit params to free device memory"
// "common_fit_params: failed to fit params to free device memory: n_gpu_layers already set by user
// to 99, abort" "common_fit_params: encountered an error while trying to fit params to free device
// memory: ..."
bool read_fit_result(LogState& state, const LogLine& line, const Found& found) {
  FitFacts& fit = fit_of(state, line);
  fit.succeeded = found.head.ends_with("successfully fit ");
  std::string_view why = found.rest;
  if (!*fit.succeeded && take_prefix(why, ": ")) fit.failure = std::string(trim(why));
  if (const auto asked = number_behind(found.rest, "n_gpu_layers already set by user to ")) {
    state.event(LogEventKind::gpu_layers_asked, std::to_string(*asked), line.text, line.number);
  }
  state.end_fit();
  return false;
}

bool read_fit_end(LogState& state, const LogLine&, const Found&) {
  state.end_fit();
  return false;
}

// Columns were unsigned: a value that should be negative wrapped in bytes before the division by
// 1 MiB, so it stands 2^44 too high.
std::int64_t unwrapped(std::int64_t mib) {
  constexpr std::int64_t kWrap = std::int64_t{1} << 44;
  return mib > kWrap / 2 ? mib - kWrap : mib;
}

std::vector<std::int64_t> numbers_of(std::string_view cell) {
  std::vector<std::int64_t> out;
  while (!cell.empty()) {
    if (const auto value = take_int(cell)) {
      out.push_back(unwrapped(*value));
    } else {
      cell.remove_prefix(1);
    }
    cell = trim(cell);
  }
  return out;
}

// "|   - CUDA0 (RTX 4070)   | 11999 = 1493 + (9504 =  8351 +     800 +     353) +        1002 |"
// "|   - Host               |                  304 =   281 +       0 +      23                |"
bool read_table(LogState& state, const LogLine& line, const Found& found) {
  std::string_view text = trim(found.rest);
  if (text.contains("memory breakdown [MiB]")) {
    state.begin_table(line.number);
    return true;
  }
  take_prefix(text, "|");
  const auto cells = split(text, '|');
  std::string_view name = trim(cells.front());
  if (cells.size() < 2 || !take_prefix(name, "- ")) return true;
  const auto numbers = numbers_of(cells[1]);
  MemoryRow row;
  row.line = line.number;
  const std::size_t open = name.find(" (");
  row.name = std::string(name.substr(0, open));
  if (open != std::string_view::npos && name.ends_with(')')) {
    row.description = std::string(name.substr(open + 2, name.size() - open - 3));
  }
  std::size_t self = 0;
  if (numbers.size() == 7) {
    row.total_mib = numbers[0];
    row.free_mib = numbers[1];
    row.unaccounted_mib = numbers[6];
    self = 2;
  } else if (numbers.size() != 4) {
    state.note(line.number, line.text);
    return true;
  }
  row.self_mib = numbers[self];
  row.model_mib = numbers[self + 1];
  row.context_mib = numbers[self + 2];
  row.compute_mib = numbers[self + 3];
  if (row.total_mib) state.describe(state.device(row.name, line.number), row.description);
  state.add_table_row(std::move(row), line.number);
  return true;
}

constexpr LineRule kRules[] = {
    {"fitting params to device memory", read_fit_start},
    {"getting device memory data", read_probe_start},
    {"params_fit_impl:", read_fit_line},
    {"params to free device memory", read_fit_result},
    {"fitting params to free memory took", read_fit_end},
    {"memory_breakdown_print: ", read_table},
};

}  // namespace

std::span<const LineRule> fit_rules() { return kRules; }

}  // namespace picchio
