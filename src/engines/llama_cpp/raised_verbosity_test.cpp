#include "engines/llama_cpp/raised_verbosity.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace picchio::llama_cpp {
namespace {

struct Case {
  const char* name;
  std::vector<std::string> command;
  std::vector<std::string> environment;
  std::optional<ViewedProgram> view;
  const char* why_not;
};

const Case kCases[] = {
    {"server", {"/usr/bin/llama-server", "-m", "x.gguf"}, {}, ViewedProgram::server, ""},
    {"server-from-hub", {"llama-server", "-hf=a/b"}, {}, ViewedProgram::server, ""},
    {"model-in-the-environment",
     {"llama-server"},
     {"LLAMA_ARG_MODEL=x"},
     ViewedProgram::server,
     ""},
    {"router", {"llama-server", "--port", "1"}, {}, {}, "router"},
    {"completion", {"llama-completion", "-m", "x"}, {}, ViewedProgram::completion, ""},
    {"cli", {"llama-cli", "-m", "x"}, {}, ViewedProgram::cli, ""},
    {"behind-env", {"env", "A=1", "llama-server", "-m", "x"}, {}, ViewedProgram::server, ""},
    {"env-sets-a-file",
     {"env", "LLAMA_ARG_LOG_FILE=y", "llama-cli", "-m", "x"},
     {},
     {},
     "variable"},
    {"own-level", {"llama-server", "-m", "x", "-lv", "2"}, {}, {}, "arguments"},
    {"own-level-joined", {"llama-server", "-m", "x", "--verbosity=2"}, {}, {}, "arguments"},
    {"log-file", {"llama-cli", "-m", "x", "--log-file", "y"}, {}, {}, "arguments"},
    {"jsonl-goes-to-stdout", {"llama-cli", "-m", "x", "--log-jsonl"}, {}, {}, "arguments"},
    {"own-variable", {"llama-cli", "-m", "x"}, {"LLAMA_ARG_LOG_VERBOSITY=2"}, {}, "variable"},
    {"older-variable", {"llama-cli", "-m", "x"}, {"LLAMA_LOG_COLORS=1"}, {}, "variable"},
    {"unmeasured-program", {"llama-bench", "-m", "x"}, {}, {}, ""},
    {"shell", {"sh", "-c", "llama-server -m x"}, {}, {}, ""},
    {"named-only-as-an-argument", {"echo", "llama-server"}, {}, {}, ""},
    {"nothing", {}, {}, {}, ""},
};

TEST(PlanVerbosity, SetsItOnlyWhereNobodyNotices) {
  for (const Case& each : kCases) {
    const VerbosityPlan plan =
        plan_verbosity(each.command, each.environment, [](const std::string&) { return true; });
    EXPECT_EQ(plan.view, each.view) << each.name;
    EXPECT_NE(plan.why_not.find(each.why_not), std::string::npos) << each.name;
    EXPECT_EQ(plan.why_not.empty(), *each.why_not == 0) << each.name;
  }
}

TEST(PlanVerbosity, LeavesAnUnknownBuildAlone) {
  const VerbosityPlan plan =
      plan_verbosity({"llama-server", "-m", "x"}, {}, [](const std::string&) { return false; });
  EXPECT_FALSE(plan.view);
  EXPECT_NE(plan.why_not.find("build"), std::string::npos);
}

TEST(BuildPrintsTraces, IsNotSaidOfJustAnyProgram) {
  EXPECT_FALSE(build_prints_traces("/bin/sh"));
  EXPECT_FALSE(build_prints_traces("/nonexistent/llama-server"));
}

}  // namespace
}  // namespace picchio::llama_cpp
