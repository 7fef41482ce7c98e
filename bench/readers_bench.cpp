// How fast the readers are: MB/s of engine log, and time for a model header.
#include "engines/log_reader.h"
#include "gguf/card.h"
#include "gguf/header.h"
#include "gguf/memory/fit.h"
#include "large_header.h"

#include <benchmark/benchmark.h>

#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace picchio {
namespace {

std::string slurp(const char* path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A kept run of the real engine, as often as makes 8 MiB: what a chatty build writes in a pass.
void read_log(benchmark::State& state) {
  const std::string one = slurp(PICCHIO_SOURCE_DIR "/examples/raw/llvmpipe-ngl-4/pass1.stderr.txt");
  if (one.empty()) {
    state.SkipWithError("no kept example to read");
    return;
  }
  std::string log;
  while (log.size() < (8U << 20)) log += one;
  for (auto _ : state) benchmark::DoNotOptimize(read_engine_log(log));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(log.size()));
}
BENCHMARK(read_log)->Unit(benchmark::kMillisecond);

// A vocabulary of 262,144 words, in memory: the walk alone, without the pages' first touch.
void read_large_header(benchmark::State& state) {
  const gguf::GgufFile model = large_model();
  const std::string header = model.header();
  const auto file_bytes = static_cast<std::int64_t>(header.size() + model.data_bytes());
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        gguf::read_header(gguf::as_bytes(header), file_bytes, gguf::Accept::readable));
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(header.size()));
}
BENCHMARK(read_large_header)->Unit(benchmark::kMillisecond);

void make_card(benchmark::State& state) {
  const gguf::GgufFile model = large_model();
  const std::string bytes = model.header();
  const auto header =
      gguf::read_header(gguf::as_bytes(bytes), std::nullopt, gguf::Accept::readable);
  if (!header) return state.SkipWithError(header.error().message.c_str());
  for (auto _ : state) benchmark::DoNotOptimize(gguf::card_of({*header}, {"large.gguf"}));
}
BENCHMARK(make_card)->Unit(benchmark::kMillisecond);

/// A room for a part of it: every search is made.
void plan_model(benchmark::State& state) {
  const gguf::GgufFile model = large_model();
  const std::string bytes = model.header();
  std::vector<gguf::Header> shards;
  auto header = gguf::read_header(gguf::as_bytes(bytes), std::nullopt);
  if (!header) return state.SkipWithError(header.error().message.c_str());
  shards.push_back(*std::move(header));
  gguf::Wish wish;
  wish.placement.devices.push_back({.name = "GPU", .free_bytes = std::int64_t{1} << 30});
  const gguf::Room room{
      .devices = {std::int64_t{1} << 30}, .host = std::int64_t{1} << 36, .margin = 0};
  for (auto _ : state) benchmark::DoNotOptimize(gguf::advise(shards, wish, room));
}
BENCHMARK(plan_model)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace picchio

BENCHMARK_MAIN();
