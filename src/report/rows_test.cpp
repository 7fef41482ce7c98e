#include "report/rows.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <array>
#include <limits>

namespace picchio {
namespace {

constexpr std::array kColumns = {
    RowColumn{"name", ColumnType::text, true}, RowColumn{"count", ColumnType::whole},
    RowColumn{"decode_rate", ColumnType::real, true}, RowColumn{"one_pass", ColumnType::flag}};

std::string written(RowFormat format, const std::vector<std::vector<RowCell>>& rows) {
  RowWriter writer(format, "things", kColumns);
  std::string out = writer.begin();
  for (const auto& row : rows) out += writer.row(row);
  return out + writer.end();
}

const std::vector<std::vector<RowCell>> kRows = {
    {std::string("a"), std::int64_t{7}, 12.345, true},
    {RowCell(), RowCell(), RowCell(), false},
};

TEST(Rows, EachFormatAsItsReadersKnowIt) {
  struct Row {
    RowFormat format;
    std::string_view text;
  };
  const std::vector<Row> table = {
      {RowFormat::csv, "name,count,decode_rate,one_pass\na,7,12.345,1\n,,,0\n"},
      {RowFormat::jsonl, R"({"name":"a","count":7,"decode_rate":12.345,"one_pass":true})"
                         "\n"
                         R"({"name":null,"count":null,"decode_rate":null,"one_pass":false})"
                         "\n"},
      {RowFormat::json,
       "[\n"
       R"(  {"name":"a","count":7,"decode_rate":12.345,"one_pass":true},)"
       "\n"
       R"(  {"name":null,"count":null,"decode_rate":null,"one_pass":false})"
       "\n]\n"},
      {RowFormat::md,
       "| name | decode rate |\n| ---- | ----------: |\n| a | 12.3 |\n| n/a | n/a |\n"},
      {RowFormat::sql,
       "CREATE TABLE IF NOT EXISTS things (\n  name TEXT,\n  count INTEGER,\n  decode_rate REAL,\n"
       "  one_pass INTEGER\n);\n"
       "INSERT INTO things (name, count, decode_rate, one_pass) VALUES ('a', 7, 12.345, 1);\n"
       "INSERT INTO things (name, count, decode_rate, one_pass) VALUES (NULL, NULL, NULL, 0);\n"},
  };
  for (const Row& row : table) EXPECT_EQ(written(row.format, kRows), row.text);
}

TEST(Rows, NoRowIsADocumentToo) {
  EXPECT_EQ(written(RowFormat::json, {}), "[]\n");
  EXPECT_EQ(written(RowFormat::jsonl, {}), "");
  EXPECT_EQ(written(RowFormat::csv, {}), "name,count,decode_rate,one_pass\n");
}

TEST(Rows, AHostileTextStaysInItsCell) {
  const std::string hostile =
      "\x1b[31mx\n'); DROP TABLE things; --\",\"|<script>\xff\x9b" + std::string(1, '\0');
  const std::vector<std::vector<RowCell>> rows = {
      {hostile, std::int64_t{1}, std::numeric_limits<double>::infinity(), false}};
  EXPECT_EQ(written(RowFormat::csv, rows),
            "name,count,decode_rate,one_pass\n"
            "\"x '); DROP TABLE things; --\"\",\"\"|<script>?\?\",1,,0\n");
  const std::string sql = written(RowFormat::sql, rows);
  EXPECT_TRUE(
      sql.ends_with("VALUES ('x ''); DROP TABLE things; --\",\"|<script>?\?', 1, NULL, 0);\n"))
      << sql;
  EXPECT_TRUE(written(RowFormat::md, rows)
                  .ends_with("| x '); DROP TABLE things; --\",\"\\|\\<script\\>?\? | n/a |\n"));
  // JSON keeps what it is, in escapes: its reader is no terminal.
  const auto read = nlohmann::json::parse(written(RowFormat::json, rows));
  EXPECT_TRUE(read[0]["name"].get<std::string>().starts_with("\x1b[31mx\n"));
  EXPECT_TRUE(read[0]["decode_rate"].is_null());
}

TEST(Rows, FormatsByTheirNames) {
  for (const std::string_view name : {"csv", "json", "jsonl", "md", "sql"}) {
    EXPECT_TRUE(row_format(name)) << name;
    EXPECT_TRUE(row_format_names().contains(name)) << name;
  }
  EXPECT_FALSE(row_format(""));
  EXPECT_FALSE(row_format("xml"));
}

}  // namespace
}  // namespace picchio
