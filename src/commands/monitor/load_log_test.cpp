#include "commands/monitor/load_log.h"

#include "commands/read_run.h"
#include "os/file.h"

#include <gtest/gtest.h>

#include <string>

namespace picchio {
namespace {

std::string recorded(const std::string& name) {
  return os::read_file(std::string(PICCHIO_SOURCE_DIR) + "/tests/cli/logs/" + name, 1 << 20)
      .value_or("");
}

/// What a server says of requests, for weeks.
std::string requests(std::size_t bytes) {
  std::string out;
  while (out.size() < bytes) out += "srv  log_server_r: done request: POST /completion 200\n";
  return out;
}

/// Of an answer that told nothing, beside that log.
State judged(const std::string& log) {
  RawRun run;
  MachineGpu gpu;
  gpu.name = "NVIDIA GeForce RTX 4090";
  gpu.vendor = "NVIDIA";
  run.machine.gpus.push_back(gpu);
  ServerFacts& server = run.server.emplace();
  server.kind = ServerKind::llama_server;
  server.local = true;
  run.passes.emplace_back().log = log;
  return judge_loaded(std::move(run)).verdict.state;
}

TEST(LoadLog, IsRememberedForTheProbesAfterIt) {
  LoadLog log;
  const std::string load = recorded("cuda-full.log");
  EXPECT_EQ(log.of_probe(load, true), load);
  EXPECT_TRUE(log.loaded());
  EXPECT_EQ(log.of_probe("done\n", false), load + "done\n");
  EXPECT_FALSE(log.loaded());
  EXPECT_EQ(log.of_probe("done\n", false), load + "done\ndone\n");
  EXPECT_EQ(log.of_probe("", false), load + "done\n") << "requests are not remembered";
  EXPECT_EQ(log.of_probe("another process\n", true), "another process\n");
  EXPECT_EQ(log.of_probe("", false), "");
}

TEST(LoadLog, OldLoadNeverSpeaksForTheNewOne) {
  const std::string card = recorded("cuda-full.log");
  const std::string software = recorded("llvmpipe-full.log");
  ASSERT_EQ(judged(card), State::healthy);
  for (const std::size_t between : {std::size_t{0}, std::size_t{2} << 20, std::size_t{6} << 20}) {
    LoadLog log;
    EXPECT_NE(judged(log.of_probe(card + requests(between) + software, true)), State::healthy);
    EXPECT_NE(judged(log.of_probe("", false)), State::healthy) << between << " at the next probe";
  }
  LoadLog log;
  ASSERT_EQ(judged(log.of_probe(card, true)), State::healthy);
  ASSERT_EQ(judged(log.of_probe("", false)), State::healthy);
  EXPECT_NE(judged(log.of_probe(software, false)), State::healthy) << "a reload";
  EXPECT_NE(judged(log.of_probe("", false)), State::healthy);
}

TEST(LoadLog, LoadThatArrivesInTwoPartsIsRememberedWhole) {
  const std::string load = recorded("llvmpipe-full.log");
  for (std::size_t at = load.find('\n'); at != std::string::npos; at = load.find('\n', at + 1)) {
    LoadLog log;
    (void)log.of_probe(load.substr(0, at + 1), true);
    const bool begun = log.loaded();
    (void)log.of_probe(load.substr(at + 1), false);
    if (!begun) continue;
    EXPECT_EQ(log.of_probe("", false), load) << "cut at " << at;
  }
}

TEST(LoadLog, HoldsNoMoreThanItsBound) {
  LoadLog log;
  const std::string load = recorded("cuda-full.log");
  for (int i = 0; i < 20; ++i) (void)log.of_probe(requests(1 << 20) + load, false);
  EXPECT_LE(log.of_probe("", false).size(), LoadLog::kMost);
  EXPECT_TRUE(log.of_probe("", false).ends_with(load));
}

}  // namespace
}  // namespace picchio
