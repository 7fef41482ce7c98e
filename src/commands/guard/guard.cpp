#include "base/text.h"
#include "commands/command.h"
#include "commands/guard/watch.h"
#include "commands/guard/words.h"
#include "commands/keep_folder.h"
#include "commands/open_model.h"
#include "commands/options.h"
#include "commands/surroundings.h"
#include "commands/terminal.h"
#include "commands/this_machine.h"
#include "engines/llama_cpp/raised_verbosity.h"
#include "os/file.h"
#include "os/relay.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace picchio {
namespace {

constexpr const char* kText =
    "Runs a command as if nobody stood between, and says so the moment its model lands off the "
    "GPU.\n"
    "Usage: picchio guard [OPTIONS] -- COMMAND...";

constexpr const char* kDetails =
    "Standard input and output, the terminal, signals and the exit code are the command's own; "
    "its\n"
    "stderr is handed on byte for byte. Lines of picchio's own begin with 'picchio: '. Programs "
    "of\n"
    "llama.cpp print where the model lies at verbosity 4 only: guard sets LLAMA_ARG_LOG_VERBOSITY\n"
    "for them where you have not, and hands on what they print without it.\n\n"
    "Exit codes: the command's own, 128 + N after signal N; 127 there is no such command, 126 it\n"
    "cannot be run; with --expect, when the command succeeded: 3 too few weights on the GPU, 4 "
    "none\n"
    "or nothing proves any.\n\n";

constexpr int kNoSuchCommand = 127;
constexpr int kCannotRun = 126;

struct GuardOptions {
  bool quiet = false;
  bool no_env = false;
  bool no_telemetry = false;
  std::string keep_logs;
  std::string notify;
  std::string expect;
};

void add_options(CLI::App& app, GuardOptions& options) {
  app.add_flag("--quiet", options.quiet, "say nothing but that a model landed off the GPU");
  app.add_option("--expect", options.expect,
                 "gpu, partial or bytes>=0.9: exit 3 or 4 when it does not hold");
  app.add_option("--notify", options.notify,
                 "a command for 'sh -c' at every finding, told by PICCHIO_STATE, PICCHIO_WHY ...");
  app.add_option("--keep-logs", options.keep_logs,
                 "keep all of its stderr and the findings here: stderr.txt and guard.json");
  app.add_flag("--no-env", options.no_env, "set no variable for the command");
  app.add_flag("--no-telemetry", options.no_telemetry, "leave the GPU meters alone");
}

/// DefaultView as the relay wants it.
class View : public os::StreamView {
 public:
  explicit View(llama_cpp::ViewedProgram program) : view_(program) {}
  void feed(std::string_view bytes, std::string& out) override { view_.feed(bytes, out); }
  void rest(std::string& out) override { view_.rest(out); }
  void end(std::string& out) override { view_.end(out); }
  [[nodiscard]] bool holds() const override { return view_.holds(); }

 private:
  llama_cpp::DefaultView view_;
};

/// Clients of a container's, a manager's or another machine's engine: none of their processes is
/// it.
bool runs_elsewhere(const std::string& program) {
  const std::string_view name = base_name(program);
  constexpr std::string_view kClients[] = {"docker",      "podman",  "nerdctl", "ssh",
                                           "systemd-run", "kubectl", "flatpak"};
  return std::ranges::find(kClients, name) != std::end(kClients);
}

ExitCode code_of(int code) { return static_cast<ExitCode>(code); }

/// Commands that are told of findings. They are not waited for.
class Notices {
 public:
  Notices(std::string command, int pid) : command_(std::move(command)), pid_(pid) {}

  void send(const GuardFinding& finding) {
    std::erase_if(running_, os::reap);
    if (command_.empty()) return;
    const auto started =
        os::start_detached({"/bin/sh", "-c", command_}, finding_environment(finding, pid_));
    if (started) running_.push_back(*started);
  }

 private:
  std::string command_;
  int pid_;
  std::vector<int> running_;
};

struct Setup {
  GuardOptions options;
  std::optional<Expectation> expectation;
  llama_cpp::VerbosityPlan plan;
  os::UniqueFd kept;
};

Result<Setup> prepare(GuardOptions options, const std::vector<std::string>& command) {
  Setup out;
  if (command.empty()) {
    return with_hint(fail(ErrorKind::malformed, "there is no command to run"),
                     "it stands behind '--': picchio guard -- llama-server -m MODEL");
  }
  if (!options.expect.empty()) {
    const auto expectation = parse_expectation(options.expect);
    if (!expectation) return std::unexpected(expectation.error());
    out.expectation = *expectation;
  }
  if (const Result<> ok = prepare_keep_folder(options.keep_logs); !ok) {
    return std::unexpected(ok.error());
  }
  if (!options.keep_logs.empty()) {
    auto file = os::create_file(options.keep_logs + "/stderr.txt");
    if (!file) return std::unexpected(file.error());
    out.kept = *std::move(file);
  }
  if (!options.no_env) {
    out.plan = llama_cpp::plan_verbosity(command, os::environment(), llama_cpp::log_of_build);
  }
  out.options = std::move(options);
  return out;
}

GuardScene scene_of(const std::vector<std::string>& command) {
  GuardScene scene;
  scene.machine = this_machine();
  const std::size_t at = std::min(llama_cpp::program_word(command), command.size() - 1);
  scene.arguments.assign(command.begin() + static_cast<std::ptrdiff_t>(at) + 1, command.end());
  scene.environment = placement_environment(os::environment());
  scene.header = [](const std::string& path) -> std::optional<ModelFile> {
    if (!os::exists(path)) return std::nullopt;
    auto model = open_model(path);
    if (!model) return std::nullopt;
    return *std::move(model);
  };
  return scene;
}

os::RelayOptions relay_options(Setup& setup, const std::vector<std::string>& command) {
  os::RelayOptions out;
  out.argv = command;
  out.keep = std::move(setup.kept);
  out.speak_when_raw = !setup.plan.program.empty();
  if (setup.plan.view) {
    out.set_env.emplace_back(llama_cpp::kVerbosityName, llama_cpp::kVerbosityValue);
    out.make_view = [program = *setup.plan.view] { return std::make_unique<View>(program); };
  }
  return out;
}

/// With findings on record, and the command's own code when it failed.
ExitCode finish(const Setup& setup, const GuardJudge& judge, os::Relay& relay,
                const GuardEnding& ending, const std::vector<std::string>& command,
                bool keep_failed) {
  std::string text = setup.options.quiet ? "" : summary_lines(judge, ending);
  if (!setup.options.keep_logs.empty()) {
    const Result<> kept = os::write_file_atomic(setup.options.keep_logs + "/guard.json",
                                                guard_json(judge, ending, command) + "\n");
    if (!kept) text += fmt::format("picchio: error: {}\n", plain(kept.error().message));
    if (keep_failed) text += "picchio: error: not all of its stderr could be kept\n";
  }
  ExitCode code = code_of(ending.exit_code);
  if (setup.expectation && ending.exit_code == 0) {
    const Gate gate = check_gate(*setup.expectation, judge.findings(), judge.incomplete());
    code = gate.code;
    if (code != ExitCode::ok) {
      text += fmt::format("picchio: --expect {} does not hold{}{}\n", plain(setup.options.expect),
                          gate.why.empty() ? "" : ": ", gate.why);
    }
  }
  relay.speak_at_end(text);
  return code;
}

ExitCode run_guarded(Setup setup, const std::vector<std::string>& command) {
  auto started = os::Relay::start(relay_options(setup, command));
  if (!started) {
    print_error(started.error());
    return code_of(started.error().kind == ErrorKind::not_found ? kNoSuchCommand : kCannotRun);
  }
  os::Relay& relay = *started;
  const bool colour = stderr_wants_colour();
  Notices notices(setup.options.notify, relay.pid());
  GuardScene scene = scene_of(command);
  std::unique_ptr<GuardMeters> meters;
  if (!setup.options.no_telemetry) {
    meters = std::make_unique<GuardMeters>(relay.pid(), command.front(), scene.machine);
  }
  GuardWatch watch(
      {.pid = relay.pid(), .scene = std::move(scene), .found = [&](const GuardFinding& finding) {
         if (!setup.options.quiet || is_bad(finding)) {
           relay.say(finding_line(finding, colour));
         }
         notices.send(finding);
       }});
  const os::RelayEnd end = relay.run({.copy = [&](std::string_view bytes) { watch.copy(bytes); }});
  GuardEnding ending{.command = command.front(),
                     .exit_code = end.exit_code,
                     .wall = watch.now(),
                     .quiet_log = setup.plan.why_not,
                     .engine_elsewhere = runs_elsewhere(command.front()),
                     .meters = {},
                     .left_behind = end.left_behind};
  watch.finish();
  if (meters) ending.meters = meters->stop(watch.judge().engine_seen());
  return finish(setup, watch.judge(), relay, ending, command, end.keep_failed);
}

}  // namespace

ExitCode guard(const Arguments& arguments) {
  GuardOptions options;
  CLI::App app(kText, "picchio guard");
  add_options(app, options);
  app.footer(
      std::string(kDetails) +
      examples({"picchio guard -- llama-server -m model.gguf",
                "picchio guard --expect gpu -- llama-completion -m model.gguf -p Hello -n 64",
                "picchio guard --notify 'notify-send \"$PICCHIO_STATE\"' -- ollama serve"}));
  if (const auto code = parse_options(app, arguments.words)) return *code;
  auto setup = prepare(std::move(options), arguments.rest);
  if (!setup) {
    print_error(setup.error());
    return ExitCode::could_not_run;
  }
  return run_guarded(*std::move(setup), arguments.rest);
}

}  // namespace picchio
