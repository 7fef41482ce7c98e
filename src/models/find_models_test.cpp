#include "models/find_models.h"

#include "os/made_up_tree.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace picchio::models {
namespace {

const std::string kModel(2000, 'm');

std::string hex(char digit) { return std::string(64, digit); }

std::string layer(std::string_view kind, char digit, std::size_t size) {
  return fmt::format(
      R"({{"mediaType": "application/vnd.ollama.image.{}", "digest": "sha256:{}", "size": {}}})",
      kind, hex(digit), size);
}

std::string manifest(const std::vector<std::string>& layers) {
  return fmt::format(R"({{"schemaVersion": 2, "layers": [{}]}})", fmt::join(layers, ", "));
}

class FindModels : public testing::Test {
 protected:
  void install(const std::string& name, char digit, const std::string& store = "/ollama") const {
    tree.file(store + "/manifests/registry.ollama.ai/library/" + name,
              manifest({layer("model", digit, kModel.size()), layer("template", 'c', 10)}));
    tree.file(store + "/blobs/sha256-" + hex(digit), kModel);
  }

  [[nodiscard]] std::string at(const std::string& path) const { return tree.root() + path; }

  [[nodiscard]] SearchPlaces places() const {
    return {.folders = {{Place::current_folder, at("/here")},
                        {Place::llama_cpp, at("/llama")},
                        {Place::hugging_face, at("/hub")},
                        {Place::lm_studio, at("/studio")},
                        {Place::home_models, at("/home/models")}},
            .ollama_stores = {at("/no-store"), at("/ollama"), at("/ollama2")},
            .home = at("/home")};
  }

  struct Row {
    std::string argument;
    std::string detail;
    bool operator==(const Row&) const = default;
    friend void PrintTo(const Row& row, std::ostream* out) {
      *out << row.argument << " (" << row.detail << ")";
    }
  };

  /// Arguments without the folder of the test.
  [[nodiscard]] std::vector<Row> rows() const {
    std::vector<Row> out;
    for (const FoundModel& each : find_models(places()).models) {
      const bool inside = each.argument.starts_with(tree.root());
      out.push_back(
          {inside ? each.argument.substr(tree.root().size()) : each.argument, each.detail});
    }
    return out;
  }

  MadeUpTree tree;
};

using Rows = std::vector<std::string>;

TEST_F(FindModels, InEveryPlaceInOrder) {
  tree.file("/home/models/z.gguf", kModel);
  tree.file("/home/models/sub/a.gguf", kModel);
  tree.file("/studio/org/repo/b.gguf", kModel);
  tree.file("/llama/c.gguf", kModel);
  tree.file("/here/d.gguf", kModel);
  tree.file("/here/one/e.gguf", kModel);
  tree.file("/here/one/two/too-deep.gguf", kModel);
  install("qwen3/8b", '1');
  EXPECT_EQ(rows(), (std::vector<Row>{{"/here/d.gguf", ""},
                                      {"/here/one/e.gguf", "one"},
                                      {"qwen3:8b", ""},
                                      {"/llama/c.gguf", ""},
                                      {"/studio/org/repo/b.gguf", "org/repo"},
                                      {"/home/models/sub/a.gguf", "sub"},
                                      {"/home/models/z.gguf", ""}}));
  const FoundModels found = find_models(places());
  EXPECT_TRUE(found.notes.empty());
  EXPECT_EQ(found.models[2].bytes, 2010);
  EXPECT_EQ(found.models[2].name, "qwen3:8b");
  EXPECT_EQ(found.models[3].bytes, 2000);
  EXPECT_EQ(found.models[3].name, "c.gguf");
}

TEST_F(FindModels, OfTheHubByTheirRepository) {
  const std::string one = "/hub/models--org--repo-GGUF";
  tree.file(one + "/blobs/aaaa", kModel);
  tree.file(one + "/blobs/bbbb.incomplete", kModel);
  tree.link(one + "/snapshots/0123456789abcdef/q4.gguf", "../../blobs/aaaa");
  tree.link(one + "/snapshots/0123456789abcdef/q5.gguf", "../../blobs/bbbb");  // still loading
  const std::string two = "/hub/models--two";
  tree.file(two + "/blobs/cccc", kModel);
  tree.file(two + "/blobs/dddd", std::string(3000, 'd'));
  tree.link(two + "/snapshots/1111111222/same.gguf", "../../blobs/cccc");
  tree.link(two + "/snapshots/1111111222/folder/new.gguf", "../../../blobs/dddd");
  tree.link(two + "/snapshots/0000000333/same.gguf", "../../blobs/cccc");
  tree.file("/hub/datasets--org--repo/snapshots/1/x.gguf", kModel);
  tree.file("/hub/version.txt", "1");
  EXPECT_EQ(rows(),
            (std::vector<Row>{{two + "/snapshots/1111111222/folder/new.gguf", "two@1111111"},
                              {one + "/snapshots/0123456789abcdef/q4.gguf", "org/repo-GGUF"},
                              {two + "/snapshots/0000000333/same.gguf", "two@0000000"}}));
}

TEST_F(FindModels, OnceHoweverOftenAFileIsReached) {
  tree.file("/llama/real.gguf", kModel);
  tree.link("/llama/alias.gguf", "real.gguf");
  tree.link("/studio/org/repo/linked.gguf", at("/llama/real.gguf"));
  tree.dir("/home/models");
  std::filesystem::create_hard_link(at("/llama/real.gguf"), at("/home/models/hard.gguf"));
  install("qwen3/8b", '1');
  tree.link("/home/models/of-ollama.gguf", at("/ollama/blobs/sha256-" + hex('1')));
  EXPECT_EQ(rows(), (std::vector<Row>{{"qwen3:8b", ""}, {"/llama/real.gguf", ""}}));
}

TEST_F(FindModels, OfTheFolderOneStandsInFirst) {
  tree.file("/home/models/x.gguf", kModel);
  SearchPlaces all = places();
  all.folders.front().path = at("/home/models");
  const FoundModels found = find_models(all);
  ASSERT_EQ(found.models.size(), 1U);
  EXPECT_EQ(found.models.front().place, Place::current_folder);
}

TEST_F(FindModels, OfOllamaThatAreWhole) {
  install("qwen3/8b", '1');
  install("qwen3/latest", '1');  // another name, perhaps with other settings
  install("qwen3/8b", '2', "/ollama2");
  install("second/1b", '2', "/ollama2");
  const std::string library = "/ollama/manifests/registry.ollama.ai/library/";
  tree.file(library + "cloud/480b-cloud", manifest({}));
  tree.file(library + "tensors/1b", manifest({layer("tensor", '1', 2000)}));
  tree.file(library + "gone/1b", manifest({layer("model", '9', 2000)}));
  tree.file(library + "damaged/1b", "{");
  tree.file("/ollama/manifests/hf.co/org/repo/Q4_K_M", manifest({layer("model", '1', 2000)}));
  EXPECT_EQ(rows(), (std::vector<Row>{{"hf.co/org/repo:Q4_K_M", ""},
                                      {"qwen3:8b", ""},
                                      {"qwen3:latest", ""},
                                      {"second:1b", ""}}));
}

TEST_F(FindModels, ByAWordThatMeansThem) {
  tree.file("/-ngl.gguf", kModel);
  tree.file("/hf:o/x.gguf", kModel);
  tree.file("/plain.gguf", kModel);
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(tree.root());
  SearchPlaces all;
  all.folders = {{Place::current_folder, "."}};
  const FoundModels found = find_models(all);
  std::filesystem::current_path(before);
  ASSERT_EQ(found.models.size(), 3U);
  EXPECT_EQ(found.models[0].argument, "./-ngl.gguf");
  EXPECT_EQ(found.models[1].argument, "plain.gguf");
  EXPECT_EQ(found.models[2].argument, "./hf:o/x.gguf");
}

TEST_F(FindModels, NoMoreThanTheLimitAndSaysSo) {
  for (int i = 0; i < 30; ++i) tree.file(fmt::format("/home/models/{}.gguf", i), kModel);
  for (int i = 0; i < 30; ++i) tree.dir(fmt::format("/hub/models--a--{}/snapshots/1", i));
  SearchPlaces all = places();
  all.most_names = 10;
  const FoundModels found = find_models(all);
  EXPECT_EQ(found.models.size(), 10U);
  ASSERT_EQ(found.notes.size(), 2U);
  EXPECT_TRUE(found.notes[1].starts_with("looked at the first 10 names in '~/models' only"))
      << found.notes[1];
}

TEST_F(FindModels, TellsOfWhatItMayNotRead) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  install("qwen3/8b", '1');
  tree.file("/home/models/x.gguf", kModel);
  for (int i = 0; i < 5; ++i) tree.dir(fmt::format("/home/models/{}", i));
  const auto permit = [&](mode_t mode) {
    EXPECT_EQ(::chmod(at("/ollama/manifests").c_str(), mode), 0);
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(::chmod(at(fmt::format("/home/models/{}", i)).c_str(), mode), 0);
    }
  };
  permit(0);
  const FoundModels found = find_models(places());
  permit(0700);
  ASSERT_EQ(found.models.size(), 1U);
  EXPECT_EQ(found.store_notes, std::vector<std::string>{"cannot list '" + at("/ollama/manifests") +
                                                        "': permission denied"});
  ASSERT_EQ(found.notes.size(), 4U);
  EXPECT_EQ(found.notes.back(), "and 2 more folders that cannot be read");
}

TEST_F(FindModels, NothingOnABareMachine) {
  const FoundModels found = find_models(places());
  EXPECT_TRUE(found.models.empty());
  EXPECT_TRUE(found.notes.empty());
}

}  // namespace
}  // namespace picchio::models
