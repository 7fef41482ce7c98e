#include "report/run_rows.h"

#include <array>

namespace picchio {
namespace {

using enum ColumnType;

constexpr std::array kColumns = {
    RowColumn{"id", whole},           RowColumn{"at", text},
    RowColumn{"host", text},          RowColumn{"model", text, true},
    RowColumn{"quant", text, true},   RowColumn{"protocol", text},
    RowColumn{"engine", text, true},  RowColumn{"build", text, true},
    RowColumn{"state", text, true},   RowColumn{"weights_on_gpu_fraction", real},
    RowColumn{"one_pass", flag},      RowColumn{"prefill", real, true},
    RowColumn{"prefill_low", real},   RowColumn{"prefill_high", real},
    RowColumn{"decode", real, true},  RowColumn{"decode_low", real},
    RowColumn{"decode_high", real},   RowColumn{"wallclock", real, true},
    RowColumn{"wallclock_low", real}, RowColumn{"wallclock_high", real},
    RowColumn{"chip", text, true},    RowColumn{"gpu", text, true},
    RowColumn{"driver", text},        RowColumn{"os", text},
    RowColumn{"kv_type_k", text},     RowColumn{"kv_type_v", text},
};

RowCell cell(const std::string& value) { return value.empty() ? RowCell() : RowCell(value); }

RowCell cell(const std::optional<double>& value) { return value ? RowCell(*value) : RowCell(); }

}  // namespace

std::span<const RowColumn> run_columns() { return kColumns; }

std::vector<RowCell> run_cells(const StoredRow& row) {
  std::vector<RowCell> out;
  out.reserve(kColumns.size());
  out.push_back(row.id == 0 ? RowCell() : RowCell(row.id));
  out.push_back(row.at == Moment{} ? RowCell() : RowCell(to_rfc3339(row.at)));
  for (const std::string* each :
       {&row.host, &row.model, &row.quant, &row.protocol, &row.engine, &row.build}) {
    out.push_back(cell(*each));
  }
  out.push_back(row.state ? RowCell(std::string(name_of(*row.state))) : RowCell());
  out.push_back(cell(row.gpu_share));
  out.emplace_back(row.one_pass);
  for (const StoredLane& lane : row.lanes) {
    for (const auto& value : {lane.value, lane.low, lane.high}) out.push_back(cell(value));
  }
  for (const std::string* each :
       {&row.chip, &row.gpu, &row.driver, &row.os, &row.kv_type_k, &row.kv_type_v}) {
    out.push_back(cell(*each));
  }
  return out;
}

std::string run_rows(RowFormat format, std::span<const StoredRow> rows) {
  RowWriter writer(format, kRunTable, kColumns);
  std::string out = writer.begin();
  for (const StoredRow& row : rows) out += writer.row(run_cells(row));
  return out + writer.end();
}

}  // namespace picchio
