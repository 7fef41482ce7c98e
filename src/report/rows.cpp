#include "report/rows.h"

#include "base/text.h"
#include "report/json_parts.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace picchio {
namespace {

using report::Json;

struct NamedFormat {
  std::string_view name;
  RowFormat format;
};
constexpr std::array kFormats = {
    NamedFormat{"csv", RowFormat::csv}, NamedFormat{"json", RowFormat::json},
    NamedFormat{"jsonl", RowFormat::jsonl}, NamedFormat{"md", RowFormat::md},
    NamedFormat{"sql", RowFormat::sql}};

/// How one format writes each kind of cell; `none` for what is absent or no number.
struct CellWords {
  std::string_view none;
  std::string (*text)(const std::string& text);
  std::string (*real)(double value);
};

std::string exact(double value) { return fmt::format("{}", value); }
std::string one_decimal(double value) { return fmt::format("{:.1f}", value); }

std::string doubled(const std::string& text, char quote) {
  std::string out;
  for (const char c : text) {
    if (c == quote) out += quote;
    out += c;
  }
  return out;
}

std::string csv_text(const std::string& text) {
  const std::string clean = plain(text);
  if (clean.find_first_of(",\"") == std::string::npos) return clean;
  return '"' + doubled(clean, '"') + '"';
}

std::string sql_text(const std::string& text) { return '\'' + doubled(plain(text), '\'') + '\''; }

std::string markdown_text(const std::string& text) { return plain_markdown(text); }

constexpr CellWords kCsv{"", csv_text, exact};
constexpr CellWords kSql{"NULL", sql_text, exact};
constexpr CellWords kMarkdown{"n/a", markdown_text, one_decimal};

std::string cell_text(const RowCell& cell, const CellWords& words) {
  struct Visitor {
    const CellWords& words;
    std::string operator()(std::monostate) const { return std::string(words.none); }
    std::string operator()(const std::string& text) const { return words.text(text); }
    std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
    std::string operator()(double value) const {
      return std::isfinite(value) ? words.real(value) : std::string(words.none);
    }
    std::string operator()(bool value) const { return value ? "1" : "0"; }
  };
  return std::visit(Visitor{words}, cell);
}

Json cell_json(const RowCell& cell) {
  struct Visitor {
    Json operator()(std::monostate) const { return nullptr; }
    Json operator()(const std::string& text) const { return text; }
    Json operator()(std::int64_t value) const { return value; }
    Json operator()(double value) const { return value; }  // not finite: null
    Json operator()(bool value) const { return value; }
  };
  return std::visit(Visitor{}, cell);
}

std::string_view sql_type(ColumnType type) {
  switch (type) {
    case ColumnType::text:
      return "TEXT";
    case ColumnType::real:
      return "REAL";
    case ColumnType::whole:
    case ColumnType::flag:
      return "INTEGER";
  }
  return "TEXT";
}

std::string object_line(std::span<const RowColumn> columns, std::span<const RowCell> cells) {
  Json out = Json::object();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    out[std::string(columns[i].name)] = cell_json(cells[i]);
  }
  return out.dump(-1, ' ', true, Json::error_handler_t::replace);
}

std::string joined_names(std::span<const RowColumn> columns, std::string_view by) {
  std::string out;
  for (const RowColumn& column : columns) {
    if (!out.empty()) out += by;
    out += column.name;
  }
  return out;
}

std::string joined_cells(std::span<const RowCell> cells, const CellWords& words,
                         std::string_view by) {
  std::string out;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) out += by;
    out += cell_text(cells[i], words);
  }
  return out;
}

std::string markdown_head(std::span<const RowColumn> columns) {
  std::string head = "|";
  std::string rule = "|";
  for (const RowColumn& column : columns) {
    if (!column.in_table) continue;
    std::string name(column.name);
    std::ranges::replace(name, '_', ' ');
    const bool number = column.type == ColumnType::real || column.type == ColumnType::whole;
    head += fmt::format(" {} |", name);
    rule += fmt::format(" {:-<{}}{} |", "", std::max<std::size_t>(name.size(), 3) - 1,
                        number ? ':' : '-');
  }
  return head + '\n' + rule + '\n';
}

std::string markdown_row(std::span<const RowColumn> columns, std::span<const RowCell> cells) {
  std::string out = "|";
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].in_table) out += fmt::format(" {} |", cell_text(cells[i], kMarkdown));
  }
  return out + '\n';
}

std::string sql_head(std::string_view table, std::span<const RowColumn> columns) {
  std::string out = fmt::format("CREATE TABLE IF NOT EXISTS {} (\n", table);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    out += fmt::format("  {} {}{}\n", columns[i].name, sql_type(columns[i].type),
                       i + 1 < columns.size() ? "," : "");
  }
  return out + ");\n";
}

}  // namespace

std::optional<RowFormat> row_format(std::string_view name) {
  const auto* const found = std::ranges::find(kFormats, name, &NamedFormat::name);
  if (found == kFormats.end()) return std::nullopt;
  return found->format;
}

std::string_view row_format_names() { return "csv, json, jsonl, md or sql"; }

std::string RowWriter::begin() const {
  switch (format_) {
    case RowFormat::json:
      return "[";
    case RowFormat::jsonl:
      return "";
    case RowFormat::csv:
      return joined_names(columns_, ",") + '\n';
    case RowFormat::md:
      return markdown_head(columns_);
    case RowFormat::sql:
      return sql_head(table_, columns_);
  }
  return "";
}

std::string RowWriter::row(std::span<const RowCell> cells) {
  const bool first = std::exchange(first_, false);
  switch (format_) {
    case RowFormat::json:
      return (first ? "\n  " : ",\n  ") + object_line(columns_, cells);
    case RowFormat::jsonl:
      return object_line(columns_, cells) + '\n';
    case RowFormat::csv:
      return joined_cells(cells, kCsv, ",") + '\n';
    case RowFormat::md:
      return markdown_row(columns_, cells);
    case RowFormat::sql:
      return fmt::format("INSERT INTO {} ({}) VALUES ({});\n", table_, joined_names(columns_, ", "),
                         joined_cells(cells, kSql, ", "));
  }
  return "";
}

std::string RowWriter::end() const {
  if (format_ != RowFormat::json) return "";
  return first_ ? "]\n" : "\n]\n";
}

}  // namespace picchio
