#include "commands/cause_pages.h"

#include "os/file.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace picchio {
namespace {

TEST(CausePages, TheDocumentedPageIsTheCatalogues) {
  const std::string path = std::string(PICCHIO_SOURCE_DIR) + "/docs/causes.md";
  const auto page = os::read_file(path, std::int64_t{1} << 20);
  ASSERT_TRUE(page) << path;
  EXPECT_TRUE(*page == causes_as_markdown(cause_catalogue()))
      << "print it anew: picchio causes --markdown > docs/causes.md";
}

TEST(CausePages, EveryCauseStandsOnEveryPage) {
  const auto all = cause_catalogue();
  const std::string list = cause_list(all);
  const std::string page = causes_as_markdown(all);
  const auto json = nlohmann::json::parse(causes_as_json(all));
  ASSERT_EQ(json["causes"].size(), all.size());
  for (const CauseEntry& entry : all) {
    EXPECT_NE(list.find(entry.id), std::string::npos) << entry.id;
    EXPECT_NE(page.find("`" + std::string(entry.id) + "`"), std::string::npos) << entry.id;
    const std::string text = cause_text(entry);
    for (const Remedy& remedy : entry.remedies) {
      EXPECT_NE(page.find(remedy.text), std::string::npos) << remedy.text;
    }
    EXPECT_NE(text.find("evidence"), std::string::npos);
  }
}

}  // namespace
}  // namespace picchio
