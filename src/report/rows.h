// Rows for programs and spreadsheets: the formats that llama-bench's -o gives, for whatever has
// rows. Written as they come, so that a long watch is never held in memory.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace picchio {

enum class RowFormat {
  json,   // an array of objects
  jsonl,  // an object on each line
  csv,    // RFC 4180, LF line ends, under a heading
  md,     // a Markdown table of the columns that a reader wants first
  sql,    // CREATE TABLE IF NOT EXISTS and an INSERT for each row
};

/// "json", "jsonl", "csv", "md", "sql".
[[nodiscard]] std::optional<RowFormat> row_format(std::string_view name);
/// The same names, for a message: "csv, json, jsonl, md or sql".
[[nodiscard]] std::string_view row_format_names();

enum class ColumnType { text, whole, real, flag };

struct RowColumn {
  std::string_view name;  // letters, digits and underscores: a name in SQL too
  ColumnType type = ColumnType::text;
  bool in_table = false;  // a column of the Markdown table
};

/// Absent: not told. A text is untrusted: it leaves only sanitised.
using RowCell = std::variant<std::monostate, std::string, std::int64_t, double, bool>;

class RowWriter {
 public:
  /// `table`: its name in SQL. The columns must outlive the writer.
  RowWriter(RowFormat format, std::string_view table, std::span<const RowColumn> columns)
      : format_(format), table_(table), columns_(columns) {}

  /// What stands before the first row.
  [[nodiscard]] std::string begin() const;
  /// One cell for each column.
  [[nodiscard]] std::string row(std::span<const RowCell> cells);
  /// What stands behind the last row.
  [[nodiscard]] std::string end() const;

 private:
  RowFormat format_;
  std::string_view table_;
  std::span<const RowColumn> columns_;
  bool first_ = true;
};

}  // namespace picchio
