#include "kept/codec.h"

#include "base/text.h"
#include "kept/fields.h"

#include <fmt/format.h>

#include <cmath>

namespace picchio::kept {
namespace {

constexpr std::string_view kRunSchema = "picchio.kept-run.v1";
constexpr std::string_view kPassSchema = "picchio.kept-pass.v1";
constexpr int kMostPasses = 1000;
constexpr double kLongestPassSeconds = 1e9;  // three decades; above it a double is no microsecond

// What the established tool would call the engine: "llama.cpp b9430".
std::string engine_name(const EngineProgram& engine) {
  const std::string family = engine.name.starts_with("llama-") ? "llama.cpp" : engine.name;
  return engine.build.empty() ? family + " (version unknown)" : family + " " + engine.build;
}

std::string model_name(const RawRun& run) {
  if (!run.model || run.model->path.empty()) return run.model_label;
  const std::size_t slash = run.model->path.find_last_of('/');
  return slash == std::string::npos ? run.model->path : run.model->path.substr(slash + 1);
}

// The other way round. "llama.cpp llama-completion" is how it names a build without a number.
EngineProgram engine_of(std::string_view text) {
  EngineProgram engine;
  const std::size_t blank = text.find(' ');
  engine.name = text.substr(0, blank);
  if (blank == std::string_view::npos) return engine;
  const std::string_view rest = trim(text.substr(blank));
  const bool build = rest.size() > 1 && rest[0] == 'b' && rest[1] >= '0' && rest[1] <= '9';
  if (build) {
    engine.build = rest;
  } else if (rest.starts_with("llama-")) {
    engine.name = rest;
  } else if (!rest.starts_with('(')) {
    engine.version = rest;
  }
  return engine;
}

Result<Json> parse_schema(std::string_view text, std::string_view schema) {
  Result<Json> json = parse_json(text);
  if (!json) return json;
  if (!json->is_object()) return fail(ErrorKind::malformed, "it is not a JSON object");
  const auto found = json->find("schema");
  if (found == json->end() || *found != schema) {
    return fail(ErrorKind::malformed, "its schema is not '{}'", schema);
  }
  return json;
}

Result<Micros> wall_of(const std::optional<double>& seconds) {
  if (!seconds) return fail(ErrorKind::malformed, "field 'wall_s' is missing");
  if (*seconds < 0 || *seconds > kLongestPassSeconds) {
    return fail(ErrorKind::malformed, "field 'wall_s' is not a length of time");
  }
  return Micros(std::llround(*seconds * 1e6));
}

}  // namespace

std::string run_to_json(const RawRun& run) {
  Json out;
  out["schema"] = kRunSchema;
  out["pass_count"] = run.passes.size();
  Writer writer;
  describe(writer, run);
  out.update(writer.take());
  return to_lines(out);
}

Result<KeptHeader> run_from_json(std::string_view text) {
  const Result<Json> json = parse_schema(text, kRunSchema);
  if (!json) return std::unexpected(json.error());
  KeptHeader out;
  Reader reader(*json);
  reader("pass_count", out.pass_count);
  describe(reader, out.run);
  if (const auto& error = reader.error()) return fail(ErrorKind::malformed, "{}", *error);
  if (out.pass_count < 0 || out.pass_count > kMostPasses) {
    return fail(ErrorKind::malformed, "field 'pass_count' is not between 0 and {}", kMostPasses);
  }
  return out;
}

std::string pass_to_json(const RawRun& run, const RawPass& pass) {
  // The first keys are for another program's readers: plain strings, even where that loses bytes.
  Json out;
  out["schema"] = kPassSchema;
  out["wall_s"] = seconds(pass.wall);
  out["engine"] = run.server ? fmt::format("{} {}", name_of(run.server->kind), run.server->version)
                             : engine_name(run.engine);
  out["model_name"] = model_name(run);
  out["prompt_nonce"] = pass.prompt_prefix;
  out["extra_args"] = run.user_args;
  Writer writer;
  describe(writer, pass);
  out.update(writer.take());
  return to_lines(out);
}

Result<RawPass> pass_from_json(std::string_view text) {
  const Result<Json> json = parse_schema(text, kPassSchema);
  if (!json) return std::unexpected(json.error());
  RawPass out;
  Reader reader(*json);
  describe(reader, out);
  if (const auto& error = reader.error()) return fail(ErrorKind::malformed, "{}", *error);
  if (out.began && std::abs(seconds(*out.began)) > kLongestPassSeconds) {
    return fail(ErrorKind::malformed, "field 'began_us' is not a moment of a run");
  }
  return out;
}

std::string stamps_to_text(std::span<const Micros> stamps) {
  std::string out;
  for (const Micros stamp : stamps) fmt::format_to(std::back_inserter(out), "{}\n", stamp.count());
  return out;
}

Result<std::vector<Micros>> stamps_from_text(std::string_view text) {
  std::vector<Micros> out;
  for (const std::string_view line : split_lines(text)) {
    const auto value = parse_int(line);
    if (!value) {
      return fail(ErrorKind::malformed, "line {} is not a whole number of microseconds: '{}'",
                  out.size() + 1, fit(plain(line), 40));
    }
    out.emplace_back(*value);
  }
  return out;
}

Result<ForeignPass> foreign_pass_from_json(std::string_view text) {
  const Result<Json> json = parse_json(text);
  if (!json) return std::unexpected(json.error());
  if (!json->is_object()) return fail(ErrorKind::malformed, "it is not a JSON object");
  ForeignPass out;
  std::optional<double> wall;
  std::optional<std::string> nonce;
  std::string engine;
  std::string command;
  Reader reader(*json);
  reader("wall_s", wall);
  reader("engine", engine);
  reader("model_name", out.model_name);
  reader("prompt_nonce", nonce);
  reader("extra_args", out.user_args);
  reader("mode", out.mode);
  reader("exit", out.pass.exit_code);
  reader("cmd", command);
  reader("ctx", out.context);
  if (const auto& error = reader.error()) return fail(ErrorKind::malformed, "{}", *error);
  const Result<Micros> length = wall_of(wall);
  if (!length) return std::unexpected(length.error());
  out.pass.wall = *length;
  out.pass.prompt_prefix = nonce.value_or("");
  out.engine = engine_of(engine);
  for (const std::string_view word : split_blanks(command)) out.pass.argv.emplace_back(word);
  if (engine.empty() && !out.pass.argv.empty()) out.engine.name = out.pass.argv.front();
  if (const auto row = json->find("ps"); row != json->end()) {
    if (row->is_object()) out.claim = row->dump();
    if (out.mode.empty()) out.mode = "ollama";
  }
  return out;
}

std::optional<ServerKind> ForeignPass::server_kind() const {
  if (mode == "ollama") return ServerKind::ollama;
  if (mode == "server") return ServerKind::llama_server;
  return std::nullopt;
}

}  // namespace picchio::kept
