#include "meters/attribute.h"

#include "os/made_up_tree.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>

namespace picchio::meters {
namespace {

TEST(Attribute, IsReadAnewAtEveryLook) {
  const MadeUpTree tree;
  tree.file("/sys/busy", "17\n");
  const Attribute busy = Attribute::open(tree.root() + "/sys", {"busy"}, true);
  EXPECT_EQ(busy.number(), 17);
  tree.file("/sys/busy", "9\n");
  EXPECT_EQ(busy.number(), 9);
}

TEST(Attribute, ThatVanishesTellsNothing) {
  const MadeUpTree tree;
  tree.file("/sys/busy", "17\n");
  const Attribute busy = Attribute::open(tree.root() + "/sys", {"busy"}, true);
  std::filesystem::remove(tree.root() + "/sys/busy");
  EXPECT_EQ(busy.number(), std::nullopt);
}

TEST(Attribute, NumbersAreWholeAndInRange) {
  struct Case {
    const char* text;
    std::optional<std::int64_t> number;
    std::optional<std::uint64_t> counter;
  };
  const Case cases[] = {
      {"0\n", 0, 0},
      {" 12 \n", 12, 12},
      {"-5\n", -5, std::nullopt},
      {"18446744073709551615\n", std::nullopt, std::numeric_limits<std::uint64_t>::max()},
      {"18446744073709551616\n", std::nullopt, std::nullopt},
      {"12x\n", std::nullopt, std::nullopt},
      {"", std::nullopt, std::nullopt},
      {"\n", std::nullopt, std::nullopt},
      {"Not supported\n", std::nullopt, std::nullopt},
  };
  const MadeUpTree tree;
  for (const Case& each : cases) {
    tree.file("/sys/value", each.text);
    const Attribute value = Attribute::open(tree.root() + "/sys", {"value"}, false);
    EXPECT_EQ(value.number(), each.number) << each.text;
    EXPECT_EQ(value.counter(), each.counter) << each.text;
  }
}

TEST(Attribute, TakesTheFirstThatAnswersAndSaysWhyNoneDoes) {
  const MadeUpTree tree;
  tree.file("/sys/second", "2\n");
  const std::string dir = tree.root() + "/sys";
  const Attribute second = Attribute::open(dir, {"first", "second"}, true);
  EXPECT_EQ(second.number(), 2);
  EXPECT_EQ(second.why_missing(), "");
  EXPECT_EQ(Attribute::open(dir, {"first"}, true).why_missing(), "the driver has no first");
  tree.dir("/sys/folder");  // opens, and cannot be read: as an attribute that the driver refuses
  EXPECT_EQ(Attribute::open(dir, {"folder", "first"}, true).why_missing(),
            "folder: is a directory");
}

TEST(MovingCounter, TellsOnlyWhatMovesAndOnlyGrows) {
  MovingCounter counter;
  EXPECT_EQ(counter.add(1000), std::nullopt);
  EXPECT_EQ(counter.add(1000), std::nullopt);
  EXPECT_EQ(counter.add(1500), 500U);
  EXPECT_EQ(counter.add(1500), 500U);
  EXPECT_EQ(counter.add(std::nullopt), std::nullopt);
  EXPECT_EQ(counter.add(20), 500U) << "the device was reset";
  EXPECT_EQ(counter.add(50), 530U);
}

}  // namespace
}  // namespace picchio::meters
