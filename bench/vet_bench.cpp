// A mebibyte of one kind of text, the most that vet reads: each was quadratic once, or read again
// for every pattern. Bytes per second; an ordinary post has some 2 KiB.
#include "results/vet.h"

#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>

namespace {

void vet_a_mebibyte(benchmark::State& state, const std::string& piece) {
  constexpr std::size_t kMebibyte = std::size_t{1} << 20U;
  std::string text = "45 tok/s\n";
  while (text.size() < kMebibyte) text += piece;
  for (auto _ : state) benchmark::DoNotOptimize(picchio::results::vet(text));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}

BENCHMARK_CAPTURE(vet_a_mebibyte, figures, "45 tok/s ")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(vet_a_mebibyte, entities, "&amp;")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(vet_a_mebibyte, table_rules, "--|--\n")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(vet_a_mebibyte, cues, "draft tokens ")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(vet_a_mebibyte, a_post,
                  "Qwen3-8B Q4_K_M on my 4090, llama.cpp b9430, -fa, ctx 8192: 45 tok/s warm.\n")
    ->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
