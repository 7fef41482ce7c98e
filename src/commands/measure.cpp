#include "commands/measure.h"

#include "base/text.h"
#include "commands/meter_recorder.h"
#include "commands/ram_speed.h"
#include "commands/surroundings.h"
#include "commands/this_machine.h"
#include "engines/llama_cpp/failure.h"
#include "engines/llama_cpp/invocation.h"
#include "engines/llama_cpp/prompt.h"
#include "engines/log_reader.h"
#include "machine/metered_gpus.h"
#include "machine/process_facts.h"
#include "os/file.h"
#include "os/proc.h"
#include "os/process.h"
#include "version.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <thread>
#include <vector>

namespace picchio {
namespace {

using llama_cpp::Prompting;

// A full run of mp1 writes about a thousand lines; a chat that never ends fills this in minutes.
constexpr std::int64_t kMostOutputBytes = std::int64_t{32} << 20;
// The phases' ends have samples of their own; between them a look at /proc is only a step of a
// straight line, and on a machine whose cores are all computing each look takes time from the
// engine.
constexpr Micros kTick{250'000};

// Everything that is watched about one running pass. Lives as long as run_captured.
class PassWatch {
 public:
  PassWatch(RawPass& pass, Progress& progress, MeterRecorder& meters,
            const std::vector<std::string>& user_args)
      : pass_(pass), progress_(progress), meters_(meters), user_args_(user_args) {}

  os::CaptureEvents events() {
    return {.started = [this](int pid) { on_start(pid); },
            .tick = [this](Micros now) { on_tick(now); },
            .stderr_line = {},
            .stdout_data = [this](std::string_view, Micros now) { on_token(now); }};
  }

 private:
  void on_start(int pid) {
    pid_ = pid;
    meters_.follow(pid);
  }

  void on_tick(Micros now) {
    sample_cpu(now);
    progress_.tick(now);
  }

  void on_token(Micros now) {
    if (token_seen_) return;
    token_seen_ = true;
    // The end of prefill: without a sample right here the two phases could not be told apart.
    sample_cpu(now);
    progress_.token_arrived();
    // By now every backend and driver that will be used is mapped.
    pass_.process = read_process_facts("/", pid_);
    pass_.process.workers = local_workers("/", user_args_);
  }

  void sample_cpu(Micros now) {
    if (const auto used = os::cpu_seconds_of_tree("/", pid_)) pass_.cpu.push_back({now, *used});
  }

  RawPass& pass_;
  Progress& progress_;
  MeterRecorder& meters_;
  const std::vector<std::string>& user_args_;
  int pid_ = 0;
  bool token_seen_ = false;
};

Result<Prompting> prompting_of(const MeasureRequest& request) {
  if (request.prompting) return *request.prompting;
  Prompting out;
  const auto asked = llama_cpp::context_of(request.user_args);
  if (asked) out.context = *asked;
  const auto trained = request.model.context_length;
  if (out.context == 0) out.context = trained.value_or(llama_cpp::kContext);
  std::string_view limit = "the context asked for";
  std::int64_t room = out.context;
  if (trained && *trained < room) {
    room = *trained;
    limit = "the model's training context";
  }
  out.paragraphs = llama_cpp::paragraphs_that_fit(room);
  if (out.paragraphs == 0) {
    return with_hint(fail(ErrorKind::unsupported,
                          "{} of {} tokens is too small for protocol mp1, which generates {}",
                          limit, room, llama_cpp::kGenerate),
                     "give at least -- -c 512");
  }
  if (out.paragraphs < llama_cpp::kParagraphs) {
    out.note = fmt::format("prompt shortened to {} of {} parts to fit {} ({})", out.paragraphs,
                           llama_cpp::kParagraphs, limit, room);
  }
  // Without a user's own -c the engine gets no more than the model was trained with.
  if (!asked && trained) out.context = std::min(out.context, *trained);
  return out;
}

Error interrupted_error() {
  return {ErrorKind::interrupted, "interrupted; the engine was stopped", ""};
}

Result<> check_end(const MeasureRequest& request, const os::Capture& capture) {
  const std::string& name = request.engine.program.name;
  switch (capture.end) {
    case os::End::interrupted:
      return std::unexpected(interrupted_error());
    case os::End::deadline:
      return with_hint(
          fail(ErrorKind::timed_out, "{} was stopped after {:.0f} s: it had not finished", name,
               seconds(request.timeout)),
          "give more time with --timeout SECONDS, or a smaller model");
    case os::End::output_cap:
      return with_hint(
          fail(ErrorKind::failed,
               "{} was stopped after {} of output: it would have gone on forever", name,
               format_bytes(kMostOutputBytes)),
          "an interactive program? name llama-completion of the same build with --bin PATH");
    case os::End::exited:
    case os::End::signalled:
      break;
  }
  if (capture.exit_code != 0) {
    return std::unexpected(llama_cpp::failure_of(name, capture.exit_code, capture.stderr_text));
  }
  return {};
}

void take_over(RawPass& pass, os::Capture capture) {
  pass.log = std::move(capture.stderr_text);
  pass.line_stamps = std::move(capture.line_stamps);
  pass.stdout_bytes = capture.stdout_bytes;
  pass.stdout_reads = capture.stdout_reads;
  pass.first_token = capture.first_byte;
  pass.last_token = capture.last_byte;
  pass.wall = capture.wall;
  pass.exit_code = capture.exit_code;
  if (capture.cpu_seconds) pass.cpu.push_back({capture.wall, *capture.cpu_seconds});
}

struct FinishedPass {
  RawPass pass;
  Result<> end;  // why the engine's end was a failure
};

// Runs single passes, each with a prompt of its own, and again when the engine lost the end of its
// log.
class PassRunner {
 public:
  PassRunner(const MeasureRequest& request, const Prompting& prompting, std::uint32_t run_id,
             os::Interrupts& interrupts, Progress& progress, MeterRecorder& meters)
      : request_(request),
        prompting_(prompting),
        run_id_(run_id),
        interrupts_(interrupts),
        progress_(progress),
        meters_(meters) {}

  /// Without the looks at tries that do not count. What lies before the first pass is the idle
  /// baseline: a GPU at work for a lost try is not idle, and what began meanwhile was no part of
  /// it.
  [[nodiscard]] Telemetry counted(Telemetry recorded) const {
    for (const Span& span : cut_tries_) {
      const auto inside = [&](const auto& look) {
        return look.at >= span.begin && look.at <= span.end;
      };
      std::erase_if(recorded.samples, inside);
      std::erase_if(recorded.processes, inside);
    }
    return recorded;
  }

  Result<FinishedPass> run(int number) {
    Micros tries{};
    for (int repeats = 0;; ++repeats) {
      Result<FinishedPass> finished = run_once(number, repeats);
      if (!finished) return finished;
      const RawPass& pass = finished->pass;
      const bool stopped_by_us = !finished->end && finished->end.error().kind != ErrorKind::failed;
      if (stopped_by_us || !llama_cpp::log_may_be_cut(pass.exit_code, pass.log)) {
        says_rates_ = says_rates_ || pass.exit_code == 0;
        return finished;
      }
      // A program that never printed rates is not asked four times on every pass.
      if (number > 1 && !says_rates_) return finished;
      tries += pass.wall;
      const bool cheap = tries < kCheapTries && repeats < kMostCheapRepeats;
      if (repeats >= kMostRepeats && !cheap) return finished;
      progress_.note(
          fmt::format("pass {}: the engine ended before its log did; measuring it again", number));
      const Micros lost = number == 1 ? Micros{} : pass.began.value_or(Micros{});
      cut_tries_.push_back({lost, meters_.now()});
      if (number == 1 && !watch_idle_gpus(interrupts_, meters_, progress_)) {
        return std::unexpected(interrupted_error());
      }
    }
  }

 private:
  struct Span {
    Micros begin{};  // on the recording's clock
    Micros end{};
  };

  // Half of the logs were cut where every core was busy: one in sixteen passes is then still lost.
  // A pass of a second is tried on as long as that costs nobody anything.
  static constexpr int kMostRepeats = 3;
  static constexpr int kMostCheapRepeats = 11;
  static constexpr Micros kCheapTries = std::chrono::seconds(20);

  Result<FinishedPass> run_once(int number, int repeats) {
    RawPass pass;
    pass.repeats = repeats;
    pass.prompt_prefix =
        llama_cpp::prompt_prefix(run_id_ + static_cast<std::uint32_t>(repeats), number);
    const std::string prompt = llama_cpp::prompt_text(pass.prompt_prefix, prompting_);
    pass.argv = llama_cpp::command_line(request_.engine.program.path, request_.engine.abilities,
                                        {.model_path = request_.model.path,
                                         .prompt = prompt,
                                         .context = prompting_.context,
                                         .generate = prompting_.generate,
                                         .seed = llama_cpp::kSeed,
                                         .user_args = request_.user_args});
    if (const Result<> dropped = drop_cache(number, pass); !dropped) {
      return std::unexpected(dropped.error());
    }
    pass.cached_fraction = cached_share(request_.model);
    PassWatch watch(pass, progress_, meters_, request_.user_args);
    pass.began = meters_.now();
    Result<os::Capture> capture = os::run_captured(
        {.argv = pass.argv,
         .set_env = llama_cpp::set_environment(),
         .unset_env = llama_cpp::unset_environment(),
         .stdin_text = llama_cpp::prompt_on_stdin(prompt) ? prompt : ""},
        {.max_output_bytes = kMostOutputBytes, .deadline = request_.timeout, .tick = kTick},
        watch.events(), interrupts_);
    meters_.follow(0);
    if (!capture) return std::unexpected(capture.error());
    Result<> end = check_end(request_, *capture);
    take_over(pass, *std::move(capture));
    return FinishedPass{std::move(pass), std::move(end)};
  }

  Result<> drop_cache(int number, RawPass& pass) const {
    if (number != 1 || !request_.drop_cache) return {};
    for (const std::string& shard : request_.model.shards) {
      if (Result<> dropped = os::drop_cache(shard); !dropped) return dropped;
    }
    pass.cache_dropped = true;
    return {};
  }

  const MeasureRequest& request_;
  const Prompting& prompting_;
  std::uint32_t run_id_;
  os::Interrupts& interrupts_;
  Progress& progress_;
  MeterRecorder& meters_;
  bool says_rates_ = false;  // some pass of this run had rates
  std::vector<Span> cut_tries_;
};

std::string summary_of(const RawPass& pass) {
  const EngineLog log = read_engine_log(pass.log);
  const EngineTimings timings = log.timings.empty() ? EngineTimings{} : log.timings.back();
  std::string out;
  if (timings.prefill_tokens_per_second) {
    out += fmt::format("prefill {:.1f}, ", *timings.prefill_tokens_per_second);
  }
  if (timings.decode_tokens_per_second) {
    out += fmt::format("decode {:.1f} tok/s, ", *timings.decode_tokens_per_second);
  }
  return out + fmt::format("{:.1f} s in all", seconds(pass.wall));
}

}  // namespace

Result<RawRun> measure(const MeasureRequest& request, os::Interrupts& interrupts,
                       Progress& progress, const PassSink& sink) {
  const Result<Prompting> prompting = prompting_of(request);
  if (!prompting) return std::unexpected(prompting.error());
  if (!prompting->note.empty()) progress.note(prompting->note);

  RawRun run;
  run.picchio_version = kVersion;
  run.protocol = prompting->protocol;
  run.engine = request.engine.program;
  run.machine = this_machine();
  if (!learn_ram_speed(run.machine, interrupts, progress)) {
    return std::unexpected(interrupted_error());
  }
  run.model = request.model;
  run.user_args = request.user_args;
  run.environment = placement_environment(os::environment());
  run.context_asked = prompting->context;
  run.tokens_asked = prompting->generate;
  run.prompt_note = prompting->note;

  MeterRecorder meters(request.meter_hz, interrupts);
  add_metered_gpus(run.machine, meters.gpus());
  if (!watch_idle_gpus(interrupts, meters, progress)) return std::unexpected(interrupted_error());
  const auto run_id = static_cast<std::uint32_t>(std::random_device{}());
  PassRunner runner(request, *prompting, run_id, interrupts, progress, meters);
  for (int number = 1; number <= request.passes; ++number) {
    progress.begin_pass(number, request.passes);
    Result<FinishedPass> finished = runner.run(number);
    if (!finished) return std::unexpected(finished.error());
    run.passes.push_back(std::move(finished->pass));
    run.telemetry = runner.counted(number == request.passes ? meters.stop() : meters.so_far());
    const Result<> kept = sink(run, run.passes.size() - 1);
    if (!finished->end) return std::unexpected(finished->end.error());
    if (!kept) return std::unexpected(kept.error());
    progress.end_pass(summary_of(run.passes.back()));
  }
  return run;
}

}  // namespace picchio
