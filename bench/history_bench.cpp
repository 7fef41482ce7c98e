// What the history costs with 100,000 runs in it: opening, each kind of query, one more run.
#include "history/history.h"
#include "history/record_json.h"
#include "history/sample_records.h"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>

namespace {

namespace fs = std::filesystem;
using picchio::RecordedRun;
using picchio::history::History;
using picchio::history::RowQuery;

constexpr int kRuns = 100'000;
constexpr int kModels = 40;

/// Some 2.5 KB as text, as runs of a GPU have.
RecordedRun run_of(int number) {
  RecordedRun out = picchio::samples::record(
      fmt::format("Some-Model-{}-Instruct-Q4_K_M.gguf", number % kModels), 20 + number % 7, number);
  out.host = fmt::format("host-{}", number % 5);
  out.figures.sentence = "All weights are on the GPU, and every witness that can tell agrees.";
  for (const char* sentence :
       {"full log: 5.3 GiB of weights on CUDA0, 0 B elsewhere", "CUDA0 is NVIDIA GeForce RTX 4090",
        "2 graph splits", "busy 99 % in decode, 343 W", "1.0 of 16 cores busy in decode"}) {
    out.testimonies.push_back(
        {picchio::Witness::device, picchio::Word::gpu, std::string(sentence)});
  }
  return out;
}

/// Made once for all benchmarks, by way of an import.
const std::string& folder() {
  static const std::string made = [] {
    const fs::path path = fs::temp_directory_path() / "picchio_history_bench";
    fs::remove_all(path);
    auto runs = History::open(path.string(), nullptr);
    int number = 0;
    std::string line;
    const auto done = runs->import_lines([&]() -> picchio::Result<std::optional<std::string_view>> {
      if (number == kRuns) return std::optional<std::string_view>();
      const std::string record = picchio::history::record_to_json(run_of(number));
      line = picchio::history::export_line(fmt::format("{:032x}", number), record);
      ++number;
      return std::optional<std::string_view>(line);
    });
    if (!done) std::abort();
    return path.string();
  }();
  return made;
}

History opened() { return *History::open(folder(), nullptr); }

void count_bytes(benchmark::State& state) {
  state.counters["file_mb"] =
      static_cast<double>(fs::file_size(folder() + "/history.sqlite3")) / 1e6;
}

void open_history(benchmark::State& state) {
  (void)folder();
  for (auto _ : state) {
    auto runs = History::open_existing(folder(), nullptr);
    benchmark::DoNotOptimize(runs);
  }
  count_bytes(state);
}
BENCHMARK(open_history)->Unit(benchmark::kMillisecond);

// What `picchio history` does between its start and its end.
void open_and_list_20(benchmark::State& state) {
  (void)folder();
  for (auto _ : state) {
    auto runs = History::open_existing(folder(), nullptr);
    if (!runs) std::abort();
    std::optional<History>& there = *runs;
    if (!there) std::abort();
    auto rows = there->rows({"", "", 21});
    benchmark::DoNotOptimize(rows);
  }
}
BENCHMARK(open_and_list_20)->Unit(benchmark::kMillisecond);

void list(benchmark::State& state, const RowQuery& query) {
  History runs = opened();
  std::size_t rows = 0;
  for (auto _ : state) {
    rows = runs.rows(query)->size();
    benchmark::DoNotOptimize(rows);
  }
  state.counters["rows"] = static_cast<double>(rows);
}
void list_by_name(benchmark::State& state) { list(state, {"model-7-", "", 21}); }
void list_by_a_name_that_none_has(benchmark::State& state) { list(state, {"qwen", "", 21}); }
void list_1000_by_name(benchmark::State& state) { list(state, {"MODEL-3", "", 1000}); }
void list_by_file(benchmark::State& state) {
  list(state, {"", "/models/Some-Model-7-Instruct-Q4_K_M.gguf", 21});
}

/// As -o prints them: many queries of a thousand rows each.
void list_all_in_pages(benchmark::State& state) {
  History runs = opened();
  double pages = 0;
  for (auto _ : state) {
    pages = 0;
    const auto told = runs.row_pages({}, [&](std::span<const picchio::StoredRow>) {
      ++pages;
      return picchio::Result<>();
    });
    if (!told) std::abort();
  }
  state.counters["pages"] = pages;
}
void page_in_the_middle(benchmark::State& state) {
  History runs = opened();
  const auto newest = runs.rows({"", "", kRuns / 2});
  if (!newest) std::abort();
  const picchio::StoredRow& last = newest->back();
  list(state, {"", "", 1000, RowQuery::Place{last.at, last.id}});
}
BENCHMARK(list_by_name)->Unit(benchmark::kMillisecond);
BENCHMARK(list_by_a_name_that_none_has)->Unit(benchmark::kMillisecond);
BENCHMARK(list_1000_by_name)->Unit(benchmark::kMillisecond);
BENCHMARK(list_by_file)->Unit(benchmark::kMillisecond);
BENCHMARK(list_all_in_pages)->Unit(benchmark::kMillisecond);
BENCHMARK(page_in_the_middle)->Unit(benchmark::kMillisecond);

void find_by_id(benchmark::State& state) {
  History runs = opened();
  for (auto _ : state) benchmark::DoNotOptimize(runs.find("@51234"));
}
BENCHMARK(find_by_id)->Unit(benchmark::kMillisecond);

void find_last(benchmark::State& state) {
  History runs = opened();
  for (auto _ : state) benchmark::DoNotOptimize(runs.find("last"));
}
BENCHMARK(find_last)->Unit(benchmark::kMillisecond);

void earlier_runs(benchmark::State& state) {
  History runs = opened();
  const RecordedRun now = run_of(kRuns);
  for (auto _ : state) benchmark::DoNotOptimize(runs.earlier_than(now, 20));
}
BENCHMARK(earlier_runs)->Unit(benchmark::kMillisecond);

// None of them is of this machine, and all are looked at.
void earlier_runs_of_another_machine(benchmark::State& state) {
  History runs = opened();
  RecordedRun now = run_of(kRuns);
  now.host = "elsewhere";
  for (auto _ : state) benchmark::DoNotOptimize(runs.earlier_than(now, 20));
}
BENCHMARK(earlier_runs_of_another_machine)->Unit(benchmark::kMillisecond);

void newest_with_kv(benchmark::State& state) {
  History runs = opened();
  const std::string file = run_of(7).model_file;
  for (auto _ : state) benchmark::DoNotOptimize(runs.newest_with_kv(file));
}
BENCHMARK(newest_with_kv)->Unit(benchmark::kMillisecond);

void prune_nothing(benchmark::State& state) {
  History runs = opened();
  for (auto _ : state) benchmark::DoNotOptimize(runs.keep_newest(std::int64_t{2} * kRuns));
}
BENCHMARK(prune_nothing)->Unit(benchmark::kMillisecond);

void add_one(benchmark::State& state) {
  History runs = opened();
  int number = kRuns;
  for (auto _ : state) benchmark::DoNotOptimize(runs.add(run_of(number++)));
}
BENCHMARK(add_one)->Unit(benchmark::kMillisecond)->Iterations(50);

}  // namespace

BENCHMARK_MAIN();
