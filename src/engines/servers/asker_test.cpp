#include "engines/servers/asker.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace picchio::servers {
namespace {

TEST(Asker, BaseOfWhatPeoplePaste) {
  for (const auto& [url, base] : std::vector<std::pair<std::string, std::string>>{
           {"http://h:1", "http://h:1"},
           {"http://h:1/", "http://h:1"},
           {"http://h:1/v1", "http://h:1"},
           {"http://h:1/v1/", "http://h:1"},
           {"http://h:1/v1/chat/completions", "http://h:1"},
           {"http://h:1/api/generate", "http://h:1"},
           {"http://h:1/llm/v1/models?x=1#y", "http://h:1/llm"},
           {"http://h:1/upstream/model", "http://h:1/upstream/model"},
           {"http://h:1/api/v1/models", "http://h:1"}}) {
    EXPECT_EQ(base_of(url), base) << url;
  }
}

TEST(Asker, RefusalsInTheServersWords) {
  os::HttpHead head;
  head.host = "h:1";
  head.status = 404;
  EXPECT_EQ(refusal(head, R"({"error":"model 'x' not found"})", false).message,
            "h:1 answers 404 not found: model 'x' not found");
  head.status = 401;
  EXPECT_NE(refusal(head, "", false).hint.find("--api-key"), std::string::npos);
  EXPECT_NE(refusal(head, "", true).hint.find("not taken"), std::string::npos);
  head.status = 302;
  EXPECT_NE(refusal(head, "", false).message.find("elsewhere"), std::string::npos);
}

}  // namespace
}  // namespace picchio::servers
