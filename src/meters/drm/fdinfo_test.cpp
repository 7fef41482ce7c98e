#include "meters/drm/fdinfo.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace picchio::meters::drm {
namespace {

const EngineUse* engine(const Client& client, std::string_view name) {
  const auto found = std::ranges::find(client.engines, name, &EngineUse::name);
  return found == client.engines.end() ? nullptr : &*found;
}

const RegionUse* region(const Client& client, std::string_view name) {
  const auto found = std::ranges::find(client.regions, name, &RegionUse::name);
  return found == client.regions.end() ? nullptr : &*found;
}

constexpr std::string_view kAmdgpu =
    "pos:\t0\nflags:\t02100002\nmnt_id:\t24\nino:\t512\n"
    "drm-driver:\tamdgpu\ndrm-client-id:\t45\ndrm-pdev:\t0000:C3:00.0\npasid:\t32786\n"
    "drm-total-vram:\t5500 KiB\ndrm-shared-vram:\t0\ndrm-active-vram:\t0\n"
    "drm-resident-vram:\t5348 KiB\ndrm-purgeable-vram:\t0\n"
    "drm-memory-vram:\t5348 KiB\ndrm-memory-gtt: \t25258000 KiB\ndrm-memory-cpu: \t3 MiB\n"
    "amd-evicted-vram:\t12 KiB\namd-requested-vram:\t5360 KiB\n"
    "drm-engine-gfx:\t1234567890 ns\ndrm-engine-compute:\t22 ns\n";

TEST(FdInfo, ReadsAmdgpu) {
  const auto client = parse_fdinfo(kAmdgpu);
  ASSERT_TRUE(client);
  EXPECT_EQ(client->driver, "amdgpu");
  EXPECT_EQ(client->address, "0000:c3:00.0");
  EXPECT_EQ(client->id, 45U);
  EXPECT_FALSE(client->percent_format);
  EXPECT_EQ(client->evicted_vram, 12 * 1024);
  ASSERT_EQ(client->engines.size(), 2U);
  EXPECT_EQ(engine(*client, "gfx")->busy_ns, 1234567890U);
  ASSERT_EQ(client->regions.size(), 3U);
  EXPECT_EQ(region(*client, "vram")->resident, 5348 * 1024);
  EXPECT_EQ(region(*client, "vram")->total, 5500 * 1024);
  EXPECT_EQ(region(*client, "vram")->in_use(), 5348 * 1024);
  EXPECT_EQ(region(*client, "gtt")->in_use(), 25258000LL * 1024);
}

TEST(FdInfo, ReadsEnginesOfEachDriver) {
  using Count = std::optional<std::uint64_t>;
  struct Case {
    const char* what;
    const char* text;
    const char* name;
    Count busy_ns;
    std::int64_t capacity;
    Count cycles;
    Count total_cycles;
  };
  const Case cases[] = {
      {"i915 with two instances",
       "drm-driver: i915\ndrm-engine-capacity-video:\t2\ndrm-engine-video:\t9288864723 ns\n",
       "video",
       9288864723U,
       2,
       {},
       {}},
      {"xe counts ticks",
       "drm-driver:\txe\ndrm-cycles-ccs:\t28257900\ndrm-total-cycles-ccs:\t7655183225\n",
       "ccs",
       {},
       1,
       28257900U,
       7655183225U},
      {"msm has both, and a frequency that is no engine",
       "drm-driver:\tmsm\ndrm-engine-gpu:\t5 ns\ndrm-cycles-gpu:\t70\ndrm-maxfreq-gpu:\t9 Hz\n",
       "gpu",
       5U,
       1,
       70U,
       {}},
      {"blanks around the value",
       "drm-driver:\tpanfrost\ndrm-engine-vertex-tiler:   77    ns  \r\n",
       "vertex-tiler",
       77U,
       1,
       {},
       {}},
      {"no capacity of nothing",
       "drm-driver:\tx\ndrm-engine-a:\t1 ns\ndrm-engine-capacity-a:\t0\n",
       "a",
       1U,
       1,
       {},
       {}},
  };
  for (const Case& each : cases) {
    const auto client = parse_fdinfo(each.text);
    ASSERT_TRUE(client) << each.what;
    ASSERT_EQ(client->engines.size(), 1U) << each.what;
    const EngineUse* found = engine(*client, each.name);
    ASSERT_NE(found, nullptr) << each.what;
    EXPECT_EQ(found->busy_ns, each.busy_ns) << each.what;
    EXPECT_EQ(found->capacity, each.capacity) << each.what;
    EXPECT_EQ(found->cycles, each.cycles) << each.what;
    EXPECT_EQ(found->total_cycles, each.total_cycles) << each.what;
  }
}

TEST(FdInfo, NamesTheOldPercentFormat) {
  const auto client = parse_fdinfo(
      "pos:\t0\nflags:\t02\npdev:\t0000:03:00.0\npasid:\t32771\nvram mem:\t2048 kB\n"
      "gtt mem:\t10 kB\ncpu mem:\t0 kB\ngfx0:\t12.34%\n");
  ASSERT_TRUE(client);
  EXPECT_TRUE(client->percent_format);
  EXPECT_EQ(client->driver, "amdgpu");
  EXPECT_EQ(client->address, "0000:03:00.0");
  EXPECT_EQ(client->id, 32771U);
  EXPECT_TRUE(client->engines.empty());
  EXPECT_EQ(region(*client, "vram")->in_use(), 2048 * 1024);
}

TEST(FdInfo, LeavesOutWhatItCannotRead) {
  struct Case {
    const char* what;
    const char* line;
  };
  const Case cases[] = {
      {"a time in another unit", "drm-engine-gfx:\t12 us"},
      {"a time without a number", "drm-engine-gfx:\tns"},
      {"a negative time", "drm-engine-gfx:\t-1 ns"},
      {"a number past 64 bits", "drm-engine-gfx:\t18446744073709551616 ns"},
      {"no name", "drm-engine-:\t1 ns"},
      {"bytes past a PiB", "drm-resident-vram:\t18446744073709551615"},
      {"KiB past a PiB", "drm-resident-vram:\t1099511627777 KiB"},
      {"an unknown unit", "drm-resident-vram:\t5 pages"},
      {"no colon", "drm-engine-gfx\t1 ns"},
  };
  for (const Case& each : cases) {
    const auto client = parse_fdinfo(std::string("drm-driver:\tx\n") + each.line + "\n");
    ASSERT_TRUE(client) << each.what;
    for (const EngineUse& use : client->engines) EXPECT_FALSE(use.busy_ns) << each.what;
    for (const RegionUse& use : client->regions) EXPECT_FALSE(use.in_use()) << each.what;
  }
}

TEST(FdInfo, TakesOnlySoManyNames) {
  std::string text = "drm-driver:\tx\n";
  for (int i = 0; i < 1000; ++i) text += "drm-engine-e" + std::to_string(i) + ":\t1 ns\n";
  text += "drm-engine-" + std::string(100000, 'n') + ":\t1 ns\n";
  const auto client = parse_fdinfo(text);
  ASSERT_TRUE(client);
  EXPECT_EQ(client->engines.size(), 64U);
}

TEST(FdInfo, OtherFilesAreNoClients) {
  const char* const texts[] = {
      "",
      "pos:\t0\nflags:\t0100002\nmnt_id:\t15\nino:\t1057\neventfd-count:\t0\n",
      "pdev:\t0000:03:00.0\n",
      "drm-driver:\n",
      "drm-client-id:\t4\ndrm-engine-gfx:\t1 ns\n",
  };
  for (const char* text : texts) EXPECT_FALSE(parse_fdinfo(text)) << text;
}

}  // namespace
}  // namespace picchio::meters::drm
