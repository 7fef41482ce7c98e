#include "commands/guard/words.h"

#include <gtest/gtest.h>

namespace picchio {
namespace {

GuardFinding finding_of(State state, std::optional<double> share = std::nullopt) {
  GuardFinding out;
  out.source = GuardSource::log_and_process;
  out.verdict.state = state;
  out.verdict.sentence = "The CPU did the work while a card stood by.";
  out.placement.weights_on_gpu_fraction = share;
  return out;
}

TEST(FindingLine, IsOneLineOfPlainText) {
  GuardFinding finding = finding_of(State::silent_cpu_fallback);
  finding.model = "/models/odd\x1b[31m\nname.gguf";
  finding.verdict.cause = Cause{"id", "a flag", "leave it out"};
  EXPECT_EQ(
      finding_line(finding, false),
      "picchio: SILENT CPU FALLBACK: odd name.gguf: The CPU does the work while a card stands "
      "by. WHY: a flag. FIX: leave it out.\n");
}

TEST(FindingLine, IsColouredOffTheGpuOnly) {
  EXPECT_NE(finding_line(finding_of(State::silent_cpu_fallback), true).find("\x1b[1;31m"),
            std::string::npos);
  EXPECT_EQ(finding_line(finding_of(State::healthy), true).find('\x1b'), std::string::npos);
  EXPECT_EQ(finding_line(finding_of(State::silent_cpu_fallback), false).find('\x1b'),
            std::string::npos);
}

TEST(ParseExpectation, TakesThreeForms) {
  EXPECT_EQ(parse_expectation("gpu")->kind, Expectation::Kind::gpu);
  EXPECT_EQ(parse_expectation("partial")->kind, Expectation::Kind::partial);
  EXPECT_DOUBLE_EQ(parse_expectation("bytes>=0.9")->least, 0.9);
  for (const char* bad : {"", "GPU", "bytes", "bytes>=", "bytes>=0", "bytes>=1.5", "bytes>=nan",
                          "bytes>0.9", "bytes>=90%"}) {
    EXPECT_FALSE(parse_expectation(bad)) << bad;
  }
}

struct Case {
  const char* expectation;
  std::vector<GuardFinding> findings;
  ExitCode code;
};

TEST(CheckExpectation, TheWorstFindingCounts) {
  const Case cases[] = {
      {"gpu", {}, ExitCode::silent_cpu_fallback},
      {"gpu", {finding_of(State::healthy, 1.0)}, ExitCode::ok},
      {"gpu", {finding_of(State::partial_offload, 0.5)}, ExitCode::partial_offload},
      {"gpu", {finding_of(State::cpu_only_machine)}, ExitCode::silent_cpu_fallback},
      {"gpu", {finding_of(State::conflicting_evidence, 1.0)}, ExitCode::silent_cpu_fallback},
      {"gpu", {finding_of(State::no_placement_evidence)}, ExitCode::silent_cpu_fallback},
      {"gpu",
       {finding_of(State::partial_offload, 0.5), finding_of(State::healthy, 1.0)},
       ExitCode::partial_offload},
      {"partial", {finding_of(State::partial_offload, 0.5)}, ExitCode::ok},
      {"partial", {finding_of(State::silent_cpu_fallback)}, ExitCode::silent_cpu_fallback},
      {"bytes>=0.9", {finding_of(State::partial_offload, 0.95)}, ExitCode::ok},
      {"bytes>=0.9", {finding_of(State::partial_offload, 0.5)}, ExitCode::partial_offload},
      {"bytes>=0.9", {finding_of(State::healthy)}, ExitCode::partial_offload},
      {"bytes>=0.9", {finding_of(State::conflicting_evidence, 1.0)}, ExitCode::silent_cpu_fallback},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(check_expectation(*parse_expectation(each.expectation), each.findings), each.code)
        << each.expectation << " " << each.findings.size();
  }
}

TEST(CheckGate, WhatWasNotReadProvesNothing) {
  const Expectation gpu = *parse_expectation("gpu");
  EXPECT_EQ(check_gate(gpu, {finding_of(State::healthy, 1.0)}, false).code, ExitCode::ok);
  for (const State state : {State::healthy, State::partial_offload}) {
    const Gate gate = check_gate(gpu, {finding_of(state, 1.0)}, true);
    EXPECT_EQ(gate.code, ExitCode::silent_cpu_fallback);
    EXPECT_NE(gate.why.find("not read"), std::string::npos);
  }
  EXPECT_NE(check_gate(gpu, {}, false).why.find("nothing tells"), std::string::npos);
}

}  // namespace
}  // namespace picchio
