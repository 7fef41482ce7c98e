#include "kept/ram_speed.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace picchio::kept {
namespace {

namespace fs = std::filesystem;

class RamSpeeds : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "picchio-ram-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder = name;
  }
  void TearDown() override { fs::remove_all(folder); }

  [[nodiscard]] std::string cache() const { return (folder / "cache").string(); }
  void spoil(const std::string& text) const {
    fs::create_directories(cache());
    std::ofstream(cache() + "/ram-speed.json", std::ios::binary) << text;
  }

  fs::path folder;
};

Machine machine(std::int64_t ram = 64) {
  Machine out;
  out.chip = "AMD EPYC";
  out.os = "Linux 6.1.0";
  out.ram_bytes = ram;
  return out;
}

TEST_F(RamSpeeds, AreRememberedForThisMachineAlone) {
  EXPECT_FALSE(recall_ram_speed(cache(), machine())->has_value());
  ASSERT_TRUE(remember_ram_speed(cache(), machine(), 42.5e9));
  EXPECT_EQ(recall_ram_speed(cache(), machine())->value_or(0), 42.5e9);
  Machine other = machine();
  other.chip = "AMD EPYC 2";
  EXPECT_FALSE(recall_ram_speed(cache(), other)->has_value());
  other = machine();
  other.os = "Linux 6.1.1";
  EXPECT_FALSE(recall_ram_speed(cache(), other)->has_value());
  EXPECT_FALSE(recall_ram_speed(cache(), machine(65))->has_value());
  other = machine();
  other.ram_bytes.reset();
  EXPECT_FALSE(recall_ram_speed(cache(), other)->has_value());
  EXPECT_FALSE(remember_ram_speed(cache(), other, 1e9));

  ASSERT_TRUE(remember_ram_speed(cache(), machine(), 50e9));
  EXPECT_EQ(recall_ram_speed(cache(), machine())->value_or(0), 50e9);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(remember_ram_speed(cache(), machine(100 + i), 1e9 + i));
  EXPECT_FALSE(recall_ram_speed(cache(), machine())->has_value());
  EXPECT_TRUE(recall_ram_speed(cache(), machine(119))->has_value());
  EXPECT_TRUE(recall_ram_speed(cache(), machine(104))->has_value());
  EXPECT_FALSE(recall_ram_speed(cache(), machine(103))->has_value());
}

TEST_F(RamSpeeds, AnUnreadableFileIsMovedAside) {
  const std::string row = R"({"chip": "AMD EPYC", "os": "Linux 6.1.0", "ram_bytes": 64, )";
  for (const std::string& text :
       {std::string("not JSON"), std::string("{}"), std::string(R"({"schema": "another"})"),
        std::string(R"({"schema": "picchio.ram-speed.v1", "machines": 7})"),
        R"({"schema": "picchio.ram-speed.v1", "machines": [)" + row + "\"bytes_per_second\": 0}]}",
        R"({"schema": "picchio.ram-speed.v1", "machines": [)" + row + "\"bytes_per_second\": -1}]}",
        std::string(300'000, ' ')}) {
    spoil(text);
    const auto found = recall_ram_speed(cache(), machine());
    ASSERT_FALSE(found) << text.substr(0, 80);
    EXPECT_EQ(found.error().kind, ErrorKind::malformed) << found.error().message;
    std::string note;
    ASSERT_TRUE(remember_ram_speed(cache(), machine(), 42e9, &note));
    EXPECT_NE(note.find("ram-speed.json.unreadable"), std::string::npos) << note;
    EXPECT_EQ(recall_ram_speed(cache(), machine())->value_or(0), 42e9);
  }
}

TEST_F(RamSpeeds, WhatCannotBeWrittenIsAnError) {
  fs::create_directories(cache() + "/ram-speed.json");
  EXPECT_FALSE(recall_ram_speed(cache(), machine()));
  EXPECT_FALSE(remember_ram_speed(cache(), machine(), 1e9));
}

}  // namespace
}  // namespace picchio::kept
