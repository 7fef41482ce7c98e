// What is put into the history comes back by every query.
#include "history/history.h"

#include "history/record_json.h"
#include "history/sample_records.h"
#include "history/test_folder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

namespace picchio::history {
namespace {

namespace fs = std::filesystem;
using samples::random_record;
using samples::record;

History opened(const TestFolder& folder) {
  std::string note;
  Result<History> out = History::open(folder.path(), &note);
  EXPECT_TRUE(out) << out.error().message;
  EXPECT_EQ(note, "");
  return *std::move(out);
}

std::vector<std::int64_t> ids(const Result<std::vector<StoredRow>>& rows) {
  std::vector<std::int64_t> out;
  EXPECT_TRUE(rows) << rows.error().message;
  if (rows) {
    for (const StoredRow& row : *rows) out.push_back(row.id);
  }
  return out;
}

using Ids = std::vector<std::int64_t>;

TEST(History, WhatWasPutInComesBack) {
  const TestFolder folder;
  for (unsigned seed = 0; seed < 50; ++seed) {
    History runs = opened(folder);
    const RecordedRun run = random_record(seed);
    const auto id = runs.add(run);
    ASSERT_TRUE(id) << id.error().message;
    EXPECT_EQ(*id, seed + 1);
    const auto back = runs.find(fmt::format("@{}", *id));
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(back->id, *id);
    EXPECT_EQ(record_to_json(back->run), record_to_json(run));
    EXPECT_EQ(back->content.size(), 32U);
  }
}

TEST(History, ARowTellsWhatTheRecordDoes) {
  const TestFolder folder;
  History runs = opened(folder);
  RecordedRun run = record("Tiny-Q4_K_M.gguf", 20);
  ASSERT_TRUE(runs.add(run));
  run.figures.quant = "Q5_K_S";
  run.figures.only_one_pass = true;
  run.figures.state.reset();
  run.figures.lane(Lane::prefill).cold.value.reset();
  run.at += std::chrono::seconds(1);
  ASSERT_TRUE(runs.add(run));
  const auto rows = runs.rows({});
  ASSERT_TRUE(rows) << rows.error().message;
  ASSERT_EQ(rows->size(), 2U);
  const StoredRow& only = rows->front();
  EXPECT_EQ(only.quant, "Q5_K_S");
  EXPECT_TRUE(only.one_pass);
  EXPECT_FALSE(only.state);
  EXPECT_FALSE(only.lane(Lane::prefill).value);
  EXPECT_EQ(only.lane(Lane::decode).value, 20);
  EXPECT_FALSE(only.lane(Lane::decode).low);
  const StoredRow& warm = rows->back();
  EXPECT_EQ(warm.id, 1);
  EXPECT_EQ(to_rfc3339(warm.at), to_rfc3339(record("", 1).at));
  EXPECT_EQ(warm.host, "box");
  EXPECT_EQ(warm.model, "Tiny-Q4_K_M.gguf");
  EXPECT_EQ(warm.model_key, "/models/Tiny-Q4_K_M.gguf");
  EXPECT_EQ(warm.quant, "Q4_K_M");
  EXPECT_EQ(warm.protocol, "mp1");
  EXPECT_EQ(warm.engine, "llama.cpp");
  EXPECT_EQ(warm.build, "b9430");
  EXPECT_EQ(warm.state, State::healthy);
  EXPECT_EQ(warm.gpu_share, 1.0);
  EXPECT_EQ(warm.lane(Lane::prefill).value, 200);
  EXPECT_EQ(warm.lane(Lane::decode).low, 19.9);
  EXPECT_EQ(warm.lane(Lane::decode).high, 20.1);
  EXPECT_EQ(warm.lane(Lane::wallclock).value, 10);
  EXPECT_FALSE(warm.one_pass);
  EXPECT_EQ(warm.chip, "AMD EPYC");
  EXPECT_EQ(warm.gpu, "GeForce RTX 4090");
  EXPECT_EQ(warm.driver, "550.1");
  EXPECT_EQ(warm.os, "Linux 6.1.0");
  EXPECT_EQ(warm.kv_type_k, "f16");
  EXPECT_EQ(warm.kv_type_v, "f16");
}

TEST(History, RowsAreNewestFirstAndFiltered) {
  const TestFolder folder;
  History runs = opened(folder);
  // 2 is the newest by the clock although it came before 3.
  ASSERT_TRUE(runs.add(record("qwen3-8b.gguf", 20, 10)));
  ASSERT_TRUE(runs.add(record("Gemma-3.gguf", 20, 30)));
  ASSERT_TRUE(runs.add(record("Qwen3-14B.gguf", 20, 20)));
  ASSERT_TRUE(runs.add(record("50%_off.gguf", 20, 5)));
  EXPECT_EQ(ids(runs.rows({})), (Ids{2, 3, 1, 4}));
  EXPECT_EQ(ids(runs.rows({"", "", 2})), (Ids{2, 3}));
  EXPECT_EQ(ids(runs.rows({"QWEN", "", {}})), (Ids{3, 1}));
  EXPECT_EQ(ids(runs.rows({"qwen", "", 1})), (Ids{3}));
  EXPECT_EQ(ids(runs.rows({"gguf", "", 3})), (Ids{2, 3, 1}));
  EXPECT_EQ(ids(runs.rows({"%", "", {}})), (Ids{4}));
  EXPECT_EQ(ids(runs.rows({"_", "", {}})), (Ids{4}));
  EXPECT_EQ(ids(runs.rows({"' OR 1=1 --", "", {}})), (Ids{}));
  EXPECT_EQ(ids(runs.rows({"", "/models/Gemma-3.gguf", {}})), (Ids{2}));
  EXPECT_EQ(ids(runs.rows({"", "/models/other.gguf", {}})), (Ids{}));
}

TEST(History, PagesAreTheWholeListInItsOrder) {
  const TestFolder folder;
  History runs = opened(folder);
  constexpr int kRuns = 2300;
  int number = 0;
  std::string line;
  const auto done = runs.import_lines([&]() -> Result<std::optional<std::string_view>> {
    if (number == kRuns) return std::optional<std::string_view>();
    // Several of one moment, on both sides of a page's end.
    RecordedRun run = record(number % 3 == 0 ? "qwen.gguf" : "gemma.gguf", 20, number / 7);
    run.rule = fmt::format("{}", number++);
    line = export_line("", record_to_json(run));
    line.erase(line.find("\"id\":\"\","), 8);
    return std::optional<std::string_view>(line);
  });
  ASSERT_TRUE(done) << done.error().message;
  ASSERT_EQ(done->added, kRuns);
  struct Row {
    RowQuery query;
    std::vector<std::size_t> pages;
  };
  const std::vector<Row> table = {
      {{}, {1000, 1000, 300}},          {{"", "", 1500}, {1000, 500}},
      {{"", "", 2000}, {1000, 1000}},   {{"QWEN", "", {}}, {767}},
      {{"gemma", "", {}}, {1000, 533}}, {{"", "/models/gemma.gguf", {}}, {1000, 533}},
      {{"none", "", {}}, {}},
  };
  for (const Row& row : table) {
    Ids paged;
    std::vector<std::size_t> pages;
    const Result<> told =
        runs.row_pages(row.query, [&](std::span<const StoredRow> page) -> Result<> {
          pages.push_back(page.size());
          for (const StoredRow& each : page) paged.push_back(each.id);
          return {};
        });
    ASSERT_TRUE(told) << told.error().message;
    EXPECT_EQ(pages, row.pages);
    EXPECT_EQ(paged, ids(runs.rows(row.query)));
  }
  int taken = 0;
  const Result<> stopped = runs.row_pages({}, [&](std::span<const StoredRow>) -> Result<> {
    ++taken;
    return fail(ErrorKind::failed, "enough");
  });
  EXPECT_FALSE(stopped);
  EXPECT_EQ(taken, 1);
}

TEST(History, RunsAreFoundByIdAndLast) {
  const TestFolder folder;
  History runs = opened(folder);
  EXPECT_EQ(runs.find("last").error().kind, ErrorKind::not_found);
  ASSERT_TRUE(runs.add(record("a", 20, 10)));
  ASSERT_TRUE(runs.add(record("b", 20, 30)));
  ASSERT_TRUE(runs.add(record("c", 20, 20)));
  EXPECT_EQ(runs.find("last")->run.figures.model, "b");
  EXPECT_EQ(runs.find("@3")->run.figures.model, "c");
  for (const char* gone : {"@0", "@4", "@99999999999999999999999"}) {
    EXPECT_EQ(runs.find(gone).error().kind, ErrorKind::not_found) << gone;
  }
  for (const char* none : {"", "@", "3", "@-1", "@3x", "Last", "@ 3", "latest"}) {
    EXPECT_FALSE(looks_like_run_id(none)) << none;
    EXPECT_EQ(runs.find(none).error().kind, ErrorKind::unsupported) << none;
  }
}

TEST(History, EarlierRunsAreOfTheSameModelProtocolAndMachine) {
  const TestFolder folder;
  History runs = opened(folder);
  const RecordedRun now = record("m", 20, 100);
  const auto add = [&](std::int64_t second, auto change) {
    RecordedRun run = record("m", 20, second);
    change(run);
    EXPECT_TRUE(runs.add(run));
  };
  add(1, [](RecordedRun&) {});  // 1
  add(2, [](RecordedRun& run) { run.model_key = "/models/n"; });
  add(3, [](RecordedRun& run) { run.figures.protocol = "mp2"; });
  add(4, [](RecordedRun& run) { run.host = "other"; });
  add(5, [](RecordedRun& run) { run.figures.machine.chip = "Xeon"; });
  add(6, [](RecordedRun& run) { run.figures.machine.ram_gib = 128; });
  add(7, [](RecordedRun& run) { run.figures.machine.ram_gib.reset(); });
  add(8, [](RecordedRun& run) { run.figures.only_one_pass = true; });
  add(101, [](RecordedRun&) {});  // of a clock that was ahead
  add(9, [](RecordedRun& run) { run.figures.machine.ram_gib = 63.9; });     // 10
  add(10, [](RecordedRun& run) { run.figures.machine.gpu = "RTX 5090"; });  // 11
  EXPECT_EQ(ids(runs.earlier_than(now, 20)), (Ids{11, 10, 1}));
  EXPECT_EQ(ids(runs.earlier_than(now, 2)), (Ids{11, 10}));
}

TEST(History, TheNewestRunOfAFileWithKvTypes) {
  const TestFolder folder;
  History runs = opened(folder);
  ASSERT_TRUE(runs.add(record("m", 20, 1)));
  RecordedRun later = record("m", 20, 2);
  later.model_key = "http://127.0.0.1:8080 m";
  later.figures.more.kv_type_k = "q8_0";
  ASSERT_TRUE(runs.add(later));
  later.at += std::chrono::seconds(1);
  later.figures.more.kv_type_k = "";
  ASSERT_TRUE(runs.add(later));
  const auto row = runs.newest_with_kv("/models/m");
  ASSERT_TRUE(row && *row);
  EXPECT_EQ((*row)->kv_type_k, "q8_0");
  const auto none = runs.newest_with_kv("/models/n");
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);
}

TEST(History, PruningKeepsTheNewestAndNeverReusesAnId) {
  const TestFolder folder;
  History runs = opened(folder);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(runs.add(record("m", 20, 100 - i)));
  EXPECT_EQ(runs.keep_newest(20).value_or(-1), 0);
  EXPECT_EQ(runs.keep_newest(4).value_or(-1), 6);
  EXPECT_EQ(ids(runs.rows({})), (Ids{1, 2, 3, 4}));
  EXPECT_FALSE(runs.find("@5"));
  EXPECT_EQ(runs.drop_before(record("m", 20, 99).at).value_or(-1), 2);
  EXPECT_EQ(ids(runs.rows({})), (Ids{1, 2}));
  EXPECT_EQ(runs.keep_newest(0).value_or(-1), 2);
  EXPECT_EQ(ids(runs.rows({})), (Ids{}));
  EXPECT_EQ(runs.add(record("m", 20)).value_or(0), 11);
}

TEST(History, PruningGivesTheRoomBack) {
  const TestFolder folder;
  History runs = opened(folder);
  for (int i = 0; i < 300; ++i) ASSERT_TRUE(runs.add(record("m", 20, i)));
  const auto before = fs::file_size(folder.database());
  ASSERT_TRUE(runs.keep_newest(1));
  EXPECT_LT(fs::file_size(folder.database()), before / 4);
}

std::vector<std::string> exported(History& runs) {
  std::vector<std::string> out;
  const auto done = runs.export_lines([&](std::string_view line) -> Result<> {
    out.emplace_back(line);
    return {};
  });
  EXPECT_TRUE(done) << done.error().message;
  return out;
}

LineSource lines(const std::vector<std::string>& all) {
  return [at = std::size_t{0}, &all]() mutable -> Result<std::optional<std::string_view>> {
    if (at == all.size()) return std::optional<std::string_view>();
    return std::optional<std::string_view>(all[at++]);
  };
}

TEST(History, AnExportIsTheSameRunsElsewhereOnce) {
  const TestFolder here;
  const TestFolder there;
  History runs = opened(here);
  for (unsigned seed = 0; seed < 600; ++seed) ASSERT_TRUE(runs.add(random_record(seed)));
  const std::vector<std::string> all = exported(runs);
  ASSERT_EQ(all.size(), 600U);
  History hub = opened(there);
  ASSERT_TRUE(hub.add(record("of the hub", 20)));
  const auto first = hub.import_lines(lines(all));
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->added, 600);
  EXPECT_EQ(first->known, 0);
  const auto again = hub.import_lines(lines(all));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->added, 0);
  EXPECT_EQ(again->known, 600);
  std::vector<std::string> back = exported(hub);
  ASSERT_EQ(back.size(), 601U);
  back.erase(back.begin());
  EXPECT_EQ(back, all);
}

TEST(History, ALineThatComesTwiceIsOneRun) {
  const TestFolder folder;
  History runs = opened(folder);
  // Without an id the content is what tells.
  const std::string bare =
      R"({"schema":"picchio.history.v1",)" + record_to_json(record("m", 1)).substr(1);
  const std::vector<std::string> all = {bare, "", bare, "  "};
  const auto done = runs.import_lines(lines(all));
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->added, 1);
  EXPECT_EQ(done->known, 1);
}

TEST(History, OneBadLineAndNothingIsImported) {
  const TestFolder here;
  const TestFolder there;
  History runs = opened(here);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(runs.add(record("m", 20, i)));
  std::vector<std::string> all = exported(runs);
  all.insert(all.begin() + 3, R"({"schema":"picchio.history.v1"})");
  History hub = opened(there);
  const auto done = hub.import_lines(lines(all));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::malformed);
  EXPECT_NE(done.error().message.find("line 4"), std::string::npos) << done.error().message;
  EXPECT_EQ(ids(hub.rows({})), (Ids{}));
}

TEST(History, ASourceThatFailsImportsNothing) {
  const TestFolder here;
  History runs = opened(here);
  ASSERT_TRUE(runs.add(record("m", 20)));
  const std::vector<std::string> all = exported(runs);
  const TestFolder there;
  History hub = opened(there);
  int calls = 0;
  const auto done = hub.import_lines([&]() -> Result<std::optional<std::string_view>> {
    if (calls++ > 0) return fail(ErrorKind::interrupted, "interrupted");
    return std::optional<std::string_view>(all.front());
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::interrupted);
  EXPECT_EQ(ids(hub.rows({})), (Ids{}));
}

TEST(History, AnExportHoldsNobodyUp) {
  const TestFolder folder;
  History runs = opened(folder);
  for (int i = 0; i < 300; ++i) ASSERT_TRUE(runs.add(record("m", 20, i)));
  History other = opened(folder);
  std::size_t seen = 0;
  const auto done = runs.export_lines([&](std::string_view) -> Result<> {
    // With a lock held by the export this would wait for it, and it for this.
    if (seen++ == 10 && !other.add(record("m", 20, 1000))) return fail(ErrorKind::failed, "held");
    return {};
  });
  EXPECT_TRUE(done) << done.error().message;
  EXPECT_EQ(seen, 301U);
}

TEST(History, TheFileIsItsOwnersAlone) {
  const TestFolder folder;
  const std::string cache = folder.file("new/picchio");
  const auto bits = [&](const std::string& path) {
    return fs::status(path).permissions() & fs::perms::all;
  };
  const mode_t old = ::umask(0);
  Result<History> runs = History::open(cache, nullptr);
  ::umask(old);
  ASSERT_TRUE(runs) << runs.error().message;
  EXPECT_EQ(bits(cache + "/history.sqlite3"), fs::perms::owner_read | fs::perms::owner_write);
  // One that was copied here with others' rights loses them.
  fs::permissions(cache + "/history.sqlite3", fs::perms(0644));
  ASSERT_TRUE(History::open(cache, nullptr));
  EXPECT_EQ(bits(cache + "/history.sqlite3"), fs::perms::owner_read | fs::perms::owner_write);
}

TEST(History, LooksAtNothingThatIsNotThere) {
  const TestFolder folder;
  std::string note;
  const auto none = History::open_existing(folder.file("none"), &note);
  ASSERT_TRUE(none) << none.error().message;
  EXPECT_FALSE(*none);
  EXPECT_FALSE(fs::exists(folder.file("none")));
  folder.write("history.sqlite3", "");
  const auto empty = History::open_existing(folder.path(), &note);
  ASSERT_TRUE(empty) << empty.error().message;
  EXPECT_FALSE(*empty);
  EXPECT_EQ(note, "");
  EXPECT_EQ(fs::file_size(folder.database()), 0U);
}

}  // namespace
}  // namespace picchio::history
