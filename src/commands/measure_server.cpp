#include "commands/measure_server.h"

#include "commands/meter_recorder.h"
#include "commands/ram_speed.h"
#include "commands/server_pass.h"
#include "commands/server_scene.h"
#include "commands/surroundings.h"
#include "machine/metered_gpus.h"

#include <fmt/format.h>

namespace picchio {
namespace {

std::string summary_of(const RawPass& pass, const ServerAnswer& answer) {
  std::string out;
  const auto rate = [](std::optional<std::int64_t> tokens, std::optional<double> ms) {
    return tokens && *tokens > 0 && ms && *ms > 0
               ? std::optional(static_cast<double>(*tokens) * 1000 / *ms)
               : std::nullopt;
  };
  if (const auto prefill = rate(answer.evaluated_tokens, answer.prompt_ms)) {
    out += fmt::format("prefill {:.1f}, ", *prefill);
  }
  if (const auto decode = rate(answer.generated_tokens, answer.eval_ms)) {
    out += fmt::format("decode {:.1f} tok/s, ", *decode);
  }
  return out + fmt::format("{:.1f} s in all", seconds(pass.wall));
}

}  // namespace

Result<RawRun> measure_server(const ServerRequest& request, os::HttpClient& client,
                              os::Interrupts& interrupts, Progress& progress,
                              const PassSink& sink) {
  const servers::Wait wait{.interrupts = interrupts,
                           .note = [&](std::string_view text) { progress.note(text); },
                           .limit = request.timeout};
  Result<ServerScene> scene =
      open_server_scene(request.detected, request.model, wait, client, request.prompting);
  if (!scene) return std::unexpected(scene.error());
  RawRun& run = scene->run;
  ServerFacts& facts = *run.server;
  const bool here = scene->place.this_machine;
  if (!run.prompt_note.empty()) progress.note(run.prompt_note);
  const Result<bool> unloaded = scene->server->unload(wait);
  if (!unloaded) return std::unexpected(unloaded.error());
  facts.loads_on_request = *unloaded;

  MeterRecorder meters(here ? request.meter_hz : std::nullopt, interrupts);
  add_metered_gpus(run.machine, meters.gpus());
  const Error stopped{ErrorKind::interrupted, "interrupted", ""};
  if (!watch_idle_gpus(interrupts, meters, progress)) return std::unexpected(stopped);
  if (const std::string busy = scene->server->busy(); !busy.empty()) {
    progress.note(busy + "; the rates will be lower than alone");
    facts.notes.push_back(busy);
  }
  ServerPassRunner runner({.timeout = request.timeout, .prompting = scene->prompting},
                          *scene->server, client, progress, meters, scene->processes);
  for (int number = 1; number <= request.passes; ++number) {
    progress.begin_pass(number, request.passes);
    const bool loads = facts.loads_on_request;
    const auto cached = run.model && loads ? cached_share(*run.model) : std::nullopt;
    scene->log.mark();
    Result<RawPass> pass = runner.run(number);
    if (!pass) return std::unexpected(pass.error());
    pass->cached_fraction = cached;
    // A server that had its model before tells of it in what it wrote before.
    pass->log = scene->log.of_pass(number == 1 && !loads);
    if (number == 1) scene->take_engine(client);
    pass->argv = facts.command_line;
    run.passes.push_back(*std::move(pass));
    run.telemetry = number == request.passes ? meters.stop() : meters.so_far();
    if (!here) run.telemetry.none_because = "the server runs elsewhere";
    if (const Result<> kept = sink(run, run.passes.size() - 1); !kept) {
      return std::unexpected(kept.error());
    }
    progress.end_pass(summary_of(run.passes.back(), runner.answer()));
  }
  // Last: it takes much memory for a second, which the server's load may need.
  if (!here) return std::move(run);
  if (!learn_ram_speed(run.machine, interrupts, progress)) return std::unexpected(stopped);
  if (const Result<> kept = sink(run, run.passes.size() - 1); !kept) {
    return std::unexpected(kept.error());
  }
  return std::move(run);
}

}  // namespace picchio
