#include "verdict/monitor.h"

#include "base/text.h"
#include "commands/command.h"
#include "commands/diagnose_server.h"
#include "commands/http_client.h"
#include "commands/measure.h"
#include "commands/monitor/metrics.h"
#include "commands/monitor/output.h"
#include "commands/monitor/probe.h"
#include "commands/options.h"
#include "commands/output.h"
#include "commands/terminal.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/remote_name.h"
#include "os/terminal_input.h"
#include "verdict/residency.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace picchio {
namespace {

constexpr const char* kText =
    "Asks a running server for a small completion again and again, and says when it falls off the\n"
    "GPU: by its log, its processes and the meters where it is on this machine, and always "
    "against\n"
    "its own rates.";

constexpr const char* kDetails =
    "A probe is the prompt of 'picchio URL' (some 760 tokens, 128 generated; with --light 110 and\n"
    "32). It takes one slot; probes come never so close together that they take more than a "
    "quarter\n"
    "of one. A server that is at work for others is not asked. A probe keeps an ollama model "
    "loaded.\n"
    "It goes on until Ctrl-C, SIGTERM, or --for; then a summary. SIGHUP reopens the kept log.\n\n"
    "Exit codes: 0 no fall was seen; 4 it fell to the CPU, or its rates did; 3 partial offload;\n"
    "  5 conflicting evidence; 2 it answered no probe, or does not answer any more;\n"
    "  7 with --strict: nothing tells where it runs\n\n";

constexpr double kLongest = 3660.0 * 24 * 3600;
// Of one slot's time. Whoever wants it closer has a load test, and no monitor.
constexpr int kMostShare = 4;
constexpr int kDefaultTimeoutSeconds = 120;

struct MonitorOptions {
  std::string target;
  std::string model;
  std::string api_key;
  double every = 30;
  double seconds = 0;  // 0: until somebody ends it
  std::int64_t probes = 0;
  int timeout_seconds = kDefaultTimeoutSeconds;
  bool light = false;
  bool passive = false;
  bool residency = false;
  bool no_telemetry = false;
  bool strict = false;
  double hz = kMeterHz;
  std::string metrics;
  MonitorOutputOptions output;
};

void add_options(CLI::App& app, MonitorOptions& options) {
  app.add_option("TARGET", options.target,
                 "the address of a running server, or a model of ollama's");
  app.add_option("--every", options.every, "seconds from probe to probe (30)")
      ->check(number_between(0.1, 24.0 * 3600));
  app.add_option("--for", options.seconds, "seconds to watch (until Ctrl-C or SIGTERM)")
      ->check(number_between(0.1, kLongest));
  app.add_option("--probes", options.probes, "end after so many probes")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000}));
  app.add_flag("--light", options.light, "a short prompt and 32 tokens; says less of prefill");
  app.add_flag("--passive", options.passive,
               "ask the model nothing: read /metrics of llama-server, vLLM or SGLang");
  app.add_flag("--residency", options.residency,
               "follow the memory of the process that computes, against the weights");
  app.add_option("--model", options.model, "which of a server's models");
  app.add_option("--api-key", options.api_key, "what opens the server; else PICCHIO_API_KEY");
  app.add_option("--timeout", options.timeout_seconds, "seconds that one probe may take (120)")
      ->check(CLI::Range(1, 24 * 3600));
  app.add_option("--metrics", options.metrics,
                 "serve figures for Prometheus at [HOST:]PORT, of this machine alone unless HOST "
                 "says otherwise");
  app.add_option("--keep-logs", options.output.keep_logs,
                 "append every probe and change to monitor.jsonl here, and keep the run of each "
                 "fall for 'picchio replay'");
  app.add_flag("--json", options.output.json, "JSON lines on stdout, text on stderr");
  add_row_format(app, options.output.rows);
  app.add_flag("--quiet", options.output.quiet, "print changes and the summary only");
  app.add_flag("--no-telemetry", options.no_telemetry, "do not look at the GPU meters");
  app.add_option("--hz", options.hz, "looks at the GPU meters in a second (10)")
      ->check(number_between(0.5, 100));
  app.add_flag("--strict", options.strict, "exit 7 also when nothing tells where it runs");
}

/// Between the first probe and the last.
class MonitorLoop {
 public:
  MonitorLoop(const MonitorOptions& options, Prober& prober, os::Interrupts& interrupts,
              MonitorOutput& output, MonitorMetrics* metrics, MonitorStatus start)
      : options_(options),
        prober_(prober),
        interrupts_(interrupts),
        output_(output),
        metrics_(metrics),
        judge_(std::move(start)) {}

  /// Until something ends it. An error: what is found cannot be written.
  [[nodiscard]] Result<> run() {
    for (std::int64_t number = 1;; ++number) {
      const Result<Probe> made = prober_.probe(number, now());
      if (!made) return {};
      const Probe& probe = *made;
      if (const auto& memory = probe.residency) {
        residency_.add({probe.since, memory->resident, probe.decode});
      }
      const std::vector<MonitorEvent> events = judge_.add(probe);
      if (metrics_ != nullptr) metrics_->publish(probe, judge_.status());
      const Result<> told = output_.tell(probe, events, judge_.status(), prober_.judged());
      if (!told) return told;
      if (number == 1) state_cost(probe);
      if (options_.probes > 0 && number >= options_.probes) return {};
      if (!rest(probe)) return {};
    }
  }

  [[nodiscard]] const MonitorStatus& status() const { return judge_.status(); }

  /// Absent: it was not asked for.
  [[nodiscard]] std::optional<ResidencyReport> residency() const {
    if (!options_.residency) return std::nullopt;
    return judge_residency(residency_, prober_.weight_bytes());
  }

 private:
  [[nodiscard]] Micros now() const { return os::monotonic_now() - began_; }

  void state_cost(const Probe& probe) {
    if (probe.length == Micros{}) return;
    const double share = 100 * seconds(probe.length) / std::max(options_.every, 0.1);
    output_.note(fmt::format(
        "a probe took {:.1f} s of one slot ({} prompt and {} generated tokens); one every {:g} s "
        "is {:.1f}% of its time{}",
        seconds(probe.length), probe.prompt_tokens.value_or(0), probe.generated_tokens.value_or(0),
        options_.every, share, share > 100.0 / kMostShare ? ", so they come further apart" : ""));
  }

  /// Until the next probe is due; false: it is over.
  [[nodiscard]] bool rest(const Probe& probe) {
    const Micros every = micros(options_.every);
    // On a grid, so that the probes of an hour are as many as they should be.
    next_ = std::max(next_ + every, now() + (kMostShare - 1) * probe.length);
    if (now() > next_) next_ = now();
    const Micros end = options_.seconds > 0 ? micros(options_.seconds) : Micros::max();
    for (;;) {
      const Micros at = now();
      if (at >= end) return false;
      if (at >= next_) return true;
      (void)os::wait_for_input(interrupts_.hangup_fd(), interrupts_.fd(),
                               std::min(next_, end) - at);
      if (interrupts_.take_hangup()) output_.reopen();
      if (interrupts_.caught()) return false;
    }
  }

  const MonitorOptions& options_;
  Prober& prober_;
  os::Interrupts& interrupts_;
  MonitorOutput& output_;
  MonitorMetrics* metrics_;  // null: --metrics was not given
  MonitorJudge judge_;
  ResidencySeries residency_;
  Micros began_ = os::monotonic_now();
  Micros next_{};
};

Result<ProbeOptions> probe_options(const MonitorOptions& options) {
  const Result<Target> target = resolve_target(options.target);
  if (!target) return std::unexpected(target.error());
  if (target->kind == TargetKind::file) {
    return with_hint(fail(ErrorKind::unsupported,
                          "'{}' is a file, and only a running server can "
                          "be monitored",
                          fit(plain(options.target), 80)),
                     "measure a file: picchio FILE");
  }
  if (target->kind == TargetKind::ollama && !options.model.empty()) {
    return fail(ErrorKind::unsupported, "--model is for a server's address; '{}' names the model",
                fit(plain(options.target), 80));
  }
  ProbeOptions out;
  out.target = *target;
  out.model = options.model;
  out.api_key = api_key_or_environment(options.api_key);
  out.timeout = std::chrono::seconds(options.timeout_seconds);
  out.light = options.light;
  out.passive = options.passive;
  out.residency = options.residency;
  if (!options.no_telemetry) out.meter_hz = options.hz;
  return out;
}

/// Null: not asked for.
Result<std::unique_ptr<MonitorMetrics>> serve_metrics(const std::string& where) {
  if (where.empty()) return nullptr;
  const Result<ListenAddress> address = parse_listen_address(where);
  if (!address) return std::unexpected(address.error());
  return MonitorMetrics::serve(*address);
}

ExitCode run_monitor(const MonitorOptions& options) {
  Result<ProbeOptions> probing = probe_options(options);
  if (!probing) return fail_with(probing.error());
  Result<os::Interrupts> interrupts = os::Interrupts::install(os::Interrupts::Hangup::is_told);
  if (!interrupts) return fail_with(interrupts.error());
  Result<MonitorOutput> output = MonitorOutput::open(options.output);
  if (!output) return fail_with(output.error());
  Result<std::unique_ptr<MonitorMetrics>> metrics = serve_metrics(options.metrics);
  if (!metrics) return fail_with(metrics.error());
  Result<os::HttpClient> client = open_http_client(*interrupts);
  if (!client) return fail_with(client.error());
  Result<Prober> prober = Prober::open(*std::move(probing), *client, *interrupts);
  if (!prober) return fail_with(prober.error());
  MonitorStatus start;
  start.target = os::without_secrets(options.target);
  start.kind = prober->detected().kind;
  start.server_version = prober->detected().version;
  if (*metrics) output->note(fmt::format("metrics at http://{}/metrics", (*metrics)->address()));
  MonitorLoop loop(options, *prober, *interrupts, *output, metrics->get(), std::move(start));
  const Result<> ran = loop.run();
  if (!ran) return after_printing(ran, ExitCode::could_not_run);
  const ExitCode code = exit_code_of(loop.status(), options.strict);
  const MonitorEnding ending{verdict_of(loop.status()), code, loop.residency()};
  return after_printing(output->finish(loop.status(), ending), code);
}

}  // namespace

ExitCode monitor(const Arguments& arguments) {
  MonitorOptions options;
  CLI::App app(kText, "picchio monitor");
  add_options(app, options);
  app.footer(std::string(kDetails) +
             examples({"picchio monitor http://127.0.0.1:8080",
                       "picchio monitor qwen3:8b --every 300 --light --quiet",
                       "picchio monitor :8080 --for 3600 --json > hour.jsonl",
                       "picchio monitor :8080 --passive --every 60",
                       "picchio monitor :8080 --metrics 9464 --quiet",
                       "picchio monitor :8080 --probes 20 || echo it fell"}));
  if (const auto code = parse_options(app, arguments.words)) return *code;
  if (options.target.empty()) {
    return fail_with({ErrorKind::unsupported, "no server given",
                      "picchio monitor http://127.0.0.1:8080, or a model of ollama's"});
  }
  if (arguments.has_rest) {
    return fail_with({ErrorKind::unsupported,
                      "arguments behind '--' are an engine's that picchio starts",
                      "this one is running already: give them where it is started"});
  }
  if (options.output.json && options.output.rows) {
    return fail_with(
        {ErrorKind::unsupported, "--json and -o are two products for one standard output", ""});
  }
  return run_monitor(options);
}

}  // namespace picchio
