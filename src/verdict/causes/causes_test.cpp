#include "verdict/causes/causes.h"

#include "verdict/account.h"
#include "verdict/causes/catalogue.h"
#include "verdict/causes/test_cases.h"
#include "verdict/lanes.h"

#include <gtest/gtest.h>

#include <set>

namespace picchio {
namespace {

using namespace test;

std::optional<Cause> strongest(const std::vector<Cause>& causes) {
  return causes.empty() ? std::nullopt : std::optional(causes.front());
}

std::optional<Cause> cause_of(const Case& c, std::size_t* row = nullptr) {
  RawRun raw = raw_run(1);
  raw.user_args = c.args;
  raw.environment = c.environment;
  MeasuredRun run = assemble(raw, {c.log});
  if (c.change) c.change(run);
  const MeasuredRun* given = c.measured ? &run : nullptr;
  const CauseEvidence evidence = cause_evidence(c.log, run.placement, given);
  for (std::size_t i = 0; row != nullptr && i < cause_rows().size(); ++i) {
    if (!look(cause_rows()[i], evidence)) continue;
    *row = i;
    break;
  }
  return strongest(find_causes(c.log, run.placement, given));
}

std::vector<Case> all_cases() {
  std::vector<Case> out = settings_cases();
  for (const auto& more : {engine_cases(), memory_cases(), speed_cases()})
    out.insert(out.end(), more.begin(), more.end());
  return out;
}

TEST(Causes, EachNeedsItsEvidenceAndEveryRowIsReached) {
  std::set<std::size_t> reached;
  for (const Case& c : all_cases()) {
    std::size_t row = cause_rows().size();
    const std::optional<Cause> cause = cause_of(c, &row);
    EXPECT_EQ(cause ? cause->id : "none", c.id) << c.name;
    if (!cause) continue;
    EXPECT_TRUE(cause_rows()[row].id.empty() || cause->id == cause_rows()[row].id)
        << c.name << ": the row and its cause have two names";
    reached.insert(row);
  }
  // These stand behind another cause of the same run: the test of further causes reaches them.
  const std::set<std::string_view> behind = {"vram_taken_by_others", "context_too_large",
                                             "retry_after_oom"};
  for (std::size_t i = 0; i < cause_rows().size(); ++i) {
    EXPECT_TRUE(reached.contains(i) || behind.contains(cause_rows()[i].id))
        << "no case reaches row " << i << ", " << cause_rows()[i].id;
  }
}

struct Further {
  const char* name;
  EngineLog log;
  std::vector<std::string> ids;
};

std::vector<std::string> ids_of(const std::vector<Cause>& causes) {
  std::vector<std::string> out;
  out.reserve(causes.size());
  for (const Cause& cause : causes) out.push_back(cause.id);
  return out;
}

TEST(Causes, AllWithEvidenceAreToldAndOneOfATopic) {
  const std::vector<Further> cases = {
      {"a context that takes the room",
       long_context(32768),
       {"vram_too_small", "context_too_large"}},
      {"a modest context", long_context(4096), {"vram_too_small"}},
      {"a context whose cache is small",
       change(long_context(32768),
              [](EngineLog& l) { l.loads.back().buffers.back().bytes = mib(100); }),
       {"vram_too_small"}},
      {"others hold the memory", crowded_card(3200), {"vram_too_small", "vram_taken_by_others"}},
      {"a screen holds some", crowded_card(7400), {"vram_too_small"}},
      {"a second try", second_try(), {"vram_too_small", "retry_after_oom"}},
      {"a mask and a build without a GPU",
       plus(plus(cpu_log(), Kind::device_masked, "x", "CUDA_VISIBLE_DEVICES"),
            Kind::not_compiled_for_gpu, "not compiled with GPU"),
       {"visible_devices_mask"}},
      {"zero layers and a failed backend",
       plus(change(none_of_ollama(),
                   [](EngineLog& l) { l.plan = OffloadPlan{0, 33, 0, "cuda", 1}; }),
            Kind::device_permission, "x", "/dev/kfd"),
       {"num_gpu_0", "device_permission"}},
  };
  std::set<std::string> reached;
  for (const Further& c : cases) {
    const MeasuredRun run = assemble(raw_run(1), {c.log});
    const std::vector<Cause> causes = find_causes(c.log, run.placement, nullptr);
    EXPECT_EQ(ids_of(causes), c.ids) << c.name;
    for (const Cause& cause : causes) reached.insert(cause.id);
  }
  for (const char* id : {"vram_taken_by_others", "context_too_large", "retry_after_oom"}) {
    EXPECT_TRUE(reached.contains(id)) << id;
  }
}

TEST(Causes, ComeWithTheirProofAndTheirEntry) {
  for (const Case& c : all_cases()) {
    const std::optional<Cause> cause = cause_of(c);
    if (!cause) continue;
    EXPECT_FALSE(cause->proof.empty()) << c.name;
    const CauseEntry* entry = find_cause_entry(cause->id);
    ASSERT_NE(entry, nullptr) << cause->id;
    EXPECT_EQ(cause->sentence, entry->sentence);
    EXPECT_EQ(cause->fix.empty(), entry->remedies.empty()) << c.name;
  }
}

TEST(Causes, OfAnUnknownOneTheSuspectsAreNamed) {
  const auto suspects = [](const EngineLog& log) {
    const MeasuredRun run = assemble(raw_run(1), {log});
    return suspicion(log, run.placement, nullptr);
  };
  EXPECT_NE(suspects(partial()).find("too few layers"), std::string::npos);
  EXPECT_NE(suspects(plus(cpu_log(), Kind::no_usable_gpu, "x")).find("backend"), std::string::npos);
  EXPECT_NE(suspects(log_of({weights("CUDA0", 9), weights("RPC0", 9)}, 2, 2)).find("remote"),
            std::string::npos);
  EXPECT_EQ(suspects(cpu_log()), "");
}

TEST(Causes, FitTheBlock) {
  for (const Case& c : all_cases()) {
    const std::optional<Cause> cause = cause_of(c);
    if (!cause) continue;
    EXPECT_LE(cause->why.size() + 5, 66u) << cause->why;
    EXPECT_LE(cause->fix.size() + 5, 66u) << cause->fix;
    EXPECT_NE(cause->fix.size() + 5, 66u) << "cut: " << cause->fix;
    EXPECT_FALSE(cause->why.empty());
  }
}

TEST(Causes, TextFromOutsideIsMadePlain) {
  RawRun raw = raw_run(1);
  raw.user_args = {"-ot", "a\x1b[31m\n=CPU"};
  const MeasuredRun run = assemble(raw, {experts_on_host()});
  const std::vector<Cause> found = find_causes(run.passes[0].log, run.placement, &run);
  ASSERT_FALSE(found.empty());
  for (char c : found[0].why + found[0].fix + found[0].proof) EXPECT_TRUE(c >= ' ' && c <= '~');
}

}  // namespace
}  // namespace picchio
