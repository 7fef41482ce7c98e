#include "models/places.h"

#include "os/made_up_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace picchio::models {
namespace {

std::vector<std::string> paths_of(const SearchPlaces& places, Place place) {
  std::vector<std::string> out;
  for (const SearchFolder& folder : places.folders) {
    if (folder.place == place) out.push_back(folder.path);
  }
  return out;
}

using Paths = std::vector<std::string>;

TEST(Places, OfAHomeWithoutSettings) {
  const SearchPlaces places = search_places({.home = "/home/u"});
  EXPECT_EQ(paths_of(places, Place::current_folder), Paths{"."});
  EXPECT_EQ(paths_of(places, Place::llama_cpp),
            (Paths{"/home/u/.cache/llama.cpp", "/home/u/Library/Caches/llama.cpp"}));
  EXPECT_EQ(paths_of(places, Place::hugging_face), Paths{"/home/u/.cache/huggingface/hub"});
  EXPECT_EQ(paths_of(places, Place::lm_studio),
            (Paths{"/home/u/.lmstudio/models", "/home/u/.cache/lm-studio/models"}));
  EXPECT_EQ(paths_of(places, Place::home_models), Paths{"/home/u/models"});
  EXPECT_EQ(places.home, "/home/u");
  EXPECT_TRUE(std::ranges::is_sorted(places.folders, {}, &SearchFolder::place));
}

TEST(Places, FollowTheVariables) {
  const SearchPlaces places = search_places({.home = "/home/u",
                                             .xdg_cache_home = "/x/",
                                             .hf_home = "~/hf",
                                             .hf_hub_cache = "/hub",
                                             .huggingface_hub_cache = "/hub",
                                             .llama_cache = "/llama"});
  EXPECT_EQ(
      paths_of(places, Place::hugging_face),
      (Paths{"/hub", "/home/u/hf/hub", "/x/huggingface/hub", "/home/u/.cache/huggingface/hub"}));
  EXPECT_EQ(paths_of(places, Place::llama_cpp),
            (Paths{"/llama", "/x/llama.cpp", "/home/u/.cache/llama.cpp",
                   "/home/u/Library/Caches/llama.cpp"}));
}

TEST(Places, WithoutAHome) {
  for (const char* home : {"", "relative"}) {
    const SearchPlaces places = search_places({.home = home, .hf_hub_cache = ""});
    ASSERT_EQ(places.folders.size(), 1U);
    EXPECT_EQ(places.folders.front().path, ".");
    EXPECT_EQ(places.home, "");
  }
}

TEST(Places, OfLmStudioAreWhereItSays) {
  const MadeUpTree tree;
  const std::string home = tree.root();
  tree.file("/.lmstudio-home-pointer", home + "/studio\n");
  tree.file("/studio/settings.json", R"({"downloadsFolder": "/big/disk", "other": [1]})");
  EXPECT_EQ(paths_of(search_places({.home = home}), Place::lm_studio),
            (Paths{"/big/disk", home + "/studio/models", home + "/.lmstudio/models",
                   home + "/.cache/lm-studio/models"}));
}

TEST(Places, SurviveDamagedSettings) {
  for (const char* text :
       {"", "[", "[1]", "{}", R"({"downloadsFolder": 7})", R"({"downloadsFolder": "relative"})",
        R"({"downloadsFolder": "/a\u0000b"})", "\xff\xfe"}) {
    const MadeUpTree tree;
    tree.file("/.lmstudio/settings.json", text);
    tree.file("/.lmstudio-home-pointer", "not a path");
    EXPECT_EQ(paths_of(search_places({.home = tree.root()}), Place::lm_studio).size(), 2U) << text;
  }
  const MadeUpTree tree;
  tree.dir("/.lmstudio/settings.json");
  EXPECT_EQ(paths_of(search_places({.home = tree.root()}), Place::lm_studio).size(), 2U);
}

}  // namespace
}  // namespace picchio::models
