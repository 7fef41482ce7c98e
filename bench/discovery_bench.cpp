// What it costs to find the models of a machine: a home with many files, a store with many tags.
#include "models/find_models.h"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace {

namespace fs = std::filesystem;
using picchio::models::Place;
using picchio::models::SearchPlaces;

constexpr std::uintmax_t kModelBytes = std::uintmax_t{4} << 30;  // sparse: nothing is written

void write(const fs::path& path, const std::string& text, std::uintmax_t size = 0) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
  if (size > 0) fs::resize_file(path, size);
}

/// Half of `files` are models, in folders of 50; the rest is what lies beside them.
class Machine {
 public:
  Machine(int files, int tags)
      : root_(fs::temp_directory_path() / fmt::format("picchio_discovery_{}_{}", files, tags)) {
    fs::remove_all(root_);
    for (int i = 0; i < files / 2; ++i) {
      const fs::path folder = root_ / "models" / fmt::format("org-{}", i / 25);
      write(folder / fmt::format("Some-Model-{}-7B-Instruct-Q4_K_M.gguf", i), "GGUF", kModelBytes);
      write(folder / fmt::format("model-{:05}-of-00163.safetensors", i), "x");
    }
    for (int i = 0; i < tags; ++i) {
      const std::string digest = fmt::format("{:064x}", i);
      write(root_ / fmt::format("ollama/manifests/registry.ollama.ai/library/model-{}/8b", i),
            fmt::format(R"({{"schemaVersion": 2, "config": {{"digest": "sha256:{0}", "size": 487}},
                "layers": [{{"mediaType": "application/vnd.ollama.image.model",
                             "digest": "sha256:{0}", "size": {1}}},
                           {{"mediaType": "application/vnd.ollama.image.template",
                             "digest": "sha256:{0}", "size": 1429}}]}})",
                        digest, kModelBytes));
      write(root_ / ("ollama/blobs/sha256-" + digest), "GGUF", kModelBytes);
    }
  }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  ~Machine() {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }

  [[nodiscard]] SearchPlaces places() const {
    return {.folders = {{Place::home_models, root_ / "models"}},
            .ollama_stores = {root_ / "ollama"},
            .home = root_};
  }

 private:
  fs::path root_;
};

void find_models(benchmark::State& state) {
  const Machine machine(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
  const SearchPlaces places = machine.places();
  std::size_t found = 0;
  for (auto _ : state) {
    found = picchio::models::find_models(places).models.size();
    benchmark::DoNotOptimize(found);
  }
  state.counters["models"] = static_cast<double>(found);
}
BENCHMARK(find_models)
    ->Args({10'000, 0})
    ->Args({0, 200})
    ->Args({10'000, 200})
    ->Iterations(200)  // a fixed number: the tree is made once
    ->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
