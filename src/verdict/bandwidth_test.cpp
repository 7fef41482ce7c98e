#include "verdict/bandwidth.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace picchio {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

std::string file_text(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

TEST(Bandwidth, TheProgramHoldsTheWholeFile) {
  const auto file =
      parse_bandwidth_table(file_text(std::string(PICCHIO_SOURCE_DIR) + "/data/bandwidth.csv"));
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_GT(file->size(), 200U);
  EXPECT_EQ(file->size(), bandwidth_table().size());
}

TEST(Bandwidth, EveryRowIsFoundByItsOwnName) {
  for (const BandwidthRow& row : bandwidth_table()) {
    std::optional<std::int64_t> memory;
    if (row.memory_gib) memory = *row.memory_gib * 1024 * kMiB;
    const auto peak = find_peak(row.name, memory, row.gpu_cores);
    ASSERT_TRUE(peak) << row.name;
    EXPECT_EQ(peak->row, row.name);
    EXPECT_EQ(peak->bytes_per_second, row.bytes_per_second) << row.name;
    EXPECT_EQ(peak->own_memory, row.own_memory) << row.name;
    EXPECT_EQ(peak->sure, row.confidence != Confidence::low) << row.name;
    // The fastest device of today, and the slowest that anybody runs a model on.
    EXPECT_GE(row.bytes_per_second, 30e9) << row.name;
    EXPECT_LE(row.bytes_per_second, 8000e9) << row.name;
    EXPECT_FALSE(row.source.empty()) << row.name;
  }
}

struct Named {
  const char* name;
  std::int64_t mib;  // 0: not told
  double gb;         // 0: no answer
  bool sure = true;
};

constexpr double kNone = 0;

// As NVML, CUDA, Vulkan (the vendors' drivers and Mesa's), ROCm, SYCL, Metal and pci.ids print
// them.
constexpr Named kNames[] = {
    {"NVIDIA GeForce RTX 4090", 24081, 1008},
    {"GeForce RTX 4090", 0, 1008},
    {"nvidia geforce rtx 4090", 0, 1008},
    {"NVIDIA GeForce RTX 4090 (NVK AD102)", 0, 1008},
    {"NVIDIA Corporation AD102 [GeForce RTX 4090]", 0, 1008},
    {"NVIDIA GeForce RTX 4090 Laptop GPU", 16376, 576},
    {"NVIDIA GeForce RTX 4090 D", 24564, 1008},
    {"NVIDIA GeForce RTX 4090 Ti", 0, kNone},
    {"NVIDIA GeForce RTX 5090", 32607, 1792},
    {"NVIDIA GeForce RTX 5090 Laptop GPU", 24463, 896},
    {"NVIDIA GeForce RTX 5070 Ti", 16303, 896},
    {"NVIDIA GeForce RTX 5070 Ti Laptop GPU", 0, 672},
    {"NVIDIA GeForce RTX 5060 Laptop GPU", 8151, 448, false},
    {"NVIDIA GeForce RTX 4080 SUPER", 0, 736},
    {"NVIDIA GeForce RTX 4080", 0, 716.8},
    {"NVIDIA GeForce RTX 4070 Ti SUPER", 0, 672},
    {"NVIDIA GeForce RTX 4070 Ti", 0, 504},
    {"NVIDIA GeForce RTX 3080", 10009, 760},
    {"NVIDIA GeForce RTX 3080", 12044, 912},
    {"NVIDIA GeForce RTX 3080", 0, 912, false},
    {"NVIDIA GeForce RTX 3080 Ti", 12044, 912},
    {"NVIDIA GeForce RTX 3080 Ti Laptop GPU", 0, 512},
    {"NVIDIA GeForce RTX 3060", 12044, 360},
    {"NVIDIA GeForce RTX 3060", 8191, 240},
    {"NVIDIA GeForce RTX 3060 Ti", 8191, 608, false},
    {"NVIDIA GeForce RTX 3050 6GB Laptop GPU", 6143, kNone},
    {"NVIDIA GeForce RTX 2080 with Max-Q Design", 0, 384},
    {"NVIDIA GeForce RTX 2080 Super with Max-Q Design", 0, kNone},
    {"NVIDIA GeForce GTX 1060 3GB", 3011, 192},
    {"NVIDIA GeForce GTX 1060", 0, kNone},
    {"NVIDIA GeForce GTX 1650", 0, 192, false},
    {"Quadro RTX 6000", 0, 672},
    {"NVIDIA RTX 6000 Ada Generation", 0, 960},
    {"NVIDIA RTX A2000 12GB", 12028, 288},
    {"NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 0, 1792},
    {"NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", 0, 1792},
    {"NVIDIA RTX PRO 6000 Blackwell Server Edition", 0, 1597.6},
    {"NVIDIA H200", 143771, 4800},
    {"NVIDIA GH200 480GB", 97871, 4000},
    {"NVIDIA GH200 144G HBM3e", 0, 4900},
    {"NVIDIA H100 80GB HBM3", 81559, 3352},
    {"NVIDIA H100 PCIe", 81559, 2039},
    {"NVIDIA H100 NVL", 95830, 3938},
    {"NVIDIA H100", 0, kNone},
    {"NVIDIA A100-SXM4-40GB", 40536, 1555},
    {"NVIDIA A100-SXM4-80GB", 81920, 2039},
    {"NVIDIA A100 80GB PCIe", 81920, 1935},
    {"NVIDIA A100-SXM4-40GB MIG 1g.5gb", 4864, 1555, false},
    {"NVIDIA A10G", 0, 600},
    {"GRID A100-10C", 0, kNone},
    {"NVIDIA L4", 23034, 300},
    {"NVIDIA L40S", 0, 864},
    {"Tesla T4", 15360, 320},
    {"NVIDIA T4", 15360, 320},
    {"NVIDIA T4G", 0, kNone},
    {"Tesla M40 24GB", 24478, 288},
    {"Tesla V100-SXM2-16GB", 16384, 898},
    {"Tesla P100-PCIE-16GB", 16280, 732},
    {"Tesla P100-PCIE-12GB", 12198, 549},
    {"NVIDIA GB10", 0, 273},
    {"Orin", 62841, 204.8, false},
    {"Orin (nvgpu)", 15656, 102.4, false},
    {"NVIDIA GeForce GTX 970/PCIe/SSE2", 0, kNone},
    {"AMD Radeon RX 7900 XTX", 24560, 960},
    {"AMD Radeon RX 7900 XTX (RADV NAVI31)", 24560, 960},
    {"Radeon RX 7900 XT", 0, 800},
    {"AMD Radeon RX 7900 XT/7900 XTX/7900 GRE/7900M", 0, 960, false},
    {"Navi 31 [Radeon RX 7900 XT/7900 XTX/7900 GRE/7900M]", 0, 960, false},
    {"AMD Radeon RX 6800 / 6800 XT", 0, 512},
    {"AMD Radeon RX 7900 XTX / 7950 XTX", 0, kNone},
    {"AMD Radeon RX 7900 Series", 0, kNone},
    {"AMD Instinct MI250X / MI250", 0, 1638},
    {"AMD Instinct MI60 / MI50", 0, 1024},
    {"AMD Instinct MI300X OAM", 0, 5300},
    {"AMD Instinct MI300X VF", 0, 5300},
    {"Radeon Instinct MI50 32GB", 0, 1024},
    {"AMD Radeon VII", 0, 1024},
    {"AMD Radeon Pro VII", 0, 1024},
    {"AMD Radeon PRO W7800", 49136, 864},
    {"AMD Radeon 8060S Graphics (RADV GFX1151)", 0, 256},
    {"AMD Radeon 780M Graphics (RADV PHOENIX)", 0, 136.5, false},
    {"AMD Radeon Graphics", 0, kNone},
    {"gfx1100", 0, kNone},
    {"Intel(R) Arc(TM) A770 Graphics", 15473, 560},
    {"Intel(R) Arc(tm) A770 Graphics (DG2)", 8064, 512},
    {"Intel Arc B580 Graphics", 0, 456},
    {"Intel(R) Arc(TM) Graphics", 0, kNone},
    {"Intel(R) UHD Graphics 770", 0, kNone},
    {"Apple M1", 0, 68.3},
    {"Apple M1 Max", 0, 400},
    {"Apple M3 Max", 0, 400, false},
    {"Apple M4", 0, 120},
    {"Apple M4 Pro", 0, 273},
    {"Apple M4 Max", 0, 546, false},
    {"Apple M9", 0, kNone},
    {"M4", 0, kNone},
    {"Qualcomm(R) Adreno(TM) X1-85 GPU", 0, 135.2},
    {"llvmpipe (LLVM 22.1.8, 256 bits)", 0, kNone},
    {"Microsoft Direct3D12 (NVIDIA GeForce RTX 4090)", 0, kNone},
    {"", 0, kNone},
    {"NVIDIA", 0, kNone},
    {"((((", 0, kNone},
    {"////", 0, kNone},
};

TEST(Bandwidth, NamesAreReadWholeOrNotAtAll) {
  for (const Named& each : kNames) {
    const auto memory = each.mib > 0 ? std::optional(each.mib * kMiB) : std::nullopt;
    const auto peak = find_peak(each.name, memory);
    if (each.gb == kNone) {
      EXPECT_FALSE(peak) << each.name << " was taken for " << peak->row;
      continue;
    }
    ASSERT_TRUE(peak) << each.name;
    EXPECT_DOUBLE_EQ(peak->bytes_per_second, each.gb * 1e9) << each.name << ": " << peak->row;
    EXPECT_EQ(peak->sure, each.sure) << each.name << ": " << peak->row;
  }
}

TEST(Bandwidth, CoresTellAppleChipsApart) {
  EXPECT_DOUBLE_EQ(find_peak("Apple M3 Max", {}, 30)->bytes_per_second, 300e9);
  EXPECT_DOUBLE_EQ(find_peak("Apple M3 Max", {}, 40)->bytes_per_second, 400e9);
  EXPECT_TRUE(find_peak("Apple M3 Max", {}, 30)->sure);
  // A number that nobody sold tells nothing.
  EXPECT_FALSE(find_peak("Apple M3 Max", {}, 7)->sure);
}

TEST(Bandwidth, AWordMoreIsAnotherDevice) {
  for (const BandwidthRow& row : bandwidth_table()) {
    for (const char* word : {"Laptop GPU", "Ti", "SUPER", "XT", "Max-Q", "NVL", "D", "Pro"}) {
      const auto peak = find_peak(row.name + " " + word);
      if (!peak) continue;
      EXPECT_NE(peak->row, row.name) << row.name << " " << word;
    }
  }
}

TEST(Bandwidth, ABadTableSaysWhere) {
  const std::string head = "name,gb_per_s,memory,gib,size_gib,gpu_cores,confidence,source\n";
  const struct {
    std::string text;
    const char* why;
  } cases[] = {
      {"", "line 1"},
      {"name,gb\n", "line 1"},
      {head + "NVIDIA X,1,own,,,,checked\n", "line 2 of the bandwidth table: not eight fields"},
      {head + "NVIDIA X,1,own,,,,checked,a,b\n", "not eight fields"},
      {head + "NVIDIA,1,own,,,,checked,a\n", "a name without a word"},
      {head + "NVIDIA X,fast,own,,,,checked,a\n", "no bandwidth"},
      {head + "NVIDIA X,-1,own,,,,checked,a\n", "no bandwidth"},
      {head + "NVIDIA X,1,owned,,,,checked,a\n", "neither own nor shared"},
      {head + "NVIDIA X,1,own,much,,,checked,a\n", "no memory size"},
      {head + "NVIDIA X,1,own,,lots,,checked,a\n", "no size"},
      {head + "NVIDIA X,1,own,,,many,checked,a\n", "no number of cores"},
      {head + "NVIDIA X,1,own,,,,certain,a\n", "no such confidence"},
  };
  for (const auto& each : cases) {
    const auto table = parse_bandwidth_table(each.text);
    ASSERT_FALSE(table) << each.text;
    EXPECT_NE(table.error().message.find(each.why), std::string::npos) << table.error().message;
  }
}

TEST(Bandwidth, SizesOfTheDataSheet) {
  const struct {
    const char* name;
    std::int64_t gib;  // 0: not told
    std::int64_t given_gib = 0;
  } cases[] = {
      {"RTX 4090", 24},
      {"NVIDIA GeForce RTX 4090 Laptop GPU", 16},
      {"Radeon RX 7900 XTX", 24},
      {"Intel(R) Arc(TM) B580 Graphics", 12},
      {"RTX 3080", 0},  // 10 or 12
      {"RTX 3080", 12, 12},
      {"RTX 4060 Ti", 0},  // 8 or 16
      {"RX 7900 XT/7900 XTX", 0},
      {"RTX 3070/3070 Ti", 8},
      {"NVIDIA A100-SXM4-80GB MIG 1g.10gb", 0},
      {"Apple M4", 0},
  };
  for (const auto& each : cases) {
    const auto given = each.given_gib > 0 ? std::optional(each.given_gib << 30) : std::nullopt;
    const auto peak = find_peak(each.name, given);
    ASSERT_TRUE(peak) << each.name;
    EXPECT_EQ(peak->size_bytes.value_or(0), each.gib << 30) << each.name;
  }
  for (const BandwidthRow& row : bandwidth_table()) {
    if (!row.size_gib) continue;
    EXPECT_TRUE(row.own_memory) << row.name;
    EXPECT_EQ(row.memory_gib.value_or(*row.size_gib), *row.size_gib) << row.name;
    EXPECT_GE(*row.size_gib, 3) << row.name;
    EXPECT_LE(*row.size_gib, 288) << row.name;
  }
}

TEST(Bandwidth, OneDeviceUnderTwoNames) {
  EXPECT_TRUE(same_device_name("NVIDIA GeForce RTX 4090", "GeForce RTX 4090"));
  EXPECT_TRUE(same_device_name("AMD Radeon RX 7900 XTX (RADV NAVI31)", "AMD Radeon RX 7900 XTX"));
  EXPECT_FALSE(same_device_name("NVIDIA GeForce RTX 4090", "NVIDIA GeForce RTX 4090 Laptop GPU"));
  EXPECT_FALSE(same_device_name("", ""));
  EXPECT_FALSE(same_device_name("NVIDIA", "AMD"));
}

}  // namespace
}  // namespace picchio
