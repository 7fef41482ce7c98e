#include "engines/ollama/store.h"

#include "engines/ollama/manifest.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace picchio::ollama {
namespace {

namespace fs = std::filesystem;

std::string hex(char digit) { return std::string(64, digit); }

std::string layer(std::string_view kind, char digit, int size) {
  return fmt::format(
      R"({{"mediaType": "application/vnd.ollama.image.{}", "digest": "sha256:{}", "size": {}}})",
      kind, hex(digit), size);
}

std::string manifest(const std::vector<std::string>& layers) {
  return fmt::format(
      R"({{"schemaVersion": 2, "mediaType": "application/vnd.docker.distribution.manifest.v2+json",
           "config": {{"digest": "sha256:{}", "size": 487}}, "layers": [{}]}})",
      hex('c'), fmt::join(layers, ", "));
}

class OllamaStore : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "picchio-ollama-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder = name;
    roots = {at("first"), at("second")};
  }
  void TearDown() override {
    std::error_code ignored;
    fs::permissions(at("first"), fs::perms::owner_all, ignored);
    fs::remove_all(folder, ignored);
  }
  [[nodiscard]] std::string at(const std::string& name) const { return (folder / name).string(); }
  void put(const std::string& name, std::string_view text) const {
    fs::create_directories(fs::path(at(name)).parent_path());
    std::ofstream(at(name), std::ios::binary) << text;
  }
  void blob(const std::string& root, char digit, std::string_view text, char after = '-') const {
    put(fmt::format("{}/blobs/sha256{}{}", root, after, hex(digit)), text);
  }
  void install(const std::string& root, const std::string& name, const std::string& text) const {
    put(fmt::format("{}/manifests/{}", root, name), text);
  }
  [[nodiscard]] Result<StoredModel> find(std::string_view tag) const {
    return find_in_store(*parse_tag(tag), roots);
  }

  fs::path folder;
  std::vector<std::string> roots;
};

TEST_F(OllamaStore, ATagLeadsToItsFiles) {
  install("second", "registry.ollama.ai/library/qwen3/8b",
          manifest({layer("model", 'a', 5), layer("template", 'd', 9), layer("projector", 'b', 3),
                    layer("params", 'e', 2), layer("adapter", 'f', 1), layer("license", '9', 4)}));
  blob("second", 'a', "GGUF!");
  blob("second", 'b', "pro");
  blob("second", 'f', "l");
  const auto model = find("qwen3:8b");
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->store, at("second"));
  EXPECT_EQ(model->manifest, at("second/manifests/registry.ollama.ai/library/qwen3/8b"));
  EXPECT_EQ(model->model.path, at("second/blobs/sha256-" + hex('a')));
  EXPECT_EQ(model->model.digest, hex('a'));
  EXPECT_EQ(model->model.bytes, 5);
  ASSERT_EQ(model->projectors.size(), 1U);
  EXPECT_EQ(model->projectors[0].digest, hex('b'));
  ASSERT_EQ(model->adapters.size(), 1U);
  EXPECT_EQ(model->adapters[0].bytes, 1);
  EXPECT_TRUE(model->drafts.empty());
  EXPECT_TRUE(model->has_template);
  EXPECT_TRUE(model->has_parameters);
  EXPECT_EQ(model->total_bytes, 487 + 5 + 9 + 3 + 2 + 1 + 4);
}

TEST_F(OllamaStore, TheFirstStoreThatHasItWins) {
  for (const std::string root : {"first", "second"}) {
    install(root, "registry.ollama.ai/library/x/latest", manifest({layer("model", 'a', 1)}));
    blob(root, 'a', "G");
  }
  EXPECT_EQ(find("x")->store, at("first"));
  fs::remove_all(at("first"));
  EXPECT_EQ(find("x")->store, at("second"));
}

TEST_F(OllamaStore, OtherRegistriesSpellingsAndOldBlobNames) {
  install("first", "hf.co/Owner/Repo-GGUF/Q4_K_M", manifest({layer("model", 'a', 1)}));
  install("first", "localhost:5000/a/b/c", manifest({layer("model", 'b', 2)}));
  blob("first", 'a', "G");
  blob("first", 'b', "GG", ':');
  const auto exact = find("hf.co/Owner/Repo-GGUF:Q4_K_M");
  ASSERT_TRUE(exact) << exact.error().message;
  const auto other_case = find("hf.co/owner/repo-gguf:q4_k_m");
  ASSERT_TRUE(other_case) << other_case.error().message;
  EXPECT_EQ(to_string(other_case->tag), "hf.co/Owner/Repo-GGUF:Q4_K_M");
  const auto with_port = find("localhost:5000/a/b:c");
  ASSERT_TRUE(with_port) << with_port.error().message;
  EXPECT_EQ(with_port->model.path, at("first/blobs/sha256:" + hex('b')));
}

TEST_F(OllamaStore, NoStore) {
  const auto model = find("x");
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().kind, ErrorKind::not_found);
  EXPECT_EQ(model.error().message,
            fmt::format("no ollama store for 'x:latest': looked for '{}', '{}'", at("first"),
                        at("second")));
}

TEST_F(OllamaStore, NoSuchTagNamesTheNearest) {
  fs::create_directories(at("first"));
  EXPECT_EQ(find("qwen3:9b").error().hint, "no model is installed there");
  for (const char* name : {"qwen3/8b", "qwen3/14b", "qwen2.5/7b", "gemma3/4b", ".DS_Store"}) {
    install("first", std::string("registry.ollama.ai/library/") + name, "{}");
  }
  install("first", "hf.co/o/r/Q4_K_M", "{}");
  const auto model = find("qwen3:9b");
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().kind, ErrorKind::not_found);
  EXPECT_EQ(model.error().message, fmt::format("no ollama model 'qwen3:9b' in '{}'", at("first")));
  EXPECT_EQ(model.error().hint, "the nearest that are installed: qwen3:14b, qwen3:8b, qwen2.5:7b");
  EXPECT_EQ(installed_tags(roots).size(), 5U);
}

TEST_F(OllamaStore, AStoreOfAnotherUser) {
  install("first", "registry.ollama.ai/library/x/latest", manifest({layer("model", 'a', 1)}));
  fs::permissions(at("first"), fs::perms::none);
  if (::geteuid() == 0) {
    // Root may read everything; what a refusal looks like is seen by somebody else.
    fs::permissions(folder, fs::perms::all);
    const pid_t child = ::fork();
    if (child == 0) {
      const bool dropped = ::setuid(65534) == 0;
      const auto model = find("x");
      const bool right = dropped && !model && model.error().kind == ErrorKind::denied &&
                         model.error().hint.contains("the ollama service");
      ::_exit(right ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    return;
  }
  const auto model = find("x");
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().kind, ErrorKind::denied);
  EXPECT_TRUE(model.error().hint.contains("the ollama service"));
}

struct Broken {
  const char* what;
  std::string text;
  ErrorKind kind;
  std::string words;
};

TEST_F(OllamaStore, DamagedManifestsAndMissingFiles) {
  blob("first", 'a', "GGUF!");
  const std::vector<Broken> cases = {
      {"no JSON", "nonsense", ErrorKind::malformed, "it is no JSON object"},
      {"empty", "", ErrorKind::malformed, "it is no JSON object"},
      {"an array", "[]", ErrorKind::malformed, "it is no JSON object"},
      {"no layers", "{}", ErrorKind::malformed, "it has no list of layers"},
      {"layers of another kind", R"({"layers": {"a": 1}})", ErrorKind::malformed,
       "it has no list of layers"},
      {"a digest that climbs",
       R"({"layers": [{"mediaType": "application/vnd.ollama.image.model",
           "digest": "sha256:../../../etc/passwd", "size": 1}]})",
       ErrorKind::malformed, "layer 1 has no digest of the form sha256:HEX"},
      {"a layer that is none", R"({"layers": [7]})", ErrorKind::malformed, "layer 1 has no digest"},
      {"blob missing", manifest({layer("model", 'b', 5)}), ErrorKind::not_found,
       "'x:latest' is incomplete: its model 'sha256-" + hex('b') + "' is missing"},
      {"projector missing", manifest({layer("model", 'a', 5), layer("projector", 'b', 5)}),
       ErrorKind::not_found, "its projector 'sha256-" + hex('b') + "' is missing"},
      {"blob cut", manifest({layer("model", 'a', 6)}), ErrorKind::malformed,
       "has 5 bytes and not the 6 of its manifest"},
      {"in the cloud", manifest({layer("license", 'a', 5)}), ErrorKind::unsupported,
       "no weights of it are on this machine"},
      {"layers null", R"({"layers": null})", ErrorKind::unsupported,
       "no weights of it are on this machine"},
      {"safetensors", manifest({layer("tensor", 'a', 5)}), ErrorKind::unsupported,
       "it is kept as safetensors"},
  };
  for (const Broken& each : cases) {
    install("first", "registry.ollama.ai/library/x/latest", each.text);
    const auto model = find("x");
    ASSERT_FALSE(model) << each.what;
    EXPECT_EQ(model.error().kind, each.kind) << each.what;
    EXPECT_TRUE(model.error().message.contains(each.words))
        << each.what << ": " << model.error().message;
  }
  EXPECT_TRUE(find("x").error().message.contains("'x:latest'"));
}

TEST_F(OllamaStore, SizesThatCannotBe) {
  const auto read = parse_manifest(fmt::format(R"({{"config": {{"size": -5}}, "layers": [
        {{"mediaType": "x", "digest": "sha256:{0}", "size": -1}},
        {{"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:{0}",
          "size": 9223372036854775807}},
        {{"digest": "sha256:{0}", "size": 1.5}}, {{"digest": "sha256:{0}"}}]}})",
                                               hex('a')));
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->layers.size(), 4U);
  for (const Layer& each : read->layers) EXPECT_EQ(each.bytes, std::nullopt);
  EXPECT_EQ(read->bytes, 0);
  EXPECT_EQ(read->layers[0].kind, "x");
  EXPECT_EQ(read->layers[1].kind, "model");
}

TEST_F(OllamaStore, WhereStoresLie) {
  ASSERT_EQ(::setenv("OLLAMA_MODELS", "/my/models", 1), 0);
  ASSERT_EQ(::setenv("HOME", "/home/me", 1), 0);
  const std::vector<std::string> all = store_roots();
  ASSERT_GE(all.size(), 4U);
  EXPECT_EQ(all[0], "/my/models");
  EXPECT_EQ(all[1], "/home/me/.ollama/models");
  EXPECT_EQ(all[2], "/usr/share/ollama/.ollama/models");
  ASSERT_EQ(::unsetenv("OLLAMA_MODELS"), 0);
  EXPECT_EQ(store_roots()[0], "/home/me/.ollama/models");
}

}  // namespace
}  // namespace picchio::ollama
