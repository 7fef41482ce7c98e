#include "results/bench_reader.h"

#include "base/text.h"
#include "results/pasted_text.h"
#include "results/quantities.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace picchio::results {
namespace {

using Json = nlohmann::json;

/// One test: the names of its columns and what stands there, as text.
using Row = std::map<std::string, std::string, std::less<>>;

constexpr std::size_t kMostRows = 10'000;
constexpr std::string_view kHint = "llama-bench -o json prints what is read here";

std::string text_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "1" : "0";
  if (value.is_number_float()) return fmt::format("{}", value.get<double>());
  if (value.is_number()) return value.dump();
  return "";
}

bool add_object(const Json& object, std::vector<Row>& out) {
  if (!object.is_object() || !object.contains("avg_ts")) return false;
  Row row;
  for (const auto& [key, value] : object.items()) row[key] = text_of(value);
  out.push_back(std::move(row));
  return true;
}

std::vector<Row> json_rows(std::string_view text) {
  std::vector<Row> out;
  const Json whole = Json::parse(text, nullptr, false);
  if (whole.is_array()) {
    for (const Json& each : whole) add_object(each, out);
    return out;
  }
  for (const std::string_view line : split_lines(text)) {
    if (!trim(line).starts_with('{')) continue;
    add_object(Json::parse(line, nullptr, false), out);
  }
  return out;
}

/// Fields of one line of CSV; quotes are doubled within quotes.
std::vector<std::string> csv_fields(std::string_view line) {
  std::vector<std::string> out(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      out.back() += c;
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

void add_fields(const std::vector<std::string>& names, const std::vector<std::string>& fields,
                std::vector<Row>& out) {
  if (fields.size() != names.size() || out.size() >= kMostRows) return;
  Row row;
  for (std::size_t i = 0; i < names.size(); ++i) row[names[i]] = fields[i];
  out.push_back(std::move(row));
}

std::vector<Row> csv_rows(std::string_view text) {
  std::vector<Row> out;
  std::vector<std::string> names;
  for (const std::string_view line : split_lines(text)) {
    if (trim(line).empty()) continue;
    std::vector<std::string> fields = csv_fields(trim(line));
    if (names.empty()) {
      names = std::move(fields);
    } else {
      add_fields(names, fields, out);
    }
  }
  return out;
}

std::vector<std::string> cells(std::string_view line) {
  std::vector<std::string> out;
  for (const std::string_view cell : split(line, '|')) out.emplace_back(trim(cell));
  return out;
}

/// "llama 7B Q4_0 | 3.56 GiB | 6.74 B | CUDA | 99 | pp512 | 2369.52 \u00B1 3.1".
std::vector<Row> markdown_rows(std::string_view text) {
  std::vector<Row> out;
  std::vector<std::string> names;
  std::string build;
  for (const std::string& line : pasted_lines(text)) {
    if (std::string_view rest = line; take_prefix(rest, "build: ")) build = trim(rest);
    if (!line.contains('|')) continue;
    std::vector<std::string> fields = cells(line);
    const bool head = std::ranges::find(fields, "t/s") != fields.end() &&
                      std::ranges::find(fields, "test") != fields.end();
    if (head)
      names = std::move(fields);
    else if (!names.empty() && !line.contains("---"))
      add_fields(names, fields, out);
  }
  for (Row& row : out) row["build"] = build;
  return out;
}

std::string field(const Row& row, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    const auto found = row.find(name);
    if (found != row.end() && !found->second.empty()) return plain(found->second);
  }
  return "";
}

std::optional<std::int64_t> whole(const Row& row, std::initializer_list<std::string_view> names) {
  return parse_int(field(row, names));
}

struct Test {
  std::int64_t prompt = 0;
  std::int64_t generated = 0;
  std::int64_t depth = 0;
};

/// "pp512", "tg128 @ d4096", "pp512+tg128".
Test test_named(std::string_view name) {
  Test out;
  for (std::string_view part : split_blanks(name)) {
    if (take_prefix(part, "pp")) {
      out.prompt = take_int(part).value_or(0);
      take_prefix(part, "+");
    }
    if (take_prefix(part, "tg")) out.generated = take_int(part).value_or(0);
    if (take_prefix(part, "d")) out.depth = take_int(part).value_or(0);
  }
  return out;
}

Test test_of(const Row& row) {
  const std::string name = field(row, {"test"});
  if (!name.empty()) return test_named(name);
  return {whole(row, {"n_prompt"}).value_or(0), whole(row, {"n_gen"}).value_or(0),
          whole(row, {"n_depth"}).value_or(0)};
}

/// As `read` has it, or a bare number.
std::optional<double> scaled(const std::string& text, auto read) {
  const auto bare = parse_double(text);
  return bare ? bare : read(text);
}

/// The columns that make a configuration: all but what a test is and gave.
std::string configuration(const Row& row) {
  std::string out;
  for (const char* name : {"model_filename",
                           "model_type",
                           "model",
                           "n_batch",
                           "n_ubatch",
                           "n_threads",
                           "threads",
                           "type_k",
                           "type_v",
                           "n_gpu_layers",
                           "ngl",
                           "flash_attn",
                           "fa",
                           "split_mode",
                           "sm",
                           "main_gpu",
                           "no_kv_offload",
                           "nkvo",
                           "tensor_split",
                           "ts",
                           "use_mmap",
                           "n_cpu_moe",
                           "backends",
                           "backend",
                           "devices",
                           "dev",
                           "build_commit",
                           "build_number"}) {
    out += field(row, {name}) + "\n";
  }
  return out;
}

RunFigures figures_of_configuration(const Row& row) {
  RunFigures out;
  // "llama 7B Q4_0" is a kind of model, and no name.
  out.model = field(row, {"model_filename"});
  const std::size_t slash = out.model.find_last_of("/\\");
  if (slash != std::string::npos) out.model.erase(0, slash + 1);
  out.parameters = scaled(field(row, {"model_n_params", "params"}), parameters_in);
  out.weight_bytes = scaled(field(row, {"model_size", "size"}), bytes_in);
  out.engine = "llama.cpp";
  const std::string number = field(row, {"build_number"});
  out.build = number.empty() ? field(row, {"build_commit", "build"}) : "b" + number;
  out.more.kv_type_k = field(row, {"type_k"});
  out.more.kv_type_v = field(row, {"type_v"});
  const std::string flash = field(row, {"flash_attn", "fa"});
  if (!flash.empty() && flash != "auto" && flash != "-1") {
    out.more.flash_attention = flash == "1" || flash == "true" || flash == "on";
  }
  out.more.batch = whole(row, {"n_batch"});
  out.more.ubatch = whole(row, {"n_ubatch"});
  if (const auto threads = whole(row, {"n_threads", "threads"}); threads && *threads < 100'000) {
    out.cpu.threads = static_cast<int>(*threads);
  }
  const std::string layers = field(row, {"n_gpu_layers", "ngl"});
  // -1: as many as fit.
  if (!layers.empty() && layers != "-1") out.placement.arguments = "-ngl " + layers;
  const std::string backend = field(row, {"backends", "backend"});
  // "CUDA,BLAS": what is first computes, what helps the CPU stands behind.
  const std::string first = backend.substr(0, backend.find(','));
  if (first != "CPU" && first != "BLAS") out.placement.backend = first;
  if (first == "CPU" || first == "BLAS") {
    out.placement.engagement = Engagement::not_engaged;
    out.state = State::cpu_only_machine;
  }
  out.machine.chip = field(row, {"cpu_info"});
  out.machine.gpu = field(row, {"gpu_info"});
  out.machine.gpu_count = out.machine.gpu.empty() ? 0 : 1;
  out.only_one_pass = false;
  return out;
}

void add_figure(const Row& row, Lane lane, RunFigures& out) {
  std::string text = field(row, {"avg_ts", "t/s"});
  std::string_view rest = text;
  const auto average = take_double(rest);
  if (!average || *average <= 0) return;
  auto deviation = parse_double(field(row, {"stddev_ts"}));
  if (!deviation) {
    // plain() left something in place of the sign between them.
    rest = rest.substr(std::min(rest.size(), rest.find_first_of("0123456789")));
    deviation = take_double(rest);
  }
  LaneFigures& figures = out.lane(lane);
  figures.warm = {average, false};
  if (!deviation || *deviation < 0) return;
  figures.low = *average - *deviation;
  figures.high = *average + *deviation;
}

struct Configuration {
  RunFigures figures;
  std::int64_t prompt = 0;
};

}  // namespace

bool is_bench(std::string_view text) {
  const std::string_view body = trim(text);
  if (body.starts_with('[') || body.starts_with('{')) return body.contains("\"avg_ts\"");
  if (body.starts_with("build_commit,")) return true;
  return body.contains(" test |") && body.contains(" t/s |");
}

Result<std::vector<RunFigures>> read_bench(std::string_view text) {
  const std::string_view body = trim(text);
  const bool json = body.starts_with('[') || body.starts_with('{');
  const std::vector<Row> rows = json                                ? json_rows(body)
                                : body.starts_with("build_commit,") ? csv_rows(body)
                                                                    : markdown_rows(body);
  std::vector<std::pair<std::string, Configuration>> found;
  for (const Row& row : rows) {
    const Test test = test_of(row);
    const bool prefill = test.prompt > 0 && test.generated == 0;
    const bool decode = test.generated > 0 && test.prompt == 0;
    if ((!prefill && !decode) || test.depth > 0) continue;
    const std::string key = configuration(row);
    auto known = std::ranges::find(found, key, &std::pair<std::string, Configuration>::first);
    if (known == found.end()) {
      known = found.insert(found.end(), {key, {figures_of_configuration(row), 0}});
    }
    Configuration& configured = known->second;
    if (decode) {
      add_figure(row, Lane::decode, configured.figures);
    } else if (test.prompt > configured.prompt) {
      configured.prompt = test.prompt;
      configured.figures.more.prompt_tokens = test.prompt;
      add_figure(row, Lane::prefill, configured.figures);
    }
  }
  if (found.empty()) {
    return with_hint(fail(ErrorKind::malformed, "the table of llama-bench holds no test"),
                     std::string(kHint));
  }
  std::vector<RunFigures> out;
  out.reserve(found.size());
  for (auto& [key, configured] : found) out.push_back(std::move(configured.figures));
  return out;
}

}  // namespace picchio::results
