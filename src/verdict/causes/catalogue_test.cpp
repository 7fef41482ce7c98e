#include "verdict/causes/catalogue.h"

#include "verdict/causes/causes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>

namespace picchio {
namespace {

/// Named by the look at the machine alone (verdict/doctor), never by a log.
const std::set<std::string_view> kOfTheMachine = {
    "driver_not_loaded",     "nouveau_bound",     "device_node_missing",
    "cgroup_device_refused", "sandbox_hides_gpu",
};

TEST(Catalogue, HoldsEveryRowOfTheTableAndNothingThatNobodyNames) {
  std::set<std::string_view> named = kOfTheMachine;
  for (const CauseRow& row : cause_rows()) {
    if (row.id.empty()) continue;  // what was seen of the machine, by whatever name
    EXPECT_NE(find_cause_entry(row.id), nullptr) << row.id;
    EXPECT_EQ(row.find == nullptr, !row.wordings.empty()) << row.id;
    named.insert(row.id);
  }
  for (const CauseEntry& entry : cause_catalogue()) {
    EXPECT_TRUE(named.contains(entry.id)) << entry.id;
  }
  EXPECT_GE(cause_catalogue().size(), 40u);
}

TEST(Catalogue, EntriesAreWholeAndTheirIdsAreDistinct) {
  std::set<std::string_view> seen;
  for (const CauseEntry& entry : cause_catalogue()) {
    EXPECT_TRUE(seen.insert(entry.id).second) << entry.id;
    EXPECT_TRUE(entry.sentence.ends_with('.')) << entry.id;
    EXPECT_FALSE(entry.evidence.empty()) << entry.id;
    EXPECT_FALSE(entry.evidence.contains('|')) << entry.id << ": ends a table's cell";
    EXPECT_TRUE(entry.reference.empty() || entry.reference.starts_with("https://")) << entry.id;
  }
}

TEST(Catalogue, RemediesFitTheBlockAndTheLastHoldsEverywhere) {
  const std::set<std::string_view> places = {"",      "container", "wsl",  "windows", "macos",
                                             "linux", "debian",    "snap", "flatpak"};
  const std::set<std::string_view> vendors = {"", "NVIDIA", "AMD", "Intel"};
  for (const CauseEntry& entry : cause_catalogue()) {
    for (const Remedy& remedy : entry.remedies) {
      EXPECT_LE(remedy.text.size(), kRemedyColumns) << remedy.text;
      EXPECT_TRUE(places.contains(remedy.place)) << remedy.place;
      EXPECT_TRUE(vendors.contains(remedy.vendor)) << remedy.vendor;
    }
    if (entry.remedies.empty()) continue;
    const Remedy& last = entry.remedies.back();
    EXPECT_TRUE(last.engine.empty() && last.place.empty() && last.vendor.empty()) << entry.id;
    EXPECT_TRUE(entry.effect != Effect::none) << entry.id << ": no fault needs no remedy";
  }
}

struct Chosen {
  const char* id;
  std::string_view engine;
  std::string_view place;
  std::string_view vendor;
  const char* words;  // in the remedy
};

TEST(Catalogue, TheRemedyIsOfTheEngineThePlaceAndTheVendor) {
  constexpr Chosen kCases[] = {
      {"ngl_not_set", "koboldcpp", "", "", "--gpulayers"},
      {"ngl_not_set", "ollama", "", "", "num_gpu"},
      {"ngl_not_set", "llama.cpp", "", "", "-ngl 99"},
      {"ngl_not_set", "", "", "", "-ngl 99"},
      {"device_permission", "llama.cpp", "linux", "AMD", "usermod -aG render,video $USER"},
      {"device_permission", "ollama", "linux", "AMD", "usermod -aG render,video ollama"},
      {"device_permission", "ollama", "container", "AMD", "--group-add"},
      {"container_without_gpu", "", "container", "NVIDIA", "--gpus all"},
      {"container_without_gpu", "", "container", "Intel", "/dev/dri"},
      {"cpu_only_build", "llama.cpp", "linux", "NVIDIA", "GGML_CUDA"},
      {"cpu_only_build", "llama.cpp", "linux", "AMD", "ROCm"},
      {"driver_library_missing", "", "wsl", "NVIDIA", "wsl --update"},
      {"vram_overcommit", "", "windows", "NVIDIA", "Sysmem"},
      {"no_gpu_in_machine", "", "linux", "", ""},
  };
  for (const Chosen& c : kCases) {
    const CauseEntry* entry = find_cause_entry(c.id);
    ASSERT_NE(entry, nullptr) << c.id;
    const std::array<std::string_view, 1> places = {c.place};
    const std::string_view fix = remedy_for(*entry, {c.engine, places, c.vendor});
    EXPECT_TRUE(fix.contains(c.words)) << c.id << ": " << fix;
    EXPECT_EQ(fix.empty(), std::string_view(c.words).empty()) << c.id;
  }
}

}  // namespace
}  // namespace picchio
