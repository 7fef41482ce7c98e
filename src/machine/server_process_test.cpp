// The processes and the log of a server, on trees made up here.
#include "machine/server_process.h"

#include "machine/server_log.h"
#include "os/file.h"
#include "os/made_up_tree.h"
#include "os/signals.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace picchio {
namespace {

void process(const MadeUpTree& tree, int pid, int parent, int start,
             const std::vector<std::string>& words) {
  const std::string dir = fmt::format("/proc/{}", pid);
  tree.file(dir + "/stat", fmt::format("{} (x) S {} 1 1 0 -1 4 1 0 0 0 1 1 0 0 20 0 1 0 {} 1 1 1\n",
                                       pid, parent, start));
  std::string line;
  for (const std::string& word : words) line += word + '\0';
  tree.file(dir + "/cmdline", line);
  tree.dir(dir + "/fd");
}

TEST(ServerProcess, TheNewestChildWithTheModelComputes) {
  const MadeUpTree tree;
  process(tree, 10, 1, 100, {"/usr/bin/ollama", "serve"});
  process(tree, 11, 10, 200, {"llama-server", "--model", "/blobs/sha256-aa", "--port", "4000"});
  process(tree, 12, 10, 300, {"llama-server", "--model", "/blobs/sha256-bb", "--port", "4001"});
  process(tree, 13, 10, 250, {"llama-server", "--model", "/blobs/sha256-bb", "--port", "4002"});
  process(tree, 14, 1, 900, {"less", "/blobs/sha256-bb"});
  EXPECT_EQ(computing_process(tree.root(), 10, "sha256-aa"), 11);
  EXPECT_EQ(computing_process(tree.root(), 10, "sha256-bb"), 12);
  EXPECT_EQ(computing_process(tree.root(), 10, "sha256-cc"), 10);
  EXPECT_EQ(computing_process(tree.root(), 10, ""), 10);
  EXPECT_EQ(server_by_command(tree.root(), "ollama", "serve"), 10);
  EXPECT_FALSE(server_by_command(tree.root(), "llama-server", "--port")) << "there are several";
  EXPECT_EQ(server_by_command(tree.root(), "llama-server", "4001"), 12);
  EXPECT_FALSE(server_by_command(tree.root(), "vllm", "serve"));
}

TEST(ServerProcess, KeysAreTakenOut) {
  EXPECT_EQ(without_keys({"llama-server",
                          "--api-key",
                          "sesame",
                          "tahini",
                          "-m",
                          "x",
                          "--hf-token=secret",
                          "-hft",
                          "t",
                          "--tokenizer",
                          "t",
                          "--admin-api-key",
                          "k",
                          "--gradio-auth",
                          "u:p",
                          "-mu",
                          "https://u:pw@host/x.gguf",
                          "--api-k",
                          "short",
                          "--api-key"}),
            (std::vector<std::string>{"llama-server",
                                      "--api-key",
                                      "...",
                                      "...",
                                      "-m",
                                      "x",
                                      "--hf-token=...",
                                      "-hft",
                                      "...",
                                      "--tokenizer",
                                      "t",
                                      "--admin-api-key",
                                      "...",
                                      "--gradio-auth",
                                      "...",
                                      "-mu",
                                      "https://host/x.gguf",
                                      "--api-k",
                                      "...",
                                      "--api-key"}));
}

TEST(ServerProcess, Model) {
  EXPECT_EQ(model_of({"x", "-m", "/a.gguf"}), "/a.gguf");
  EXPECT_EQ(model_of({"x", "--model", "/b.gguf", "-v"}), "/b.gguf");
  EXPECT_FALSE(model_of({"x", "-m"}));
}

TEST(ServerProcess, Port) {
  EXPECT_EQ(port_of({"x", "--port", "4000"}), 4000);
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {}, {"--port"}, {"--port", "x"}, {"--port", "70000"}}) {
    EXPECT_FALSE(port_of(words));
  }
}

class ServerLogs : public testing::Test {
 protected:
  /// fd 2 of process 10 leads to a file that was opened with `flags`.
  void stderr_to_file(const char* flags) {
    process(tree, 10, 1, 100, {"llama-server"});
    tree.file("/log", "old\n");
    tree.link("/proc/10/fd/2", tree.root() + "/log");
    tree.file("/proc/10/fdinfo/2", fmt::format("pos:\t0\nflags:\t{}\nmnt_id:\t29\n", flags));
  }
  void append(const std::string& text) const {
    std::ofstream(tree.root() + "/log", std::ios::app) << text;
  }
  [[nodiscard]] ServerLog log(const std::string& fallback = "") const {
    return ServerLog::of(tree.root(), 10, fallback, *interrupts);
  }

  MadeUpTree tree;
  Result<os::Interrupts> interrupts = os::Interrupts::install();
};

TEST_F(ServerLogs, WhatCameSinceTheMark) {
  stderr_to_file("0100001");
  ServerLog log = this->log();
  EXPECT_EQ(log.source(), "its standard error (a file)");
  EXPECT_EQ(log.before(), "old\n");
  EXPECT_EQ(log.appended(), "");
  append("new\n");
  EXPECT_EQ(log.appended(), "new\n");
  log.mark();
  EXPECT_EQ(log.appended(), "");
  // The same file was emptied by another program.
  std::ofstream(tree.root() + "/log", std::ios::trunc) << "x";
  EXPECT_EQ(log.appended(), "");
}

TEST_F(ServerLogs, WhatIsTakenIsTakenOnce) {
  stderr_to_file("0100001");
  ServerLog log = this->log();
  EXPECT_EQ(log.take(), "") << "what was there before is told by before()";
  append("a\n");
  append("b\n");
  EXPECT_EQ(log.take(), "a\nb\n");
  EXPECT_FALSE(log.skipped());
  EXPECT_EQ(log.take(), "");
  append(std::string(static_cast<std::size_t>(kMostServerLog), 'x') + "the end\n");
  const std::string most = log.take();
  EXPECT_EQ(most.size(), static_cast<std::size_t>(kMostServerLog));
  EXPECT_TRUE(most.ends_with("the end\n"));
  EXPECT_TRUE(log.skipped()) << "a load may lie in it";
  EXPECT_EQ(log.take(), "");
}

TEST_F(ServerLogs, WhatIsTakenBeginsAnewWithAFileThatWasEmptied) {
  stderr_to_file("0100001");
  ServerLog log = this->log();
  append("request done\n");
  EXPECT_EQ(log.take(), "request done\n");
  for (const std::string& text : {std::string("x"), std::string("a load, longer than all before\n"),
                                  std::string(200, 'y') + "\n"}) {
    std::ofstream(tree.root() + "/log", std::ios::trunc) << text;
    EXPECT_EQ(log.take(), text);
    EXPECT_EQ(log.take(), "");
  }
}

TEST_F(ServerLogs, AFileThatIsAppendedToMayHoldAnothersWords) {
  stderr_to_file("0102001");
  const ServerLog log = this->log();
  EXPECT_EQ(log.before(), "");
  append("new\n");
  EXPECT_EQ(log.appended(), "new\n");
}

TEST_F(ServerLogs, NoMoreThanTheCap) {
  stderr_to_file("0100001");
  const ServerLog log = this->log();
  append(std::string(static_cast<std::size_t>(kMostServerLog) + 10, 'x'));
  EXPECT_EQ(log.appended().size(), static_cast<std::size_t>(kMostServerLog));
}

TEST_F(ServerLogs, NoneAndWhy) {
  process(tree, 10, 1, 100, {"llama-server"});
  tree.link("/proc/10/fd/2", "/dev/pts/7");
  tree.link("/proc/10/fd/1", "pipe:[123]");
  EXPECT_EQ(log().source(), "");
  EXPECT_EQ(log().none_because(), "its standard error is a terminal");
  EXPECT_EQ(log().appended(), "");
  tree.file("/server.log", "words\n");
  EXPECT_EQ(log(tree.root() + "/server.log").source(), tree.root() + "/server.log");
}

TEST_F(ServerLogs, TheJournalOfItsUnit) {
  process(tree, 10, 1, 100, {"ollama", "serve"});
  tree.link("/proc/10/fd/2", "socket:[123]");
  tree.file("/proc/10/cgroup", "0::/system.slice/ollama.service\n");
  tree.file("/bin/journalctl", "#!/bin/sh\necho \"$@\"\n");
  std::filesystem::permissions(tree.root() + "/bin/journalctl", std::filesystem::perms::owner_all);
  const std::string path = os::env("PATH").value_or("");
  ASSERT_EQ(setenv("PATH", (tree.root() + "/bin:" + path).c_str(), 1), 0);
  const ServerLog log = this->log();
  const std::string said = log.appended();
  ASSERT_EQ(setenv("PATH", path.c_str(), 1), 0);
  EXPECT_EQ(log.source(), "the journal of ollama.service");
  EXPECT_TRUE(said.starts_with("--unit ollama.service --since @")) << said;
  EXPECT_EQ(log.before(), "");
}

TEST(ServerLog, Units) {
  EXPECT_EQ(unit_in_cgroup("0::/system.slice/ollama.service\n").name, "ollama.service");
  const SystemdUnit user =
      unit_in_cgroup("0::/user.slice/user-1000.slice/user@1000.service/app.slice/llama.service\n");
  EXPECT_EQ(user.name, "llama.service");
  EXPECT_TRUE(user.user);
  for (const char* text : {"", "0::/\n", "0::/user.slice/user-1000.slice/session-2.scope\n",
                           "0::/user.slice/user-1000.slice/user@1000.service/init.scope\n"}) {
    EXPECT_EQ(unit_in_cgroup(text).name, "") << text;
  }
}

}  // namespace
}  // namespace picchio
