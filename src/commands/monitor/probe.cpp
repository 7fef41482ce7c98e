#include "commands/monitor/probe.h"

#include "base/text.h"
#include "commands/diagnose_server.h"
#include "commands/ram_speed.h"
#include "machine/metered_gpus.h"
#include "machine/process_facts.h"
#include "machine/process_memory.h"
#include "os/clock.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

namespace picchio {
namespace {

// A prompt of some 110 tokens instead of 760, and a quarter of the generated ones.
constexpr int kLightParagraphs = 1;
constexpr std::int64_t kLightTokens = 32;
// Of the recording before the request, for the idle baseline.
constexpr Micros kIdleSpan{10'000'000};
// Long enough to be told that it loads.
constexpr Micros kLoadingPatience{300'000};
// An llama-server of older builds answers between two batches only.
constexpr Micros kPassivePatience{30'000'000};
// For the question whether anybody is there.
constexpr Micros kKnock{2'000'000};
// ollama counts some milliseconds of loading with every request.
constexpr double kLoadedAnewMs = 1000;

ProbedGpu probed_gpu(const Telemetry& telemetry, std::size_t index, const RawPass& pass,
                     const GpuUse* use) {
  const MeteredGpu& known = telemetry.gpus[index];
  ProbedGpu out;
  out.index = known.index;
  out.name = known.name;
  out.pci = known.address;
  out.memory_total = known.memory_bytes;
  if (use != nullptr) {
    out.busy = use->work.busy_median;
    out.watts = use->work.watts;
    out.joules = use->work.joules;
    out.server_share = use->work.tree_share;
    out.server_memory = use->tree_memory;
    out.throttled = use->throttled_share > 0;
  }
  const Micros begin = pass.began.value_or(Micros{});
  for (const GpuSample& sample : telemetry.samples) {
    if (sample.at < begin || index >= sample.readings.size()) continue;
    const GpuReading& reading = sample.readings[index];
    if (reading.memory_bytes) out.memory_used = reading.memory_bytes;
    if (reading.temperature_celsius) out.celsius = reading.temperature_celsius;
  }
  return out;
}

}  // namespace

Result<Prober> Prober::open(ProbeOptions options, os::HttpClient& client,
                            os::Interrupts& interrupts) {
  Result<servers::DetectedServer> detected = detect_target(options.target, options.api_key, client);
  if (!detected) return std::unexpected(detected.error());
  Prober prober(std::move(options), *std::move(detected), client, interrupts);
  if (!prober.options_.passive) return prober;
  if (const Result<> opened = prober.open_reader(); !opened) {
    return std::unexpected(opened.error());
  }
  // From here on others' requests count.
  const Result<answers::PassiveReading> first = prober.reader_->look();
  if (!first) return std::unexpected(first.error());
  return prober;
}

Prober::Prober(ProbeOptions options, servers::DetectedServer detected, os::HttpClient& client,
               os::Interrupts& interrupts)
    : options_(std::move(options)),
      detected_(std::move(detected)),
      client_(&client),
      interrupts_(&interrupts),
      silent_(std::make_unique<Progress>(false)),
      meters_(std::make_unique<MeterRecorder>(options_.meter_hz, interrupts, true)) {
  if (options_.target.kind == TargetKind::ollama) options_.model = options_.target.word;
}

Result<> Prober::find_server_again() {
  Result<servers::DetectedServer> detected =
      detect_target(options_.target, options_.api_key, *client_);
  if (!detected) return std::unexpected(detected.error());
  detected_ = *std::move(detected);
  lost_ = false;
  return options_.passive ? open_reader() : Result<>();
}

Result<> Prober::open_reader() {
  Result<servers::PassiveReader> reader =
      servers::PassiveReader::open(detected_, *client_, options_.model, kPassivePatience);
  if (!reader) return std::unexpected(reader.error());
  reader_ = *std::move(reader);
  return {};
}

/// An answer of any kind, also a refusal, is one.
bool Prober::answers_at_all() {
  os::HttpRequest request;
  request.url = detected_.endpoint.base_url + "/health";
  request.headers = servers::headers_for(detected_.endpoint);
  request.deadlines = {.connect = kKnock, .first_byte = kKnock, .stall = kKnock, .overall = kKnock};
  return client_->send(request).has_value();
}

Result<Probe> Prober::probe(std::int64_t number, Micros since) {
  Probe probe;
  probe.number = number;
  probe.since = since;
  probe.at = os::wall_clock();
  bool loading = false;
  const auto ends_with = [&](const Error& error) -> Result<Probe> {
    if (error.kind == ErrorKind::interrupted) return std::unexpected(error);
    probe.why = error.message;
    lost_ = !loading;
    probe.end = loading            ? ProbeEnd::loading
                : answers_at_all() ? ProbeEnd::failed
                                   : ProbeEnd::unreachable;
    return probe;
  };
  if (lost_) {
    if (const Result<> found = find_server_again(); !found) return ends_with(found.error());
  }
  // One that is loading is asked again with the next probe.
  const servers::Wait wait{.interrupts = *interrupts_,
                           .note = [&](std::string_view) { loading = true; },
                           .limit = kLoadingPatience};
  Result<ServerScene> scene =
      open_server_scene(detected_, options_.model, wait, *client_, std::nullopt);
  if (!scene) return ends_with(scene.error());
  probe.model = scene->model.shown;
  if (const int engine = scene->processes.engine(); engine > 0) {
    probe.pid = engine;
    if (options_.residency) probe.residency = residency_of("/", engine);
  }
  if (options_.passive) {
    if (const Result<> looked = look(*scene, probe); !looked) return ends_with(looked.error());
    return probe;
  }
  if (std::string busy = scene->server->busy(); !busy.empty()) {
    // A server that fell is busy all the time: where it runs is looked at all the same.
    probe.end = ProbeEnd::busy;
    probe.why = std::move(busy);
    if (scene->place.this_machine) judge_at_rest(*scene, Micros{}, probe);
    return probe;
  }
  if (const Result<> asked = ask(*scene, probe); !asked) return ends_with(asked.error());
  return probe;
}

Result<> Prober::ask(ServerScene& scene, Probe& probe) {
  PassPlan plan{.timeout = options_.timeout, .prompting = scene.prompting};
  if (options_.light) {
    plan.prompting.paragraphs = std::min(plan.prompting.paragraphs, kLightParagraphs);
    plan.prompting.generate = kLightTokens;
    scene.run.tokens_asked = kLightTokens;
    scene.run.protocol = "light";
  }
  ServerPassRunner runner(plan, *scene.server, *client_, *silent_, *meters_, scene.processes);
  Result<RawPass> pass = runner.run(static_cast<int>(probe.number));
  if (!pass) return std::unexpected(pass.error());
  const ServerAnswer& answer = runner.answer();
  if (answer.generated_tokens == 0) {
    return fail(ErrorKind::malformed, "its answer has no token");
  }
  probe.end = ProbeEnd::answered;
  probe.length = pass->wall;
  probe.prompt_tokens = answer.prompt_tokens ? answer.prompt_tokens : answer.evaluated_tokens;
  probe.cached_tokens = answer.cached_tokens;
  probe.generated_tokens = answer.generated_tokens;
  if (answer.first_token) probe.first_token_seconds = seconds(*answer.first_token);
  probe.contended = scene.server->busy();
  // ollama's runner comes with the request.
  if (const int engine = scene.processes.engine(); engine > 0) probe.pid = engine;
  if (options_.residency && probe.pid) probe.residency = residency_of("/", *probe.pid);
  take_log(scene, *pass, probe);
  if (probe.number > 1 && probe.reload.empty() && answer.load_ms.value_or(0) > kLoadedAnewMs) {
    probe.reload = fmt::format("the answer counts {:.1f} s for it", *answer.load_ms / 1000);
  }
  judge(scene, *std::move(pass), probe);
  return {};
}

Result<> Prober::look(ServerScene& scene, Probe& probe) {
  probe.passive = true;
  if (!reader_) return fail(ErrorKind::failed, "its counters are not read");
  if (log_of_engine_ && probe.pid != log_of_engine_) reader_->forget();
  const Result<answers::PassiveReading> reading = reader_->look();
  if (!reading) return std::unexpected(reading.error());
  answers::take_reading(*reading, probe);
  const bool there = probe.end == ProbeEnd::answered || probe.end == ProbeEnd::idle;
  lost_ = probe.end == ProbeEnd::unreachable;
  if (!there) return {};
  if (reading->decode_at_most) {
    probe.decode.reset();
    probe.decode_abstain = "somebody else reads the counters too, so it is known from above only";
  }
  judge_at_rest(scene, reading->interval.value_or(Micros{}), probe);
  return {};
}

/// What its log, its processes and the meters say while nothing of ours is asked.
void Prober::judge_at_rest(ServerScene& scene, Micros since, Probe& probe) {
  RawPass pass;
  pass.wall = since;
  pass.began = meters_->now() - since;
  if (probe.pid) pass.process = read_process_facts("/", *probe.pid);
  take_log(scene, pass, probe);
  judged_ = judge_loaded(run_of(scene, std::move(pass), probe));
  take_verdict(probe);
  // Nothing told is nothing learned.
  if (probe.state == State::no_placement_evidence) probe.state.reset();
}

/// All of the log since the last probe: between two of them a model can be loaded anew, in the same
/// process even.
void Prober::take_log(ServerScene& scene, RawPass& pass, Probe& probe) {
  if (!log_ || scene.place.pid != log_of_server_) {
    log_.emplace(std::move(scene.log));
    log_of_server_ = scene.place.pid;
  }
  const bool first = !std::exchange(log_taken_, true);
  const bool another = probe.pid != std::exchange(log_of_engine_, probe.pid);
  const std::string text = log_->take();
  // A load may lie in what was too much to read: then no old one speaks any more.
  pass.log = load_log_.of_probe(text, another || log_->skipped());
  if (load_log_.loaded() && !another && !first) probe.reload = "its log tells of another load";
}

/// The verdict on the probe alone.
void Prober::take_verdict(Probe& probe) const {
  if (!judged_) return;
  probe.state = judged_->verdict.state;
  probe.rule = judged_->verdict.rule;
  probe.sentence = judged_->verdict.sentence;
  probe.cause = judged_->verdict.cause;
  take_placement(judged_->run, probe);
}

RawRun Prober::run_of(ServerScene& scene, RawPass pass, const Probe& probe) {
  scene.take_engine(*client_);
  RawRun run = std::move(scene.run);
  ServerFacts& facts = run.server ? *run.server : run.server.emplace();
  if (!probe.contended.empty()) facts.notes.push_back(probe.contended);
  pass.argv = facts.command_line;
  const Micros span = pass.wall + kIdleSpan;
  run.telemetry = meters_->recent(span);
  if (!scene.place.this_machine) {
    run.telemetry = {};
    run.telemetry.none_because = "the server runs elsewhere";
  } else {
    add_metered_gpus(run.machine, meters_->gpus());
    recall_ram_speed(run.machine);
  }
  run.passes.push_back(std::move(pass));
  weight_bytes_ = facts.weight_bytes;
  if (run.model) weight_bytes_ = run.model->file_bytes;
  return run;
}

void Prober::judge(ServerScene& scene, RawPass pass, Probe& probe) {
  judged_ = judge_recorded(run_of(scene, std::move(pass), probe));
  take_verdict(probe);
  take_run(judged_->run, probe);
}

void Prober::take_run(const Run& run, Probe& probe) const {
  const Pass& pass = run.passes.front();
  const Lanes& lanes = pass.lanes;
  probe.prefill_abstain = lanes.prefill_abstain;
  probe.decode_abstain = lanes.decode_abstain;
  if (lanes.prefill_abstain.empty()) probe.prefill = lanes.prefill;
  if (lanes.decode_abstain.empty()) probe.decode = lanes.decode;
  if (lanes.wallclock_abstain.empty()) probe.wallclock = lanes.wallclock;
  probe.cpu_cores = pass.cpu.decode_cores;
}

void Prober::take_placement(const Run& run, Probe& probe) const {
  probe.placement = run.placement;
  const Telemetry& telemetry = run.raw.telemetry;
  for (std::size_t i = 0; i < telemetry.gpus.size(); ++i) {
    const auto use = std::ranges::find(run.gpu_use, static_cast<int>(i), &GpuUse::gpu);
    probe.gpus.push_back(probed_gpu(telemetry, i, run.raw.passes.front(),
                                    use == run.gpu_use.end() ? nullptr : &*use));
  }
}

}  // namespace picchio
