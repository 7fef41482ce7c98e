#include "engines/llama_cpp/raised_verbosity.h"

#include "os/file.h"

#include <gtest/gtest.h>

#include <cstdlib>
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
    {"behind-two-starters",
     {"nice", "-n", "5", "taskset", "-c", "0-3", "/opt/llama-cli", "-m", "x"},
     {},
     ViewedProgram::cli,
     ""},
    {"behind-a-duration", {"timeout", "1.5h", "llama-cli", "-m", "x"}, {}, ViewedProgram::cli, ""},
    {"an-argument-of-another-program",
     {"env", "A=1", "python3", "llama-server", "-m", "x"},
     {},
     {},
     ""},
    {"an-argument-behind-a-starter", {"time", "strace", "llama-server", "-m", "x"}, {}, {}, ""},
    {"an-option's-word", {"timeout", "-s", "KILL", "5", "llama-cli", "-m", "x"}, {}, {}, ""},
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
    const VerbosityPlan plan = plan_verbosity(each.command, each.environment,
                                              [](const std::string&) { return BuildLog::traces; });
    EXPECT_EQ(plan.view, each.view) << each.name;
    EXPECT_NE(plan.why_not.find(each.why_not), std::string::npos) << each.name;
    EXPECT_EQ(plan.why_not.empty(), *each.why_not == 0) << each.name;
  }
}

TEST(PlanVerbosity, LeavesAnUnknownBuildAlone) {
  const VerbosityPlan plan = plan_verbosity({"llama-server", "-m", "x"}, {},
                                            [](const std::string&) { return BuildLog::unknown; });
  EXPECT_FALSE(plan.view);
  EXPECT_NE(plan.why_not.find("build"), std::string::npos);
}

TEST(PlanVerbosity, LeavesAScriptThatSpeaksOfTheLogAlone) {
  const VerbosityPlan plan = plan_verbosity({"llama-server", "-m", "x"}, {},
                                            [](const std::string&) { return BuildLog::says_own; });
  EXPECT_FALSE(plan.view);
  EXPECT_NE(plan.why_not.find("script"), std::string::npos);
}

TEST(ScriptSpeaksOfLog, FindsArgumentsAndVariables) {
  for (const char* text :
       {"exec /opt/llama-server -v \"$@\"", "exec /opt/llama-server -lv 2 \"$@\"",
        "/opt/llama-server -lv=2", "A=(-v)", "exec x --verbosity 2", "exec x --verbose",
        "exec x --log-file=y", "exec x --no-log-prefix", "export LLAMA_ARG_LOG_VERBOSITY=1",
        "LLAMA_LOG_COLORS=1 exec x"}) {
    EXPECT_TRUE(script_speaks_of_log(text)) << text;
  }
  EXPECT_FALSE(script_speaks_of_log(
      "#!/bin/sh\nLD_LIBRARY_PATH=/opt/lib exec /opt/bin/llama-server -ngl 99 \"$@\"\n"));
}

TEST(LogOfBuild, ReadsAWrapperForWhatItSays) {
  const std::string path = ::testing::TempDir() + "llama-wrapper-of-test";
  const auto seen = [&](const std::string& text) {
    EXPECT_TRUE(os::write_file_atomic(path, text));
    EXPECT_EQ(std::system(("chmod +x '" + path + "'").c_str()), 0);
    return log_of_build(path);
  };
  EXPECT_EQ(seen("#!/bin/sh\nexec /opt/llama-server -lv 2 \"$@\"\n"), BuildLog::says_own);
  EXPECT_EQ(seen("#!/bin/sh\nexec /bin/sh \"$@\"\n"), BuildLog::unknown);
}

TEST(LogOfBuild, IsNotSaidOfJustAnyProgram) {
  EXPECT_EQ(log_of_build("/bin/sh"), BuildLog::unknown);
  EXPECT_EQ(log_of_build("/nonexistent/llama-server"), BuildLog::unknown);
}

}  // namespace
}  // namespace picchio::llama_cpp
