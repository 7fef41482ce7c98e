#include "commands/sweep/earlier_tier.h"

#include "history/sample_records.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace picchio {
namespace {

TEST(EarlierTier, IsTakenOnlyFromTheSameSetting) {
  const RecordedRun now = samples::record("m.gguf", 40);
  EXPECT_TRUE(same_setting(samples::record("m.gguf", 80), now));
  const std::vector<std::function<void(RecordedRun&)>> changes = {
      [](RecordedRun& run) { run.model_key = "/other.gguf"; },
      [](RecordedRun& run) { run.host = "elsewhere"; },
      [](RecordedRun& run) { run.figures.engine = "ollama"; },
      [](RecordedRun& run) { run.figures.build = "b1"; },
      [](RecordedRun& run) { run.figures.placement.arguments = "-ngl 0"; },
      [](RecordedRun& run) { run.figures.weight_bytes = 1; },
      [](RecordedRun& run) { run.figures.machine.gpu = "another"; },
      [](RecordedRun& run) { run.figures.machine.os = "Linux 7"; },
      [](RecordedRun& run) { run.figures.version = "9"; },
      [](RecordedRun& run) { run.figures.state.reset(); }};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    RecordedRun before = now;
    changes[i](before);
    EXPECT_FALSE(same_setting(before, now)) << i;
  }
}

// A GPU that was lost since, or of which nothing can be told: yesterday's HEALTHY is not today's.
TEST(EarlierTier, DoesNotVouchForWhatFellSinceOrIsUnknown) {
  for (const State state :
       {State::partial_offload, State::silent_cpu_fallback, State::conflicting_evidence,
        State::no_placement_evidence, State::no_timing_evidence, State::cpu_only_machine}) {
    RecordedRun now = samples::record("m.gguf", 40);
    now.figures.state = state;
    EXPECT_FALSE(same_setting(samples::record("m.gguf", 40), now));
    EXPECT_TRUE(same_setting(now, now));
    // A large size may have fallen where the short prompt did not.
    EXPECT_TRUE(same_setting(now, samples::record("m.gguf", 40)));
  }
}

}  // namespace
}  // namespace picchio
