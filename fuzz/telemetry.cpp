// Any bytes must read as a recording of the meters, in each of its three forms, and whatever was
// read must be cut, judged and printed: no crash, no endless loop, and never HEALTHY from a meter
// alone.
#include "kept/telemetry.h"

#include "report/block.h"
#include "report/json.h"
#include "verdict/judge.h"
#include "verdict/lanes.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace {

using namespace picchio;

RawRun two_passes() {
  RawRun run;
  run.passes.resize(2);
  for (std::size_t i = 0; i < run.passes.size(); ++i) {
    run.passes[i].wall = Micros(10'000'000);
    run.passes[i].began = Micros(2'000'000 + 10'000'000 * static_cast<std::int64_t>(i));
    run.passes[i].line_stamps = {Micros(9'000'000)};
  }
  return run;
}

EngineLog timed_log() {
  EngineLog log;
  EngineTimings timings;
  timings.line = 1;
  timings.prompt_tokens = 700;
  timings.prompt_ms = 1200;
  timings.eval_runs = 127;
  timings.eval_ms = 6000;
  log.timings.push_back(timings);
  return log;
}

void judge_and_print(RawRun run) {
  const Run judged = assemble(std::move(run), {timed_log(), timed_log()});
  const Verdict verdict = judge(judged);
  if (verdict.state == State::healthy) std::abort();
  if (block(judged, verdict).empty()) std::abort();
  if (run_json(judged, verdict, 0, "").empty()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  RawRun run = two_passes();
  switch (data[0] % 3) {
    case 0: {
      Result<Telemetry> read = kept::telemetry_from_text(text);
      if (!read) return 0;
      run.telemetry = *std::move(read);
      // What was read is written, and read again.
      if (!kept::telemetry_from_text(kept::telemetry_to_text(run.telemetry))) std::abort();
      break;
    }
    case 1:
      if (!kept::read_foreign_telemetry(text, run)) return 0;
      break;
    default:
      run.passes.resize(1);
      if (!kept::read_foreign_samples(text, run)) return 0;
      run.passes.resize(2);
      break;
  }
  judge_and_print(std::move(run));
  return 0;
}
