#include "kept/folder.h"

#include "base/text.h"
#include "kept/codec.h"
#include "kept/telemetry.h"
#include "os/file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

namespace picchio::kept {
namespace {

constexpr std::int64_t kMostLogBytes = std::int64_t{512} << 20;
constexpr std::int64_t kMostJsonBytes = std::int64_t{64} << 20;
constexpr std::int64_t kMostTelemetryBytes = std::int64_t{256} << 20;
constexpr std::int64_t kMostAnswerBytes = std::int64_t{64} << 20;
constexpr std::string_view kLogEnding = ".stderr.txt";
constexpr std::string_view kAnswerEnding = ".answer.txt";
constexpr std::string_view kForeignAnswerEnding = ".response.json";
constexpr std::string_view kTelemetry = "telemetry.jsonl";

std::string in_folder(const std::string& folder, std::string_view name) {
  return (std::filesystem::path(folder) / name).string();
}

std::string pass_name(std::size_t number) { return fmt::format("pass{}", number); }

// An error about the content of a file, with the file's name.
std::unexpected<Error> about(const std::string& path, const Error& error) {
  return std::unexpected(Error{
      error.kind, fmt::format("cannot read kept run '{}': {}", path, error.message), error.hint});
}

Result<std::string> read_part(const std::string& folder, const std::string& name,
                              std::int64_t cap) {
  const std::string path = in_folder(folder, name);
  Result<std::string> text = os::read_file(path, cap);
  if (!text && text.error().kind == ErrorKind::not_found) {
    return fail(ErrorKind::not_found, "the kept run '{}' lacks '{}'", folder, name);
  }
  return text;
}

// What another file of the folder holds goes into `run` by `read`; a run without the file is one
// without a recording.
Result<> add_telemetry(const std::string& folder, const std::string& name, RawRun& run,
                       Result<> (*read)(std::string_view, RawRun&)) {
  const std::string path = in_folder(folder, name);
  std::error_code ignored;
  // A pipe would be waited for.
  if (std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored)) {
    return fail(ErrorKind::unsupported, "cannot read kept run '{}': it is no regular file", path);
  }
  const Result<std::string> text = os::read_file(path, kMostTelemetryBytes);
  if (!text && text.error().kind == ErrorKind::not_found) {
    run.telemetry.none_because = "not recorded";
    return {};
  }
  if (!text) return std::unexpected(text.error());
  if (const Result<> done = read(*text, run); !done) return about(path, done.error());
  return {};
}

Result<> read_own_telemetry(std::string_view text, RawRun& run) {
  Result<Telemetry> telemetry = telemetry_from_text(text);
  if (!telemetry) return std::unexpected(telemetry.error());
  run.telemetry = *std::move(telemetry);
  return {};
}

Result<RawPass> read_own_pass(const std::string& folder, std::size_t number) {
  const std::string name = pass_name(number);
  const Result<std::string> meta = read_part(folder, name + ".meta.json", kMostJsonBytes);
  if (!meta) return std::unexpected(meta.error());
  Result<RawPass> pass = pass_from_json(*meta);
  if (!pass) return about(in_folder(folder, name + ".meta.json"), pass.error());
  Result<std::string> log = read_part(folder, name + ".stderr.txt", kMostLogBytes);
  if (!log) return std::unexpected(log.error());
  const Result<std::string> stamps = read_part(folder, name + ".stamps.txt", kMostLogBytes);
  if (!stamps) return std::unexpected(stamps.error());
  Result<std::vector<Micros>> times = stamps_from_text(*stamps);
  if (!times) return about(in_folder(folder, name + ".stamps.txt"), times.error());
  pass->log = *std::move(log);
  std::optional<RawExchange>& exchange = pass->exchange;
  if (!exchange) {
    pass->line_stamps = *std::move(times);
    return pass;
  }
  Result<std::string> body = read_part(folder, name + std::string(kAnswerEnding), kMostAnswerBytes);
  if (!body) return std::unexpected(body.error());
  exchange->body = *std::move(body);
  exchange->line_stamps = *std::move(times);
  return pass;
}

Result<RawRun> read_own(const std::string& folder) {
  const Result<std::string> text = read_part(folder, "run.json", kMostJsonBytes);
  if (!text) return std::unexpected(text.error());
  Result<KeptHeader> header = run_from_json(*text);
  if (!header) return about(in_folder(folder, "run.json"), header.error());
  RawRun run = std::move(header->run);
  for (int number = 1; number <= header->pass_count; ++number) {
    Result<RawPass> pass = read_own_pass(folder, static_cast<std::size_t>(number));
    if (!pass) return std::unexpected(pass.error());
    run.passes.push_back(*std::move(pass));
  }
  if (run.passes.empty())
    return fail(ErrorKind::malformed, "the kept run '{}' holds no pass", folder);
  const Result<> added = add_telemetry(folder, std::string(kTelemetry), run, read_own_telemetry);
  if (!added) return std::unexpected(added.error());
  return run;
}

/// `ending`: kLogEnding, or kForeignAnswerEnding for a run that was measured over HTTP.
Result<ForeignPass> read_foreign(const std::string& folder, const std::string& name,
                                 std::string_view ending) {
  Result<std::string> text = read_part(folder, name + std::string(ending), kMostLogBytes);
  if (!text) return std::unexpected(text.error());
  const Result<std::string> meta = read_part(folder, name + ".meta.json", kMostJsonBytes);
  if (!meta) {
    Error error = meta.error();
    error.hint = "a log alone is read by 'picchio explain-log'";
    return std::unexpected(std::move(error));
  }
  Result<ForeignPass> pass = foreign_pass_from_json(*meta);
  if (!pass) return about(in_folder(folder, name + ".meta.json"), pass.error());
  if (ending == kLogEnding) {
    pass->pass.log = *std::move(text);
    return pass;
  }
  const std::optional<ServerKind> kind = pass->server_kind();
  if (!kind) {
    return fail(ErrorKind::unsupported,
                "the run in '{}' was measured through a server of a kind that is not known",
                folder);
  }
  RawExchange exchange;
  exchange.body = *std::move(text);
  exchange.claim = pass->claim;
  pass->pass.exchange = std::move(exchange);
  return pass;
}

RawRun foreign_run(const ForeignPass& first) {
  RawRun run;
  run.engine = first.engine;
  run.model_label = first.model_name;
  run.user_args = first.user_args;
  run.machine.gpus_known = false;
  run.machine.gpus_unknown_reason = "the machine was not recorded with this run";
  if (first.pass.exchange) {
    ServerFacts server;
    server.kind = first.server_kind().value_or(ServerKind::openai);
    server.version = first.engine.version.empty() ? first.engine.build : first.engine.version;
    server.model = first.model_name;
    server.unseen_because = "its process was not recorded with this run";
    server.no_log_because = "it was not recorded with this run";
    server.loads_on_request = server.kind == ServerKind::ollama;
    server.context = first.context;
    run.server = std::move(server);
  }
  return run;
}

Result<RawRun> read_foreign_passes(const std::string& folder,
                                   const std::vector<std::size_t>& numbers,
                                   std::string_view ending) {
  RawRun run;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    // Numbers are sorted: a gap shows as a name that is not there.
    Result<ForeignPass> pass = read_foreign(folder, pass_name(i + 1), ending);
    if (!pass) return std::unexpected(pass.error());
    if (run.passes.empty()) run = foreign_run(*pass);
    run.passes.push_back(std::move(pass->pass));
  }
  const Result<> added = add_telemetry(folder, "telemetry.json", run, read_foreign_telemetry);
  if (!added) return std::unexpected(added.error());
  return run;
}

Result<RawRun> read_single(const std::string& folder, const std::string& name) {
  Result<ForeignPass> pass = read_foreign(folder, name, kLogEnding);
  if (!pass) return std::unexpected(pass.error());
  RawRun run = foreign_run(*pass);
  if (run.model_label.empty()) run.model_label = name;
  run.passes.push_back(std::move(pass->pass));
  const Result<> added =
      add_telemetry(folder, name + ".telemetry.jsonl", run, read_foreign_samples);
  if (!added) return std::unexpected(added.error());
  return run;
}

// 3 of "pass3.stderr.txt".
std::optional<std::size_t> pass_number(std::string_view name, std::string_view ending) {
  if (!take_prefix(name, "pass") || !name.ends_with(ending)) return std::nullopt;
  name.remove_suffix(ending.size());
  const auto number = parse_int(name);
  if (!number || *number < 1 || name.front() == '0') return std::nullopt;
  return static_cast<std::size_t>(*number);
}

Result<RawRun> read_folder(const std::string& folder, const std::vector<std::string>& names) {
  if (std::ranges::find(names, "run.json") != names.end()) return read_own(folder);
  std::vector<std::size_t> logs;
  std::vector<std::size_t> answers;
  std::vector<std::string> singles;
  for (const std::string& name : names) {
    if (const auto number = pass_number(name, kForeignAnswerEnding)) answers.push_back(*number);
    if (const auto number = pass_number(name, kLogEnding)) {
      logs.push_back(*number);
    } else if (name.ends_with(kLogEnding)) {
      singles.push_back(name.substr(0, name.size() - kLogEnding.size()));
    }
  }
  if (!logs.empty()) return read_foreign_passes(folder, logs, kLogEnding);
  if (!answers.empty()) return read_foreign_passes(folder, answers, kForeignAnswerEnding);
  if (singles.size() == 1) return read_single(folder, singles.front());
  if (singles.empty()) return fail(ErrorKind::not_found, "no kept run in '{}'", folder);
  return with_hint(fail(ErrorKind::unsupported, "'{}' holds {} runs", folder, singles.size()),
                   fmt::format("name one of them: {}",
                               in_folder(folder, singles.front() + std::string(kLogEnding))));
}

}  // namespace

Result<> write_run(const std::string& folder, const RawRun& run) {
  if (const Result<> made = os::make_dirs(folder); !made) return made;
  if (auto written = os::write_file_atomic(in_folder(folder, "run.json"), run_to_json(run));
      !written) {
    return written;
  }
  return os::write_file_atomic(in_folder(folder, kTelemetry), telemetry_to_text(run.telemetry));
}

Result<> write_pass(const std::string& folder, const RawRun& run, std::size_t index) {
  if (index >= run.passes.size()) {
    return fail(ErrorKind::failed, "cannot keep pass {} of {}", index + 1, run.passes.size());
  }
  const RawPass& pass = run.passes[index];
  const std::string name = pass_name(index + 1);
  std::vector<std::pair<std::string, std::string>> derived = {
      {name + ".stamps.txt",
       stamps_to_text(pass.exchange ? pass.exchange->line_stamps : pass.line_stamps)},
      {name + ".meta.json", pass_to_json(run, pass)}};
  if (pass.exchange) derived.emplace_back(name + std::string(kAnswerEnding), pass.exchange->body);
  if (const Result<> made = os::make_dirs(folder); !made) return made;
  if (auto written = os::write_file_atomic(in_folder(folder, name + ".stderr.txt"), pass.log);
      !written) {
    return written;
  }
  for (const auto& [file, text] : derived) {
    if (auto written = os::write_file_atomic(in_folder(folder, file), text); !written)
      return written;
  }
  return {};
}

Result<RawRun> read_run(const std::string& path) {
  if (path.ends_with(kLogEnding) && !std::filesystem::is_directory(path)) {
    const std::filesystem::path file(path);
    std::string name = file.filename().string();
    name.resize(name.size() - kLogEnding.size());
    const std::filesystem::path folder = file.parent_path();
    return read_single(folder.empty() ? "." : folder.string(), name);
  }
  const Result<std::vector<std::string>> names = os::list_dir(path);
  if (!names) {
    return fail(names.error().kind, "cannot read kept run: {}", names.error().message);
  }
  return read_folder(path, *names);
}

}  // namespace picchio::kept
