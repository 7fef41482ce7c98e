#include "base/text.h"
#include "commands/command.h"
#include "commands/diagnose_server.h"
#include "commands/engine_probe.h"
#include "commands/http_client.h"
#include "commands/keep_folder.h"
#include "commands/measure.h"
#include "commands/model_choice.h"
#include "commands/open_model.h"
#include "commands/options.h"
#include "commands/output.h"
#include "commands/read_run.h"
#include "commands/remember_run.h"
#include "commands/sweep/engine_subject.h"
#include "commands/sweep/server_subject.h"
#include "commands/sweep/sweep.h"
#include "commands/sweep/tiers.h"
#include "commands/target.h"
#include "commands/terminal.h"
#include "engines/llama_cpp/invocation.h"
#include "engines/llama_cpp/prompt.h"
#include "kept/folder.h"
#include "os/file.h"
#include "report/history.h"

#include <fmt/format.h>

#include <utility>

namespace picchio {
namespace {

constexpr int kDefaultTimeoutSeconds = 1800;
constexpr int kMostPasses = 50;
// A driver's own figures move at most this often; below one look in two seconds a pass has none.
constexpr double kMostHz = 100;
constexpr double kFewestHz = 0.5;

struct DiagnoseOptions {
  std::string model;
  std::string program;
  std::string served_model;
  std::string api_key;
  int passes = llama_cpp::kPasses;
  int timeout_seconds = kDefaultTimeoutSeconds;
  std::string keep_logs;
  bool drop_cache = false;
  bool no_telemetry = false;
  bool no_history = false;
  std::string ctx_sweep;  // sizes as given
  bool resume = false;
  bool try_all = false;
  double hz = kMeterHz;
  OutputOptions output;
};

std::string command_table() {
  std::string out = "Commands:";
  for (const Command& command : commands()) {
    out += fmt::format("\n  {:<12} {}", command.name, command.help);
  }
  out += fmt::format("\n  {:<12} {}", "--selftest", "judge the kept examples again and compare");
  out += fmt::format("\n  {:<12} {}\n\n", "--version", "version, commit, compiler, protocol");
  return out;
}

constexpr std::string_view kExitCodes =
    "Exit codes: 0 healthy, CPU-only machine or no placement evidence; 2 could not run;\n"
    "  3 partial offload; 4 silent CPU fallback; 5 conflicting evidence; 7 no timing evidence;\n"
    "  130 interrupted\n\n";

void add_options(CLI::App& app, DiagnoseOptions& options) {
  app.add_option("MODEL", options.model,
                 "a GGUF model file (of a split model the first part), a model of ollama's, or "
                 "the address of a running server");
  app.add_option("--model", options.served_model, "which of a server's models");
  app.add_option("--api-key", options.api_key, "what opens the server; else PICCHIO_API_KEY");
  app.add_option("--bin", options.program,
                 "the llama.cpp program to run (llama-completion, else llama-cli, on PATH)");
  app.add_option("--passes", options.passes, "passes; the first one is the cold one (3)")
      ->check(CLI::Range(1, kMostPasses));
  app.add_option("--timeout", options.timeout_seconds, "seconds that one pass may take (1800)")
      ->check(CLI::Range(1, 7 * 24 * 3600));
  app.add_option("--keep-logs", options.keep_logs, "keep each pass here, for 'picchio replay'");
  app.add_flag("--drop-cache", options.drop_cache,
               "have the system forget the file first, so that the cold pass reads the disk");
  app.add_flag("--no-telemetry", options.no_telemetry, "do not look at the GPU meters");
  app.add_flag("--no-history", options.no_history, "do not remember this run; see picchio history");
  app.add_option("--hz", options.hz, "looks at the GPU meters in a second (10)")
      ->check(number_between(kFewestHz, kMostHz));
  app.add_option("--ctx-sweep", options.ctx_sweep,
                 "measure at several context sizes, each filled by its prompt (4096,16k,32k)")
      ->type_name("TIERS")
      ->expected(0, 1);
  app.add_flag("--resume", options.resume,
               "with --ctx-sweep: take what was measured in the last day from the history");
  app.add_flag("--try-all", options.try_all,
               "with --ctx-sweep: measure also what 'picchio plan' says does not go in");
  app.add_flag("--json", options.output.json, "JSON on stdout, the block on stderr");
  add_row_format(app, options.output.rows);
  app.add_flag("--explain", options.output.explain, "add what each witness said and the rule");
  app.add_flag("--strict", options.output.strict, "exit 7 also when nothing tells where it ran");
}

Result<MeasureRequest> request_of(const DiagnoseOptions& options, const Arguments& arguments,
                                  os::Interrupts& interrupts) {
  MeasureRequest request;
  if (const Result<> ok = llama_cpp::check_user_args(arguments.rest); !ok) {
    return std::unexpected(ok.error());
  }
  Result<ModelFile> model = open_model(options.model);
  if (!model) return std::unexpected(model.error());
  request.model = *std::move(model);
  if (const Result<> ok = prepare_keep_folder(options.keep_logs); !ok) {
    return std::unexpected(ok.error());
  }
  Result<ProbedEngine> engine = find_engine(options.program, interrupts);
  if (!engine) return std::unexpected(engine.error());
  request.engine = *std::move(engine);
  request.user_args = arguments.rest;
  request.passes = options.passes;
  request.timeout = std::chrono::seconds(options.timeout_seconds);
  request.drop_cache = options.drop_cache;
  if (options.no_telemetry) request.meter_hz.reset();
  if (!options.no_telemetry) request.meter_hz = options.hz;
  return request;
}

/// Flags and arguments that mean an engine of our own.
Result<> check_for_server(const DiagnoseOptions& options, const Arguments& arguments) {
  if (arguments.has_rest) {
    return with_hint(
        fail(ErrorKind::unsupported, "arguments behind '--' are an engine's that picchio starts"),
        "this one is running already: give them where it is started");
  }
  if (!options.program.empty()) {
    return fail(ErrorKind::unsupported, "--bin names a program to start, but this is a server");
  }
  if (options.drop_cache) {
    return fail(ErrorKind::unsupported,
                "--drop-cache is for an engine that picchio starts, but this is a server");
  }
  return prepare_keep_folder(options.keep_logs);
}

ServerOptions server_options(const DiagnoseOptions& options) {
  ServerOptions out;
  out.model = options.served_model;
  out.api_key = api_key_or_environment(options.api_key);
  out.passes = options.passes;
  out.timeout = std::chrono::seconds(options.timeout_seconds);
  if (!options.no_telemetry) out.meter_hz = options.hz;
  return out;
}

Result<> check_for_file(const DiagnoseOptions& options) {
  if (options.served_model.empty() && options.api_key.empty()) return {};
  return fail(ErrorKind::unsupported, "--model and --api-key are for servers, but '{}' is a file",
              fit(plain(options.model), 80));
}

Result<RawRun> measure_target(const Target& target, const DiagnoseOptions& options,
                              const Arguments& arguments, os::Interrupts& interrupts,
                              Progress& progress, const PassSink& sink) {
  if (target.kind != TargetKind::file) {
    if (const Result<> ok = check_for_server(options, arguments); !ok) {
      return std::unexpected(ok.error());
    }
    return diagnose_server(target, server_options(options), interrupts, progress, sink);
  }
  if (const Result<> ok = check_for_file(options); !ok) return std::unexpected(ok.error());
  const Result<MeasureRequest> request = request_of(options, arguments, interrupts);
  if (!request) return std::unexpected(request.error());
  return measure(*request, interrupts, progress, sink);
}

bool remembers(const DiagnoseOptions& options) {
  return !options.no_history && os::env("PICCHIO_NO_HISTORY").value_or("").empty();
}

/// What the history holds this run as, and how it lies among the earlier ones.
std::optional<Drift> remember(const RecordedRun& run, const DiagnoseOptions& options,
                              Progress& progress) {
  if (!remembers(options)) return std::nullopt;
  return remember_run(run, progress);
}

Result<SweepWish> sweep_wish(const DiagnoseOptions& options, const CLI::App& app,
                             const Arguments& arguments) {
  SweepWish out;
  if (!options.ctx_sweep.empty()) {
    Result<std::vector<std::int64_t>> tiers = read_tiers(options.ctx_sweep);
    if (!tiers) return std::unexpected(tiers.error());
    out.tiers = *std::move(tiers);
  }
  if (llama_cpp::context_of(arguments.rest)) {
    return with_hint(
        fail(ErrorKind::unsupported, "-c behind '--' and --ctx-sweep both say the context"),
        "give the sizes to --ctx-sweep");
  }
  if (options.drop_cache) {
    return fail(ErrorKind::unsupported,
                "--drop-cache is for a cold start, which no sweep measures");
  }
  if (options.resume && !remembers(options)) {
    return fail(ErrorKind::unsupported, "--resume needs the history, which is switched off");
  }
  if (app.count("--passes") > 0) out.passes = options.passes;
  if (app.count("--timeout") > 0) out.timeout = std::chrono::seconds(options.timeout_seconds);
  out.resume = options.resume;
  out.try_all = options.try_all;
  out.remember = remembers(options);
  out.keep_logs = options.keep_logs;
  out.output = options.output;
  return out;
}

ExitCode sweep_file(const DiagnoseOptions& options, const Arguments& arguments,
                    const SweepWish& wish, os::Interrupts& interrupts, Progress& progress) {
  if (const Result<> ok = check_for_file(options); !ok) return fail_with(ok.error());
  Result<MeasureRequest> request = request_of(options, arguments, interrupts);
  if (!request) return fail_with(request.error());
  EngineSubject subject(*std::move(request), interrupts, progress);
  return sweep_contexts(subject, wish, progress);
}

ExitCode sweep_server(const Target& target, const DiagnoseOptions& options,
                      const Arguments& arguments, const SweepWish& wish, os::Interrupts& interrupts,
                      Progress& progress) {
  if (const Result<> ok = check_for_server(options, arguments); !ok) return fail_with(ok.error());
  Result<os::HttpClient> client = open_http_client(interrupts);
  if (!client) return fail_with(client.error());
  Result<ServerRequest> request =
      server_request(target, server_options(options), *client, progress);
  if (!request) return fail_with(with_address_hint(request.error(), target));
  const auto subject = ServerSubject::open(*std::move(request), *client, interrupts, progress);
  if (!subject) return fail_with(with_address_hint(subject.error(), target));
  return sweep_contexts(**subject, wish, progress);
}

ExitCode sweep_target(const Target& target, const DiagnoseOptions& options, const CLI::App& app,
                      const Arguments& arguments, os::Interrupts& interrupts, Progress& progress) {
  const Result<SweepWish> wish = sweep_wish(options, app, arguments);
  if (!wish) return fail_with(wish.error());
  return target.kind == TargetKind::file
             ? sweep_file(options, arguments, *wish, interrupts, progress)
             : sweep_server(target, options, arguments, *wish, interrupts, progress);
}

/// "--ctx-sweep MODEL": the sizes were left out, not the model.
void take_model_from_sizes(DiagnoseOptions& options) {
  const std::string& sizes = options.ctx_sweep;
  if (!options.model.empty() || sizes.empty()) return;
  const bool no_size = !is_digit(sizes.front()) || sizes.find_first_of("./:") != std::string::npos;
  if (no_size) options.model = std::exchange(options.ctx_sweep, "");
}

}  // namespace

ExitCode diagnose(const Arguments& arguments) {
  DiagnoseOptions options;
  CLI::App app(
      "Measures one local LLM run and says where the model really ran, why, and what to change.\n"
      "Without a model those of this machine are offered. "
      "Arguments behind '--' go to the engine untouched.",
      "picchio");
  add_options(app, options);
  app.footer(
      command_table() + std::string(kExitCodes) +
      examples({"picchio model.gguf", "picchio model.gguf -- -ngl 20 -c 8192",
                "picchio model.gguf --passes 5 --json > result.json",
                "picchio model.gguf -o jsonl >> runs.jsonl", "picchio qwen3:8b",
                "picchio http://127.0.0.1:8080", "picchio model.gguf --ctx-sweep 4096,16k,32k"}));
  if (const auto code = parse_options(app, arguments.words)) return *code;
  if (const Result<> ok = check_output(options.output); !ok) return fail_with(ok.error());
  const bool sweeps = app.count("--ctx-sweep") > 0;
  if ((options.resume || options.try_all) && !sweeps) {
    return fail_with({ErrorKind::unsupported, "--resume and --try-all go with --ctx-sweep", ""});
  }
  take_model_from_sizes(options);
  Result<os::Interrupts> interrupts = os::Interrupts::install();
  if (!interrupts) return fail_with(interrupts.error());
  if (options.model.empty()) {
    const auto chosen = choose_model(!options.output.json && !options.output.rows, *interrupts);
    if (!chosen) return chosen.error();
    options.model = *chosen;
  }
  const Result<Target> target = resolve_target(options.model);
  if (!target) return fail_with(target.error());

  Progress progress;
  if (sweeps) return sweep_target(*target, options, app, arguments, *interrupts, progress);
  const PassSink sink = [&](const RawRun& run, std::size_t pass) -> Result<> {
    if (options.keep_logs.empty()) return {};
    if (const Result<> ok = kept::write_run(options.keep_logs, run); !ok) return ok;
    return kept::write_pass(options.keep_logs, run, pass);
  };
  Result<RawRun> raw = measure_target(*target, options, arguments, *interrupts, progress, sink);
  if (!raw) return fail_with(raw.error());
  const Judged judged = judge_recorded(*std::move(raw));
  options.output.measured = recorded_run(judged);
  options.output.drift = remember(*options.output.measured, options, progress);
  options.output.evidence_directory = options.keep_logs;
  const ExitCode code = print_judged(judged, options.output);
  if (options.output.drift && !options.output.drift->outside.empty()) {
    progress.note(drift_line(*options.output.drift));
  }
  return code;
}

}  // namespace picchio
