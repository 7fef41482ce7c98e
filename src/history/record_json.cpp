#include "history/record_json.h"

#include "history/figure_fields.h"

#include <cmath>
#include <utility>

namespace picchio {

template <class A>
void describe(A& archive, kept::Ref<A, RecordedRun> value) {
  archive("host", value.host);
  archive("model_key", value.model_key);
  archive("model_file", value.model_file);
  archive("rule", value.rule);
  archive("testimonies", value.testimonies);
  archive("figures", value.figures);
  archive("block", value.block);
}

namespace history {
namespace {

using kept::Json;

constexpr std::size_t kContentDigits = 32;
constexpr double kMostTokensPerSecond = 1e9;

std::string one_line(const Json& json) {
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

bool is_content(std::string_view text) {
  return text.size() == kContentDigits && text.find_first_not_of("0123456789abcdef") == text.npos;
}

bool is_rate(const std::optional<double>& rate) {
  return !rate || (*rate >= 0 && *rate <= kMostTokensPerSecond);
}

Result<> check_figures(const RunFigures& figures) {
  if (figures.model.empty()) return fail(ErrorKind::malformed, "it names no model");
  for (const Lane which : kLanes) {
    const LaneFigures& lane = figures.lane(which);
    const bool rates = is_rate(lane.cold.value) && is_rate(lane.warm.value) && is_rate(lane.low) &&
                       is_rate(lane.high);
    if (!rates) return fail(ErrorKind::malformed, "its {} is no rate", name_of(which));
  }
  return {};
}

Result<RecordedRun> record_of(const Json& json) {
  RecordedRun out;
  kept::Reader reader(json);
  std::string at;
  reader("at", at);
  describe(reader, out);
  if (const auto& error = reader.error()) return fail(ErrorKind::malformed, "{}", *error);
  const auto moment = moment_from_rfc3339(at);
  if (!moment) return fail(ErrorKind::malformed, "field 'at' is no moment of these centuries");
  out.at = *moment;
  if (const Result<> ok = check_figures(out.figures); !ok) return std::unexpected(ok.error());
  return out;
}

Result<> check_size(std::size_t bytes) {
  if (bytes <= kMostRecordBytes) return {};
  return fail(ErrorKind::malformed, "it has more than {} KiB", kMostRecordBytes >> 10);
}

Result<Json> parse_record(std::string_view text) {
  if (const Result<> ok = check_size(text.size()); !ok) return std::unexpected(ok.error());
  return kept::parse_json(text);
}

}  // namespace

std::string figures_to_json(const RunFigures& figures) {
  return one_line(kept::Writer::encode(figures));
}

Result<RunFigures> figures_from_json(std::string_view text) {
  const Result<Json> json = parse_record(text);
  if (!json) return std::unexpected(json.error());
  RunFigures out;
  kept::Reader reader(*json);
  describe(reader, out);
  if (const auto& error = reader.error()) return fail(ErrorKind::malformed, "{}", *error);
  return out;
}

std::string record_to_json(const RecordedRun& run) {
  kept::Writer writer;
  writer("at", to_rfc3339(run.at));
  describe(writer, run);
  return one_line(writer.take());
}

Result<RecordedRun> record_from_json(std::string_view text) {
  const Result<Json> json = parse_record(text);
  if (!json) return std::unexpected(json.error());
  return record_of(*json);
}

std::string export_line(std::string_view content, std::string_view record) {
  std::string out = fmt::format(R"({{"schema":"{}","id":"{}")", kExportSchema, content);
  // What follows is an object of ours, and never an empty one.
  out += ',';
  out += record.substr(1);
  return out;
}

Result<ImportedRecord> record_of_export_line(std::string_view line) {
  if (line.size() > kMostLineBytes) {
    return fail(ErrorKind::malformed, "it has more than {} KiB", kMostRecordBytes >> 10);
  }
  Result<Json> json = kept::parse_json(line);
  if (!json) return std::unexpected(json.error());
  const bool ours =
      json->is_object() && json->contains("schema") && (*json)["schema"] == kExportSchema;
  if (!ours) return fail(ErrorKind::malformed, "its schema is not '{}'", kExportSchema);
  ImportedRecord out;
  if (const auto id = json->find("id"); id != json->end()) {
    if (!id->is_string() || !is_content(id->get_ref<const std::string&>())) {
      return fail(ErrorKind::malformed, "its id is not {} hex digits", kContentDigits);
    }
    out.content = id->get<std::string>();
  }
  json->erase("schema");
  json->erase("id");
  Result<RecordedRun> run = record_of(*json);
  if (!run) return std::unexpected(run.error());
  out.run = *std::move(run);
  out.record = one_line(*json);
  // Escapes are longer than what they stand for.
  if (const Result<> ok = check_size(out.record.size()); !ok) return std::unexpected(ok.error());
  return out;
}

}  // namespace history
}  // namespace picchio
