// Records to text and back; lines that are none.
#include "history/record_json.h"

#include "history/sample_records.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace picchio::history {
namespace {

using samples::random_record;

void expect_same(const Sampling& a, const Sampling& b) {
  EXPECT_EQ(a.temperature, b.temperature);
  EXPECT_EQ(a.top_k, b.top_k);
  EXPECT_EQ(a.top_p, b.top_p);
  EXPECT_EQ(a.min_p, b.min_p);
  EXPECT_EQ(a.seed, b.seed);
}

// Written out apart from the codec's own list of fields; the binding names every field there is.
void expect_same(const RunFigures& one, const RunFigures& other) {
  const auto& [a, b, c, d, e, f, g, h, i, sampling, k, l, m, n, o, p, q, r, s, t, u, v, w] = one;
  EXPECT_EQ(a, other.model);
  EXPECT_EQ(b, other.parameters);
  EXPECT_EQ(c, other.quant);
  EXPECT_EQ(d, other.weight_bytes);
  EXPECT_EQ(e, other.engine);
  EXPECT_EQ(f, other.build);
  EXPECT_EQ(g, other.placement);
  EXPECT_EQ(h, other.meter);
  EXPECT_EQ(i, other.cpu);
  ASSERT_EQ(sampling.has_value(), other.sampling.has_value());
  if (sampling && other.sampling) expect_same(*sampling, *other.sampling);
  EXPECT_EQ(k, other.context);
  EXPECT_EQ(l, other.lanes);
  EXPECT_EQ(m, other.only_one_pass);
  EXPECT_EQ(n, other.server_was_warm);
  EXPECT_EQ(o, other.cold_pass);
  EXPECT_EQ(p, other.state);
  EXPECT_EQ(q, other.sentence);
  EXPECT_EQ(r, other.why);
  EXPECT_EQ(s, other.fix);
  EXPECT_EQ(t, other.version);
  EXPECT_EQ(u, other.protocol);
  EXPECT_EQ(v, other.machine);
  EXPECT_EQ(w, other.more);
}

void expect_same(const RecordedRun& one, const RecordedRun& other) {
  const auto& [at, host, key, file, rule, testimonies, figures, block] = one;
  EXPECT_EQ(at, other.at);
  EXPECT_EQ(host, other.host);
  EXPECT_EQ(key, other.model_key);
  EXPECT_EQ(file, other.model_file);
  EXPECT_EQ(rule, other.rule);
  EXPECT_EQ(block, other.block);
  ASSERT_EQ(testimonies.size(), other.testimonies.size());
  for (std::size_t i = 0; i < testimonies.size(); ++i) {
    EXPECT_EQ(testimonies[i].witness, other.testimonies[i].witness);
    EXPECT_EQ(testimonies[i].word, other.testimonies[i].word);
    EXPECT_EQ(testimonies[i].sentence, other.testimonies[i].sentence);
  }
  expect_same(figures, other.figures);
}

TEST(RecordJson, EveryFieldComesBack) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    const RecordedRun run = random_record(seed);
    const std::string text = record_to_json(run);
    EXPECT_EQ(text.find('\n'), std::string::npos);
    const Result<RecordedRun> back = record_from_json(text);
    ASSERT_TRUE(back) << seed << ": " << back.error().message;
    expect_same(run, *back);
    const Result<RunFigures> figures = figures_from_json(figures_to_json(run.figures));
    ASSERT_TRUE(figures) << figures.error().message;
    expect_same(run.figures, *figures);
    if (HasFailure()) return;
  }
}

TEST(RecordJson, AnExportLineIsTheRecordWithItsId) {
  const std::string content(32, 'a');
  for (unsigned seed = 0; seed < 100; ++seed) {
    const RecordedRun run = random_record(seed);
    const std::string record = record_to_json(run);
    const std::string line = export_line(content, record);
    const Result<ImportedRecord> back = record_of_export_line(line);
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(back->content, content);
    EXPECT_EQ(back->record, record);
    expect_same(run, back->run);
  }
}

TEST(RecordJson, WhatANewerPicchioAddedIsKept) {
  std::string line = export_line(std::string(32, '0'), record_to_json(samples::record("m", 20)));
  line.insert(line.size() - 1, R"(,"later":{"x":[1,2.5]})");
  const Result<ImportedRecord> back = record_of_export_line(line);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_NE(back->record.find(R"("later":{"x":[1,2.5]})"), std::string::npos);
  EXPECT_EQ(back->record.find("picchio.history"), std::string::npos);
}

TEST(RecordJson, AWordOfALaterPicchioIsAbsent) {
  std::string text = record_to_json(samples::record("m", 20));
  const std::string word = "\"HEALTHY\"";
  text.replace(text.find(word), word.size(), "\"SPLENDID\"");
  const Result<RecordedRun> back = record_from_json(text);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_FALSE(back->figures.state);
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return at == std::string::npos ? text : text.replace(at, what.size(), with);
}

TEST(RecordJson, LinesThatAreNoRunAreRefusedWithTheReason) {
  const std::string good =
      export_line(std::string(32, 'b'), record_to_json(samples::record("m", 20)));
  ASSERT_TRUE(record_of_export_line(good));
  const std::string deep = std::string(100'000, '[');
  const std::pair<std::string, std::string> bad[] = {
      {"", "not JSON"},
      {"null", "schema"},
      {"{}", "schema"},
      {"[1]", "schema"},
      {good.substr(0, good.size() / 2), "not JSON"},
      {good + "x", "not JSON"},
      {deep, "nests deeper"},
      {std::string(kMostLineBytes + 1, ' '), "more than"},
      {replaced(good, "history.v1", "history.v2"), "schema"},
      {replaced(good, std::string(32, 'b'), "short"), "hex digits"},
      {replaced(good, "\"id\":\"b", "\"id\":\"B"), "hex digits"},
      {replaced(good, "\"at\":\"2", "\"at\":\"1"), "'at'"},
      {replaced(good, "\"at\":\"2026", "\"at\":\"2300"), "'at'"},
      {replaced(good, "\"model\":\"m\"", "\"model\":\"\""), "no model"},
      {replaced(good, "\"model\":\"m\"", "\"model\":7"), "'figures.model'"},
      {replaced(good, "\"value\":20.0", "\"value\":-1"), "rate"},
      {replaced(good, "\"value\":20.0", "\"value\":1e300"), "rate"},
      {replaced(good, "\"value\":20.0", "\"value\":\"fast\""), "a number"},
      {replaced(good, "\"value\":20.0", "\"value\":1e999"), "not JSON"},
      {replaced(good, "\"host\":\"box\"", "\"host\":\"\xff\""), "not JSON"},
      {replaced(good, "\"host\":\"box\"", "\"host\":null"), "a string"},
      {replaced(good, "\"figures\":{", "\"figures\":[],\"x\":{"), "an object"},
  };
  for (const auto& [line, reason] : bad) {
    const Result<ImportedRecord> back = record_of_export_line(line);
    ASSERT_FALSE(back) << line.substr(0, 200);
    EXPECT_NE(back.error().message.find(reason), std::string::npos)
        << back.error().message << " for " << line.substr(0, 200);
  }
}

TEST(RecordJson, ALineWhoseEscapesOutgrowTheCapIsRefused) {
  std::string line = export_line(std::string(32, 'b'), record_to_json(samples::record("m", 20)));
  std::string wide;
  for (std::size_t i = 0; i < kMostRecordBytes / 3; ++i) wide += "\xc3\xbc";
  line = replaced(line, "\"host\":\"box\"", "\"host\":\"" + wide + "\"");
  ASSERT_LE(line.size(), kMostLineBytes);
  EXPECT_FALSE(record_of_export_line(line));
}

TEST(RecordJson, NoTextCrashesIt) {
  const std::string good = export_line(std::string(32, 'b'), record_to_json(random_record(3)));
  std::size_t read = 0;
  for (std::size_t i = 0; i < good.size(); i += 1 + good.size() / 400) {
    std::string text = good;
    for (const char c : {'"', '{', '\0', '9', '\xff'}) {
      text[i] = c;
      if (record_of_export_line(text)) ++read;
    }
  }
  EXPECT_GT(read, 0U);
  EXPECT_LT(read, 5 * 400U);
}

TEST(Moments, AreReadAsTheyAreWritten) {
  const std::pair<const char*, const char*> good[] = {
      {"2026-11-29T15:12:32Z", "2026-11-29T15:12:32.000000Z"},
      {"2026-11-29T15:12:32.5Z", "2026-11-29T15:12:32.500000Z"},
      {"2024-02-29T23:59:59.999999999Z", "2024-02-29T23:59:59.999999Z"},
      {"2000-01-01T00:00:00.000001Z", "2000-01-01T00:00:00.000001Z"},
  };
  for (const auto& [text, again] : good) {
    const auto at = moment_from_rfc3339(text);
    ASSERT_TRUE(at) << text;
    EXPECT_EQ(to_rfc3339(*at), again);
  }
  for (const char* text :
       {"", "2026", "2026-11-29 15:12:32Z", "2026-11-29T15:12:32", "2026-11-29T15:12:32+01:00",
        "2026-13-29T15:12:32Z", "2026-02-30T15:12:32Z", "2026-11-29T24:12:32Z",
        "2026-11-29T15:60:32Z", "2026-11-29T15:12:60Z", "2026-11-29T15:12:32.Z",
        "2026-11-29T15:12:32.1234567890Z", "1970-01-01T00:00:00Z", "2200-01-01T00:00:00Z",
        "2026-11-29T15:12:32Zx", "-026-11-29T15:12:32Z"}) {
    EXPECT_FALSE(moment_from_rfc3339(text)) << text;
  }
}

}  // namespace
}  // namespace picchio::history
