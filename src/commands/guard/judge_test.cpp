#include "commands/guard/judge.h"

#include "commands/guard/words.h"
#include "os/file.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace picchio {
namespace {

using std::chrono::milliseconds;

std::string recorded(const std::string& path) {
  const auto text = os::read_file(std::string(PICCHIO_SOURCE_DIR) + "/" + path, 1 << 20);
  EXPECT_TRUE(text.has_value()) << path;
  return text.value_or("");
}

Machine machine_without_gpu() {
  Machine machine;
  machine.gpus_known = true;
  return machine;
}

Machine machine_with_gpu() {
  Machine machine = machine_without_gpu();
  machine.gpus.push_back({.name = "NVIDIA GeForce RTX 4090",
                          .vendor = "NVIDIA",
                          .address = {},
                          .driver = "nvidia",
                          .source = {},
                          .can_compute = true,
                          .no_compute_reason = {}});
  return machine;
}

EngineLook cpu_engine() {
  EngineLook look;
  look.engine = look.model_open = true;
  look.facts.readable = true;
  look.facts.libraries = {"libggml-cpu.so"};
  return look;
}

EngineLook gpu_engine() {
  EngineLook look = cpu_engine();
  look.facts.libraries = {"libcuda.so.1", "libggml-cuda.so"};
  look.facts.device_nodes = {"/dev/nvidia0", "/dev/nvidiactl"};
  return look;
}

GuardJudge judge_of(Machine machine) {
  return GuardJudge(
      {.machine = std::move(machine), .arguments = {}, .environment = {}, .header = {}});
}

/// The one finding, if there is any.
std::optional<GuardFinding> one(std::vector<GuardFinding> findings) {
  EXPECT_LE(findings.size(), 1U);
  if (findings.empty()) return std::nullopt;
  return std::move(findings.front());
}

/// What a batch of several logs is told to hold, in order.
std::vector<State> states_of(const std::vector<std::string>& logs, Micros later) {
  GuardJudge judge = judge_of(machine_with_gpu());
  std::string all;
  for (const std::string& log : logs) all += log;
  judge.feed(all, milliseconds(10));
  std::vector<State> out;
  for (const GuardFinding& each : judge.conclude(milliseconds(10) + later, false)) {
    out.push_back(each.verdict.state);
  }
  EXPECT_EQ(judge.findings().size(), out.size());
  EXPECT_TRUE(judge.conclude(milliseconds(20) + later, true).empty()) << "said twice";
  return out;
}

/// A load that ends for lack of memory, of the model that cuda-full.log has.
std::string failed_load(const std::string& path = "example.gguf") {
  return "llama_model_load_from_file_impl: using device CUDA0 (NVIDIA GeForce RTX 4090) "
         "(0000:01:00.0) - 120 MiB free\n"
         "llama_model_loader: loaded meta data with 29 key-value pairs and 291 tensors from " +
         path +
         " (version GGUF V3 (latest))\n"
         "load_tensors: offloading 32 repeating layers to GPU\n"
         "load_tensors: offloaded 33/33 layers to GPU\n"
         "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 4403.50 MiB on device 0: "
         "cudaMalloc failed: out of memory\n"
         "alloc_tensor_range: failed to allocate CUDA0 buffer of size 4617404416\n"
         "llama_model_load: error loading model: unable to allocate CUDA0 buffer\n"
         "llama_model_load_from_file_impl: failed to load model\n";
}

struct Case {
  const char* name;
  const char* log;
  Machine machine;
  EngineLook look;
  State state;
};

TEST(GuardJudge, TellsEachRecordingForWhatItIs) {
  const Case cases[] = {
      {"cpu", "src/engines/llama_cpp/testdata/server-verbosity-4.log", machine_without_gpu(),
       cpu_engine(), State::cpu_only_machine},
      {"cpu-beside-a-gpu", "src/engines/llama_cpp/testdata/server-verbosity-4.log",
       machine_with_gpu(), cpu_engine(), State::silent_cpu_fallback},
      {"cuda", "tests/cli/logs/cuda-full.log", machine_with_gpu(), gpu_engine(), State::healthy},
      {"cuda-without-a-driver", "tests/cli/logs/cuda-full.log", machine_with_gpu(), cpu_engine(),
       State::conflicting_evidence},
      {"cuda-by-its-log",
       "tests/cli/logs/cuda-full.log",
       machine_without_gpu(),
       {},
       State::healthy},
      {"half", "tests/cli/logs/cuda-ngl-20.log", machine_with_gpu(), gpu_engine(),
       State::partial_offload},
      {"llvmpipe", "tests/cli/logs/llvmpipe-full.log", machine_with_gpu(), cpu_engine(),
       State::silent_cpu_fallback},
  };
  for (const Case& each : cases) {
    GuardJudge judge = judge_of(each.machine);
    judge.look(each.look, milliseconds(10));
    judge.feed(recorded(each.log), milliseconds(20));
    const auto finding = one(judge.conclude(milliseconds(400), false));
    ASSERT_TRUE(finding) << each.name;
    EXPECT_EQ(finding->verdict.state, each.state) << each.name << ": " << finding->verdict.sentence;
    EXPECT_FALSE(one(judge.conclude(milliseconds(500), false))) << each.name << " said twice";
  }
}

TEST(GuardJudge, SaysNothingBeforeTheLoadIsDone) {
  const std::string log = recorded("src/engines/llama_cpp/testdata/server-verbosity-4.log");
  const std::size_t done = log.find("sched_reserve: graph: nodes");
  ASSERT_NE(done, std::string::npos);
  GuardJudge judge = judge_of(machine_with_gpu());
  judge.look(cpu_engine(), milliseconds(1));
  for (std::size_t at = 0; at < done; at += 500) {
    judge.feed(log.substr(at, std::min<std::size_t>(500, done - at)), milliseconds(2));
    EXPECT_FALSE(one(judge.conclude(milliseconds(3), false))) << "after " << at << " bytes";
  }
  judge.feed(log.substr(done), milliseconds(4));
  EXPECT_TRUE(one(judge.conclude(milliseconds(5), false)));
}

TEST(GuardJudge, IsTheSameWhereverTheLogIsCut) {
  const std::string log = recorded("tests/cli/logs/cuda-ngl-20.log");
  for (std::size_t cut = 0; cut < log.size(); cut += 97) {
    GuardJudge judge = judge_of(machine_with_gpu());
    judge.look(gpu_engine(), milliseconds(1));
    judge.feed(log.substr(0, cut), milliseconds(2));
    judge.feed(log.substr(cut), milliseconds(2));
    const auto finding = one(judge.conclude(milliseconds(3), true));
    ASSERT_TRUE(finding) << cut;
    EXPECT_EQ(finding->verdict.state, State::partial_offload) << cut;
  }
}

TEST(GuardJudge, LetsTheProcessSpeakWhenTheLogDoesNot) {
  GuardJudge judge = judge_of(machine_with_gpu());
  judge.look(cpu_engine(), milliseconds(100));
  EXPECT_FALSE(one(judge.conclude(milliseconds(200), false))) << "its devices may still come";
  judge.look(cpu_engine(), milliseconds(900));
  const auto finding = one(judge.conclude(milliseconds(900), false));
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->verdict.state, State::silent_cpu_fallback);
  EXPECT_EQ(finding->source, GuardSource::process);
  EXPECT_NE(finding_line(*finding, false).find("By its process"), std::string::npos);
}

TEST(GuardJudge, NeverCallsAnOpenDeviceHealthy) {
  GuardJudge judge = judge_of(machine_with_gpu());
  judge.look(gpu_engine(), milliseconds(100));
  judge.look(gpu_engine(), milliseconds(1500));
  EXPECT_FALSE(one(judge.conclude(milliseconds(1500), false)));
  EXPECT_FALSE(one(judge.conclude(milliseconds(1600), true)));
  EXPECT_TRUE(judge.engine_seen());
}

TEST(GuardJudge, TakesBackWhatADeviceOpenedLaterDisproves) {
  GuardJudge judge = judge_of(machine_with_gpu());
  judge.look(cpu_engine(), milliseconds(100));
  ASSERT_TRUE(one(judge.conclude(milliseconds(900), false)));
  judge.look(gpu_engine(), milliseconds(3000));
  const auto finding = one(judge.conclude(milliseconds(3000), false));
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->verdict.state, State::no_placement_evidence);
}

TEST(GuardJudge, QuietEngineOnTheCpuTakesBackWhatAnotherLogSaid) {
  GuardJudge judge = judge_of(machine_with_gpu());
  judge.feed(recorded("tests/cli/logs/cuda-full.log"), milliseconds(10));
  const auto first = one(judge.conclude(milliseconds(400), false));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->verdict.state, State::healthy);
  judge.look(cpu_engine(), milliseconds(2000));
  const auto then = one(judge.conclude(milliseconds(2000), false));
  ASSERT_TRUE(then);
  EXPECT_EQ(then->verdict.state, State::conflicting_evidence);
}

TEST(GuardJudge, ACommandWithoutAnEngineIsNoCpuOnlyMachine) {
  GuardJudge judge = judge_of(machine_without_gpu());
  judge.look({}, milliseconds(100));
  judge.feed("hello\n", milliseconds(200));
  judge.look({}, milliseconds(2000));
  EXPECT_FALSE(one(judge.conclude(milliseconds(2000), true)));
  EXPECT_FALSE(judge.engine_seen());
}

TEST(GuardJudge, TellsOfAReloadThatLandsElsewhere) {
  GuardJudge judge = judge_of(machine_with_gpu());
  judge.feed(recorded("tests/cli/logs/cuda-full.log"), milliseconds(10));
  const auto first = one(judge.conclude(milliseconds(400), false));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->verdict.state, State::healthy);
  judge.feed(recorded("tests/cli/logs/llvmpipe-full.log"), milliseconds(500));
  const auto second = one(judge.conclude(milliseconds(900), false));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->verdict.state, State::silent_cpu_fallback);
}

TEST(GuardJudge, EachLoadOfABatchIsJudgedByItself) {
  const std::string good = recorded("tests/cli/logs/cuda-full.log");
  const std::string half = recorded("tests/cli/logs/cuda-ngl-20.log");
  const std::string soft = recorded("tests/cli/logs/llvmpipe-full.log");
  using States = std::vector<State>;
  EXPECT_EQ(states_of({soft, good}, {}), (States{State::silent_cpu_fallback, State::healthy}));
  EXPECT_EQ(states_of({good, soft}, {}), (States{State::healthy, State::silent_cpu_fallback}));
  EXPECT_EQ(states_of({half, good}, {}), (States{State::partial_offload, State::healthy}));
  EXPECT_EQ(
      states_of({good, soft, half, good}, {}),
      (States{State::healthy, State::silent_cpu_fallback, State::partial_offload, State::healthy}));
  EXPECT_EQ(states_of({good, good}, {}), States{State::healthy}) << "a like load is no news";
}

TEST(GuardJudge, AFailedReloadIsTold) {
  const std::string good = recorded("tests/cli/logs/cuda-full.log");
  using States = std::vector<State>;
  constexpr milliseconds kQuietFor{400};
  EXPECT_EQ(states_of({good, failed_load()}, kQuietFor),
            (States{State::healthy, State::no_placement_evidence}));
  EXPECT_EQ(states_of({failed_load()}, kQuietFor), States{State::no_placement_evidence});
  EXPECT_EQ(states_of({good, failed_load(), failed_load()}, kQuietFor),
            (States{State::healthy, State::no_placement_evidence}));
  GuardJudge judge = judge_of(machine_with_gpu());
  judge.feed(good + failed_load(), milliseconds(10));
  EXPECT_EQ(one(judge.conclude(milliseconds(20), false))->verdict.state, State::healthy);
  const auto failed = one(judge.conclude(milliseconds(400), false));
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->verdict.rule, "load-failed");
  ASSERT_TRUE(failed->verdict.cause);
  EXPECT_EQ(check_expectation(*parse_expectation("gpu"), judge.findings()),
            ExitCode::silent_cpu_fallback);
}

TEST(GuardJudge, ATryThatSucceedsReplacesTheOneThatFailed) {
  const std::string good = recorded("tests/cli/logs/cuda-full.log");
  using States = std::vector<State>;
  EXPECT_EQ(states_of({failed_load(), good}, {}), States{State::healthy});
  EXPECT_EQ(states_of({good, failed_load(), failed_load(), good}, {}), States{State::healthy});
  EXPECT_EQ(states_of({failed_load("other.gguf"), good}, {}),
            (States{State::no_placement_evidence, State::healthy}))
      << "another model's success excuses nothing";
  GuardJudge judge = judge_of(machine_with_gpu());
  judge.feed(failed_load(), milliseconds(10));
  EXPECT_FALSE(one(judge.conclude(milliseconds(100), false))) << "the engine may try again";
  const std::size_t half = good.find("load_tensors:");
  judge.feed(good.substr(0, half), milliseconds(150));
  EXPECT_FALSE(one(judge.conclude(milliseconds(900), false))) << "it does";
  judge.feed(good.substr(half), milliseconds(950));
  EXPECT_EQ(one(judge.conclude(milliseconds(960), false))->verdict.state, State::healthy);
}

TEST(GuardJudge, ABadLoadAmongHundredsIsNotForgotten) {
  const std::string good = recorded("tests/cli/logs/cuda-full.log");
  const std::string ollama =
      "time=2026-08-02T12:00:00Z level=INFO source=routes.go:2 msg=\"Listening on [::]:11434 "
      "(version 0.12.6)\"\n";
  GuardJudge judge = judge_of(machine_with_gpu());
  judge.feed(ollama + good, milliseconds(10));
  ASSERT_TRUE(one(judge.conclude(milliseconds(10), false)));
  judge.feed(recorded("tests/cli/logs/llvmpipe-full.log"), milliseconds(20));
  ASSERT_TRUE(one(judge.conclude(milliseconds(20), false)));
  constexpr int kMore = 300;
  for (int i = 0; i < kMore; ++i) {
    const Micros now = milliseconds(30 + i);
    judge.feed(good, now);
    ASSERT_TRUE(one(judge.conclude(now, false))) << i;
  }
  EXPECT_LT(judge.findings().size(), 300U);
  EXPECT_EQ(check_expectation(*parse_expectation("gpu"), judge.findings()),
            ExitCode::silent_cpu_fallback);
}

TEST(GuardJudge, AGapCostsALineAndIsKnown) {
  GuardJudge judge = judge_of(machine_with_gpu());
  judge.feed("load_tensors: offl", milliseconds(1));
  judge.gap();
  judge.feed("oaded 9/9 layers to GPU\nx\n", milliseconds(2));
  EXPECT_TRUE(judge.incomplete());
  EXPECT_FALSE(one(judge.conclude(milliseconds(3), true)));
  EXPECT_FALSE(judge.log().has_placement_lines);
}

}  // namespace
}  // namespace picchio
