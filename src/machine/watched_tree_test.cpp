// A process tree that changes while it is watched, on trees made up here and on a real one.
#include "machine/watched_tree.h"

#include "os/made_up_tree.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

namespace picchio {
namespace {

struct Process {
  int pid = 0;
  int parent = 1;
  std::string comm = "llama-server";
  char state = 'S';
  int ticks = 0;
  int start = 777;
  std::vector<std::string> open = {};
  std::string maps = {};
};

void put(const MadeUpTree& tree, const Process& p) {
  const std::string dir = "/proc/" + std::to_string(p.pid);
  std::filesystem::remove_all(tree.root() + dir);
  tree.file(dir + "/stat", std::to_string(p.pid) + " (" + p.comm + ") " + p.state + " " +
                               std::to_string(p.parent) + " 1 1 0 -1 4 1 0 0 0 " +
                               std::to_string(p.ticks) + " 0 0 0 20 0 1 0 " +
                               std::to_string(p.start) + " 1 1 1\n");
  tree.file(dir + "/comm", p.comm + "\n");
  tree.file(dir + "/maps", p.maps);
  tree.dir(dir + "/fd");
  for (std::size_t i = 0; i < p.open.size(); ++i) {
    tree.link(dir + "/fd/" + std::to_string(i), p.open[i]);
  }
}

using Names = std::vector<std::string>;

TEST(WatchedTree, ChildrenComeAndGo) {
  const MadeUpTree tree;
  put(tree, {.pid = 10, .comm = "ollama", .ticks = 100});
  auto watched = WatchedTree::of(tree.root(), 10, 0);
  ASSERT_TRUE(watched);
  EXPECT_EQ(watched->name(), "ollama");
  EXPECT_TRUE(watched->look(Micros{0}));
  put(tree, {.pid = 10, .comm = "ollama2", .ticks = 100});
  put(tree, {.pid = 11, .parent = 10, .comm = "runner", .ticks = 50, .open = {"/dev/nvidia0"}});
  put(tree, {.pid = 99, .comm = "stranger", .ticks = 5000, .open = {"/dev/kfd"}});
  EXPECT_TRUE(watched->look(Micros{1'000'000}));
  EXPECT_EQ(watched->pids(), (std::vector<int>{10, 11}));
  EXPECT_EQ(watched->name(), "ollama2");
  put(tree, {.pid = 12, .parent = 10, .comm = "runner2", .maps = "7f-80 r--p 0 0:0 1 /dev/dxg\n"});
  std::filesystem::remove_all(tree.root() + "/proc/11");
  EXPECT_TRUE(watched->look(Micros{2'000'000}));
  ASSERT_EQ(watched->members().size(), 3U);
  EXPECT_EQ(watched->members()[1].name, "runner");
  EXPECT_EQ(watched->members()[1].first, Micros{1'000'000});
  EXPECT_EQ(watched->members()[1].last, Micros{1'000'000});
  EXPECT_EQ(watched->members()[0].last, Micros{2'000'000});
  EXPECT_EQ(watched->device_nodes(), (Names{"/dev/dxg", "/dev/nvidia0"}));
  EXPECT_TRUE(watched->readable());
  ASSERT_EQ(watched->cpu().size(), 3U);
  EXPECT_GT(watched->cpu()[1].cpu_seconds, watched->cpu()[0].cpu_seconds);
}

TEST(WatchedTree, EndsWithItsTarget) {
  const MadeUpTree tree;
  put(tree, {.pid = 10});
  auto watched = WatchedTree::of(tree.root(), 10, 0);
  ASSERT_TRUE(watched);
  put(tree, {.pid = 10, .start = 778});  // the same number, another process
  EXPECT_FALSE(watched->look(Micros{0}));
  EXPECT_TRUE(watched->pids().empty());
  put(tree, {.pid = 10, .state = 'Z'});
  EXPECT_FALSE(watched->look(Micros{0}));
  std::filesystem::remove_all(tree.root() + "/proc/10");
  EXPECT_FALSE(watched->look(Micros{0}));
}

TEST(WatchedTree, WhoIsNotThereIsNotWatched) {
  const MadeUpTree tree;
  EXPECT_EQ(WatchedTree::of(tree.root(), 10, 0).error().message, "there is no process 10");
  put(tree, {.pid = 10, .state = 'Z'});
  EXPECT_EQ(WatchedTree::of(tree.root(), 10, 0).error().kind, ErrorKind::not_found);
}

TEST(WatchedTree, WeOurselvesDoNotCount) {
  const MadeUpTree tree;
  put(tree, {.pid = 10, .comm = "sh", .ticks = 100});
  put(tree, {.pid = 11, .parent = 10, .comm = "picchio", .ticks = 70, .open = {"/dev/nvidiactl"}});
  auto watched = WatchedTree::of(tree.root(), 10, 11);
  ASSERT_TRUE(watched);
  EXPECT_TRUE(watched->look(Micros{0}));
  EXPECT_EQ(watched->pids(), std::vector<int>{10});
  EXPECT_TRUE(watched->device_nodes().empty());
  ASSERT_EQ(watched->cpu().size(), 1U);
  EXPECT_NEAR(watched->cpu()[0].cpu_seconds * static_cast<double>(::sysconf(_SC_CLK_TCK)), 100,
              0.01);
}

TEST(WatchedTree, OneWhoseFilesAreHiddenMakesItUnreadable) {
  const MadeUpTree tree;
  put(tree, {.pid = 10});
  put(tree, {.pid = 11, .parent = 10});
  auto watched = WatchedTree::of(tree.root(), 10, 0);
  ASSERT_TRUE(watched);
  EXPECT_TRUE(watched->look(Micros{0}));
  EXPECT_TRUE(watched->readable());
  std::filesystem::remove_all(tree.root() + "/proc/11/fd");
  EXPECT_TRUE(watched->look(Micros{1}));
  EXPECT_FALSE(watched->readable());
  put(tree, {.pid = 11, .parent = 10});
  EXPECT_TRUE(watched->look(Micros{2}));
  EXPECT_FALSE(watched->readable());  // what it had open meanwhile, nobody knows
}

TEST(WatchedTree, OfThisProcess) {
  auto watched = WatchedTree::of("/", ::getpid(), 0);
  ASSERT_TRUE(watched);
  EXPECT_TRUE(watched->look(Micros{0}));
  EXPECT_EQ(watched->pids(), std::vector<int>{::getpid()});
  EXPECT_TRUE(watched->readable());
}

}  // namespace
}  // namespace picchio
