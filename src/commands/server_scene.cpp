#include "commands/server_scene.h"

#include "base/text.h"
#include "commands/open_model.h"
#include "commands/surroundings.h"
#include "commands/this_machine.h"
#include "engines/answers/json_document.h"
#include "engines/llama_cpp/prompt.h"
#include "engines/servers/asker.h"
#include "machine/server_process.h"
#include "os/file.h"
#include "os/proc.h"
#include "os/remote_name.h"
#include "version.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

namespace picchio {
namespace {

// From the runner's pipe through the server into its log.
constexpr Micros kLogDelay{150'000};

Result<llama_cpp::Prompting> prompting_of(const servers::ServedModel& model) {
  llama_cpp::Prompting out;
  const std::int64_t room = model.context.value_or(llama_cpp::kContext);
  if (room > 0) out.context = std::min(out.context, room);
  out.paragraphs = llama_cpp::paragraphs_that_fit(out.context);
  if (out.paragraphs == 0) {
    return with_hint(fail(ErrorKind::unsupported,
                          "the server gives a request {} tokens, too few for protocol mp1, which "
                          "generates {}",
                          room, llama_cpp::kGenerate),
                     "start it with a larger context (-c), or fewer slots (-np)");
  }
  if (out.paragraphs < llama_cpp::kParagraphs) {
    out.note = fmt::format("prompt shortened to {} of {} parts to fit the server's context ({})",
                           out.paragraphs, llama_cpp::kParagraphs, out.context);
  }
  return out;
}

/// What of a model's name or file stands in the command line of the process that runs it.
std::string needle_of(const servers::DetectedServer& detected, const servers::ServedModel& model) {
  if (detected.kind == ServerKind::ollama) {
    const std::size_t slash = model.file.find_last_of("/\\");
    return slash == std::string::npos ? model.name : model.file.substr(slash + 1);
  }
  return detected.router ? (model.file.empty() ? model.name : model.file) : "";
}

std::string fallback_log(ServerKind kind) {
  const auto home = os::env("HOME");
  return kind == ServerKind::ollama && home ? *home + "/.ollama/logs/server.log" : "";
}

/// The one that a command line shows, for a holder that may not be looked at.
ServerPlace place_of(const servers::DetectedServer& detected) {
  ServerPlace place = find_server(detected.endpoint.base_url);
  if (place.pid || !place.this_machine) return place;
  std::optional<int> found;
  if (detected.kind == ServerKind::ollama) found = server_by_command("/", "ollama", "serve");
  const Result<ServerAddress> address = parse_server_address(detected.endpoint.base_url);
  if (detected.kind == ServerKind::llama_server && address) {
    found = server_by_command("/", "llama-server", std::to_string(address->port));
  }
  if (found) place.pid = found;
  return place;
}

ServerFacts facts_of(const servers::DetectedServer& detected, const servers::ServedModel& model,
                     const ServerPlace& place) {
  ServerFacts out;
  out.kind = detected.kind;
  out.url = os::without_secrets(detected.endpoint.base_url);
  out.version = detected.version;
  out.model = model.name;
  out.model_file = model.file;
  out.local = place.pid.has_value();
  out.unseen_because = place.pid ? "" : place.why_not;
  out.quant = model.quant;
  out.weight_bytes = model.weight_bytes;
  out.parameters = model.parameters;
  if (detected.kind != ServerKind::ollama) out.context = model.context;
  return out;
}

/// A machine of which nothing is known but that it is another.
Machine another_machine() {
  Machine out;
  out.chip = "another machine";
  out.gpus_known = false;
  out.gpus_unknown_reason = "the server runs on another machine";
  return out;
}

/// The header, where the file lies on this machine and may be read.
std::optional<ModelFile> header_of(const servers::ServedModel& model, const ServerPlace& place) {
  if (!place.this_machine || model.file.empty() || !os::exists(model.file)) return std::nullopt;
  Result<ModelFile> header = open_model(model.file);
  if (!header) return std::nullopt;
  return *std::move(header);
}

/// What is known before the first pass, but for the server.
RawRun run_of(const servers::Server& server, const servers::ServedModel& model,
              const llama_cpp::Prompting& prompting, const ServerPlace& place) {
  RawRun run;
  run.picchio_version = kVersion;
  run.protocol = prompting.protocol;
  run.model_label = model.shown;
  run.context_asked = server.context_is_ours() ? prompting.context : 0;
  run.tokens_asked = prompting.generate;
  run.prompt_note = prompting.note;
  run.model = header_of(model, place);
  run.machine = place.this_machine ? this_machine() : another_machine();
  return run;
}

}  // namespace

ServerLogReader::ServerLogReader(const ServerPlace& place, ServerKind kind,
                                 const os::Interrupts& interrupts)
    : none_because_(place.why_not) {
  if (!place.pid) return;
  log_ = ServerLog::of("/", *place.pid, fallback_log(kind), interrupts);
  none_because_ = log_->none_because();
}

void ServerLogReader::describe(ServerFacts& facts) const {
  if (log_) facts.log_source = log_->source();
  if (facts.log_source.empty()) facts.no_log_because = none_because_;
}

void ServerLogReader::mark() {
  if (log_) log_->mark();
}

std::string ServerLogReader::of_pass(bool with_what_was_before) const {
  if (!log_ || log_->source().empty()) return {};
  std::this_thread::sleep_for(kLogDelay);
  return (with_what_was_before ? log_->before() : "") + log_->appended();
}

std::string ServerLogReader::take() {
  if (!log_ || log_->source().empty()) return {};
  std::this_thread::sleep_for(kLogDelay);
  const std::string before = std::exchange(taken_, true) ? "" : log_->before();
  return before + log_->take();
}

void ServerScene::take_engine(os::HttpClient& client) {
  std::optional<ServerFacts>& known = run.server;
  if (!known) return;
  ServerFacts& facts = *known;
  const int engine = processes.engine();
  if (engine == 0) return;
  facts.process = os::comm_of("/", engine).value_or("");
  const auto words = os::command_line("/", engine);
  if (words) facts.command_line = without_keys(*words);
  if (const auto entries = os::environment_of("/", engine)) {
    run.environment = placement_environment(*entries);
  }
  // A router tells of a model's file only once it is loaded.
  if (words && facts.model_file.empty()) facts.model_file = model_of(*words).value_or("");
  const auto port = words ? port_of(*words) : std::nullopt;
  if (engine == processes.server() || !port) return;
  // ollama from 0.30 on: the runner is a llama-server of its own.
  servers::Asker asker(client, {fmt::format("http://127.0.0.1:{}", *port), ""});
  const Result<std::string> props = asker.get_body("/props");
  const auto root = props ? answers::parse_document(*props) : std::nullopt;
  if (!root) return;
  run.engine.name = "llama-server";
  run.engine.version = fit(plain(answers::text_in(*root, "build_info")), 40);
}

Result<ServerScene> open_server_scene(const servers::DetectedServer& detected,
                                      const std::string& asked, const servers::Wait& wait,
                                      os::HttpClient& client,
                                      std::optional<llama_cpp::Prompting> prompting) {
  std::unique_ptr<servers::Server> server = servers::open_server(detected, client);
  Result<servers::ServedModel> model = server->choose_model(asked, wait);
  if (!model) return std::unexpected(model.error());
  if (!prompting) {
    Result<llama_cpp::Prompting> usual = prompting_of(*model);
    if (!usual) return std::unexpected(usual.error());
    prompting = *std::move(usual);
  }
  const ServerPlace place = place_of(detected);
  // Before the model is handed on: without its name another model's runner could be taken for its.
  std::string needle = needle_of(detected, *model);
  RawRun run = run_of(*server, *model, *prompting, place);
  // An llama-server tells its build only once it has loaded.
  run.server = facts_of(server->detected(), *model, place);
  ServerScene scene{.server = std::move(server),
                    .model = *std::move(model),
                    .place = place,
                    .prompting = *std::move(prompting),
                    .processes = {place, std::move(needle)},
                    .log = {place, detected.kind, wait.interrupts},
                    .run = std::move(run)};
  scene.log.describe(*scene.run.server);
  return scene;
}

}  // namespace picchio
