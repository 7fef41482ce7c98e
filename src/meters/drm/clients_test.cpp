#include "meters/drm/clients.h"

#include <gtest/gtest.h>

namespace picchio::meters::drm {
namespace {

using std::chrono::milliseconds;

Sighting sight(int pid, std::string_view text, int device = 0, bool unified = false) {
  return {.pid = pid, .device = device, .unified = unified, .client = *parse_fdinfo(text)};
}

std::string xe(int id, int cycles, int total) {
  return "drm-driver: xe\ndrm-client-id: " + std::to_string(id) +
         "\ndrm-cycles-ccs: " + std::to_string(cycles) +
         "\ndrm-total-cycles-ccs: " + std::to_string(total) + "\n";
}

std::string timed(std::string_view driver, int id,
                  const std::vector<std::pair<std::string, long>>& engines) {
  std::string text =
      "drm-driver: " + std::string(driver) + "\ndrm-client-id: " + std::to_string(id) + "\n";
  for (const auto& [name, ns] : engines) {
    text += "drm-engine-" + name + ": " + std::to_string(ns) + " ns\n";
  }
  return text;
}

constexpr int kPids[] = {7, 8};

TEST(ClientBook, BusyIsTimeOverIntervalAndCapacity) {
  struct Case {
    const char* what;
    std::string before;
    std::string after;  // 100 ms later
    std::optional<double> busy;
  };
  const Case cases[] = {
      {"a quarter", timed("i915", 1, {{"render", 5'000'000}}),
       timed("i915", 1, {{"render", 30'000'000}}), 25.0},
      {"render and compute add up", timed("i915", 1, {{"render", 0}, {"compute", 0}}),
       timed("i915", 1, {{"render", 10'000'000}, {"compute", 20'000'000}}), 30.0},
      {"copies and video do not count",
       timed("i915", 1, {{"render", 0}, {"copy", 0}, {"video", 0}}),
       timed("i915", 1, {{"render", 0}, {"copy", 90'000'000}, {"video", 90'000'000}}), 0.0},
      {"never above all of it", timed("v3d", 1, {{"render", 0}}),
       timed("v3d", 1, {{"render", 900'000'000}}), 100.0},
      {"two instances", timed("i915", 1, {{"compute", 0}}) + "drm-engine-capacity-compute: 2\n",
       timed("i915", 1, {{"compute", 100'000'000}}) + "drm-engine-capacity-compute: 2\n", 50.0},
      {"a counter that steps back", timed("i915", 1, {{"render", 50'000'000}}),
       timed("i915", 1, {{"render", 10'000'000}}), 0.0},
      {"ticks", xe(1, 100, 1000), xe(1, 400, 2000), 30.0},
      {"ticks of a clock that stands", xe(1, 100, 1000), xe(1, 400, 1000), std::nullopt},
      {"amdgpu shows an engine once it is used", timed("amdgpu", 1, {}),
       timed("amdgpu", 1, {{"compute", 40'000'000}}), 40.0},
      {"amdgpu shows none: not used", timed("amdgpu", 1, {}), timed("amdgpu", 1, {}), 0.0},
      {"nouveau shows none: not told", timed("nouveau", 1, {}), timed("nouveau", 1, {}),
       std::nullopt},
      {"a new client", timed("i915", 1, {}), timed("i915", 2, {{"render", 50'000'000}}),
       std::nullopt},
  };
  for (const Case& each : cases) {
    ClientBook book;
    const Sighting before = sight(7, each.before);
    book.look(milliseconds(1000), {&before, 1});
    ASSERT_FALSE(book.use(kPids).empty()) << each.what;
    EXPECT_EQ(book.use(kPids)[0].busy_percent, std::nullopt) << each.what << ", first look";
    const Sighting after = sight(7, each.after);
    book.look(milliseconds(1100), {&after, 1});
    const auto use = book.use(kPids);
    ASSERT_EQ(use.size(), 1U) << each.what;
    ASSERT_EQ(use[0].busy_percent.has_value(), each.busy.has_value()) << each.what;
    EXPECT_NEAR(use[0].busy_percent.value_or(-1), each.busy.value_or(-1), 1e-9) << each.what;
  }
}

TEST(ClientBook, AClientSeenTwiceCountsOnceForTheFirst) {
  const std::string text =
      timed("i915", 5, {{"render", 1'000'000'000}}) + "drm-resident-local0: 4 MiB\n";
  const Sighting looks[] = {sight(7, text), sight(7, text), sight(8, text), sight(8, text, 1)};
  ClientBook book;
  book.look(milliseconds(0), looks);
  const auto use = book.use(kPids);
  ASSERT_EQ(use.size(), 2U) << "the same id on another device is another client";
  EXPECT_EQ(use[0].pid, 7);
  EXPECT_EQ(use[0].memory_bytes, 4 << 20);
  EXPECT_EQ(use[1].pid, 8);
  EXPECT_EQ(use[1].device, 1);
}

TEST(ClientBook, SumsClientsAndKeepsTheTimeOfClosedOnes) {
  const std::string memory = "drm-resident-vram: 1 MiB\namd-evicted-vram: 2 KiB\n";
  const Sighting both[] = {sight(7, timed("amdgpu", 1, {{"gfx", 2'000'000'000}}) + memory),
                           sight(7, timed("amdgpu", 2, {{"gfx", 3'000'000'000}}) + memory)};
  ClientBook book;
  book.look(milliseconds(0), both);
  EXPECT_EQ(book.use(kPids)[0].gpu_seconds, 5.0);
  EXPECT_EQ(book.use(kPids)[0].memory_bytes, 2 << 20);
  EXPECT_EQ(book.use(kPids)[0].evicted_bytes, 4096);
  book.look(milliseconds(100), {both, 1});
  EXPECT_EQ(book.use(kPids)[0].gpu_seconds, 5.0);
  EXPECT_EQ(book.use(kPids)[0].memory_bytes, 1 << 20);
  book.look(milliseconds(200), {});
  ASSERT_EQ(book.use(kPids).size(), 1U);
  EXPECT_EQ(book.use(kPids)[0].gpu_seconds, 5.0);
  EXPECT_EQ(book.use(kPids)[0].memory_bytes, std::nullopt);
  EXPECT_EQ(book.use(kPids)[0].busy_percent, std::nullopt);
  book.forget(7);
  EXPECT_TRUE(book.use(kPids).empty());
}

TEST(ClientBook, SecondsOfTicksBeginAtTheFirstLook) {
  ClientBook book;
  int cycles = 500;
  int total = 1000;
  std::optional<double> seconds;
  for (int look = 0; look <= 10; ++look) {
    const Sighting one = sight(7, xe(1, cycles, total));
    book.look(milliseconds(100 * look), {&one, 1});
    seconds = book.use(kPids)[0].gpu_seconds;
    cycles += 250;
    total += 1000;
  }
  ASSERT_TRUE(seconds);
  EXPECT_NEAR(*seconds, 0.25, 1e-9);
}

TEST(Clients, MemoryIsTheDevicesOwnOrAllWhereUnified) {
  struct Case {
    const char* what;
    const char* regions;
    std::optional<std::int64_t> own;
    std::optional<std::int64_t> unified;
  };
  const Case cases[] = {
      {"APU with its weights in GTT",
       "drm-memory-vram: 5348 KiB\ndrm-memory-gtt: 25258000 KiB\ndrm-memory-cpu: 9 MiB\n",
       5348LL << 10, (5348LL + 25258000) << 10},
      {"i915", "drm-resident-system0: 3 MiB\ndrm-resident-local0: 5 MiB\n", 5 << 20, 8 << 20},
      {"xe", "drm-resident-vram0: 1 MiB\ndrm-resident-gtt: 2 MiB\ndrm-resident-system: 4 MiB\n",
       1 << 20, 7 << 20},
      {"msm", "drm-resident-memory: 6 MiB\n", std::nullopt, 6 << 20},
      {"v3d tells a total only", "drm-total-memory: 6 MiB\n", std::nullopt, 6 << 20},
      {"none told", "", std::nullopt, std::nullopt},
      {"nonsense", "drm-total-vram0: 1048576 GiB\ndrm-total-vram1: 1 GiB\n", std::nullopt,
       std::nullopt},
  };
  for (const Case& each : cases) {
    const auto client = parse_fdinfo(std::string("drm-driver: x\n") + each.regions);
    ASSERT_TRUE(client) << each.what;
    EXPECT_EQ(memory_of(*client, false), each.own) << each.what;
    EXPECT_EQ(memory_of(*client, true), each.unified) << each.what;
  }
}

}  // namespace
}  // namespace picchio::meters::drm
