#include "report/residency.h"

#include "base/text.h"
#include "report/block.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace picchio {
namespace {

ResidencyReport fallen() {
  ResidencyReport report;
  report.shape = ResidencyShape::falling;
  report.sentence =
      "Resident memory fell from 5.00 GiB to 2.00 GiB, at most 40% of the 5.00 GiB of weights on "
      "disk.";
  report.weight_bytes = std::int64_t{5} << 30;
  report.first = report.high = std::int64_t{5} << 30;
  report.low = report.last = std::int64_t{2} << 30;
  report.decode_at_high = 12;
  return report;
}

TEST(ResidencyReport, Text) {
  EXPECT_EQ(residency_text(fallen()),
            "resident falling. Resident memory fell from 5.00 GiB to 2.00 GiB,\n"
            "         at most 40% of the 5.00 GiB of weights on disk.\n");
}

TEST(ResidencyReport, LinesAreNarrowAndPlain) {
  ResidencyReport report = fallen();
  report.sentence = "\x1b[2J\n" + std::string(300, 'x') + "\xff and \t so on";
  const std::string text = residency_text(report);
  for (const std::string_view line : split_lines(text)) {
    EXPECT_LE(line.size(), kBlockColumns) << line;
    for (const char c : line) EXPECT_TRUE(c >= 0x20 && c < 0x7F) << line;
  }
  EXPECT_TRUE(text.ends_with("\n"));
  EXPECT_FALSE(residency_json(report).dump().contains("u001b"));
}

TEST(ResidencyReport, JsonWithNullForWhatIsNotTold) {
  const auto doc = residency_json(fallen());
  EXPECT_EQ(doc["shape"], "falling");
  EXPECT_EQ(doc["weight_bytes"], std::int64_t{5} << 30);
  EXPECT_EQ(doc["low_bytes"], std::int64_t{2} << 30);
  EXPECT_EQ(doc["first_bytes"], std::int64_t{5} << 30);
  EXPECT_EQ(doc["decode_at_high"], 12.0);
  EXPECT_TRUE(doc["decode_at_low"].is_null());
  const auto none = residency_json({});
  EXPECT_EQ(none["shape"], "too few probes");
  for (const char* key : {"weight_bytes", "first_bytes", "low_bytes", "high_bytes", "last_bytes"}) {
    EXPECT_TRUE(none[key].is_null()) << key;
  }
}

}  // namespace
}  // namespace picchio
