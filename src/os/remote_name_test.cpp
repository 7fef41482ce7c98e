#include "os/remote_name.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>

namespace picchio::os {
namespace {

const HubSettings kSettings{.endpoint = "https://huggingface.co", .token = "secret"};

struct Case {
  const char* text;
  const char* url;
  bool token;
  bool on_hub;
};

constexpr std::array kCases = {
    Case{"hf:owner/repo/model.gguf", "https://huggingface.co/owner/repo/resolve/main/model.gguf",
         true, true},
    Case{"hf:owner/repo/Q4/model-00001-of-00003.gguf",
         "https://huggingface.co/owner/repo/resolve/main/Q4/model-00001-of-00003.gguf", true, true},
    Case{"hf:o/r/m.gguf@v1.0", "https://huggingface.co/o/r/resolve/v1.0/m.gguf", true, true},
    Case{"hf:o/r/m.gguf@refs/pr/7", "https://huggingface.co/o/r/resolve/refs%2Fpr%2F7/m.gguf", true,
         true},
    Case{"HF:o/r/a b?#%.gguf", "https://huggingface.co/o/r/resolve/main/a%20b%3F%23%25.gguf", true,
         true},
    Case{"https://huggingface.co/o/r/blob/main/blob/m.gguf",
         "https://huggingface.co/o/r/resolve/main/blob/m.gguf", true, true},
    Case{"https://huggingface.co/o/r/resolve/main/blob/m.gguf",
         "https://huggingface.co/o/r/resolve/main/blob/m.gguf", true, true},
    Case{"http://huggingface.co/o/r/resolve/main/m.gguf",
         "http://huggingface.co/o/r/resolve/main/m.gguf", false, false},
    Case{"https://huggingface.co.evil.example/m.gguf", "https://huggingface.co.evil.example/m.gguf",
         false, false},
    Case{"https://huggingface.co@evil.example/m.gguf", "https://huggingface.co@evil.example/m.gguf",
         false, false},
    Case{"http://127.0.0.1:8080/blob/m.gguf", "http://127.0.0.1:8080/blob/m.gguf", false, false},
};

TEST(RemoteName, MeansAUrl) {
  for (const Case& each : kCases) {
    ASSERT_TRUE(is_remote_name(each.text)) << each.text;
    const auto name = remote_name(each.text, kSettings);
    ASSERT_TRUE(name) << each.text << ": " << name.error().message;
    EXPECT_EQ(name->url, each.url);
    EXPECT_EQ(name->token, each.token ? "secret" : "") << each.text;
    EXPECT_EQ(name->on_hub, each.on_hub) << each.text;
  }
}

TEST(RemoteName, ShowsNoSecret) {
  const auto signed_url = remote_name("https://u:pw@h.example/a@b.gguf?sig=1#x", kSettings);
  ASSERT_TRUE(signed_url);
  EXPECT_EQ(signed_url->shown, "https://h.example/a@b.gguf");
  EXPECT_EQ(remote_name("https://h.example", kSettings)->shown, "https://h.example");
  EXPECT_EQ(remote_name("hf:o/r/m.gguf@x", kSettings)->shown, "hf:o/r/m.gguf@x");
}

TEST(RemoteName, AMirrorGetsNoToken) {
  const auto name =
      remote_name("hf:o/r/m.gguf", {.endpoint = "http://127.0.0.1:8080/hub", .token = "secret"});
  ASSERT_TRUE(name);
  EXPECT_EQ(name->url, "http://127.0.0.1:8080/hub/o/r/resolve/main/m.gguf");
  EXPECT_EQ(name->token, "");
  EXPECT_TRUE(name->on_hub);
}

TEST(RemoteName, RefusesWhatNamesNoFile) {
  for (const char* text : {"hf:", "hf:owner", "hf:owner/repo", "hf:owner/repo/", "hf:/r/m.gguf",
                           "hf:o//m.gguf", "hf:o/r/../../x", "hf:../r/m.gguf", "hf:o/r/m.gguf@",
                           "hf:o/r/m.gguf@../x", "hf:o/r/m.gguf@/x", "hf:o/r/./m.gguf"}) {
    const auto name = remote_name(text, kSettings);
    ASSERT_FALSE(name) << text;
    EXPECT_TRUE(name.error().message.ends_with("names no file on the hub")) << text;
    EXPECT_NE(name.error().hint, "") << text;
  }
  for (const char* text : {"", "model.gguf", "/hf:/x", "ftp://h/x", "qwen3:8b", "hf.co/o/r:Q4"}) {
    EXPECT_FALSE(is_remote_name(text)) << text;
  }
}

TEST(RemoteName, SettingsAreThoseOfTheHubsTools) {
  ASSERT_EQ(::setenv("HF_ENDPOINT", "http://127.0.0.1:1//", 1), 0);
  ASSERT_EQ(::setenv("HF_TOKEN", " t\n", 1), 0);
  EXPECT_EQ(hub_settings().endpoint, "http://127.0.0.1:1");
  EXPECT_EQ(hub_settings().token, "t");
  ASSERT_EQ(::setenv("HF_ENDPOINT", "", 1), 0);
  ASSERT_EQ(::unsetenv("HF_TOKEN"), 0);
  EXPECT_EQ(hub_settings().endpoint, "https://huggingface.co");
  EXPECT_EQ(hub_settings().token, "");
}

}  // namespace
}  // namespace picchio::os
