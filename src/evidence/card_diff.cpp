#include "evidence/card_diff.h"

#include <algorithm>
#include <string_view>

namespace picchio {
namespace {

/// One name in every file; null where a file lacks it.
using Row = std::vector<const CardTensor*>;

bool in_all(const Row& row) {
  return std::ranges::none_of(row, [](const CardTensor* tensor) { return tensor == nullptr; });
}

bool comparable(const Row& row) {
  return std::ranges::all_of(row, [&](const CardTensor* tensor) {
    return tensor->ne == row.front()->ne && tensor->bytes.has_value();
  });
}

bool same_type(const Row& row) {
  return std::ranges::all_of(
      row, [&](const CardTensor* tensor) { return tensor->type == row.front()->type; });
}

void add_shared(CardDiff& diff, std::map<std::string, std::size_t>& roles, const Row& row) {
  ++diff.shared.count;
  diff.shared.elements += row.front()->elements;
  for (std::size_t i = 0; i < row.size(); ++i) diff.shared.bytes[i] += *row[i]->bytes;
  if (same_type(row)) {
    ++diff.same_type;
    return;
  }
  const std::string role = role_of(row.front()->name);
  const auto [place, is_new] = roles.try_emplace(role, diff.differ.size());
  if (is_new) {
    diff.differ.push_back({role, 0, std::vector<std::map<std::string, std::int64_t>>(row.size())});
  }
  RoleDifference& known = diff.differ[place->second];
  ++known.tensors;
  for (std::size_t i = 0; i < row.size(); ++i) ++known.types[i][row[i]->type];
}

PartialTensor partial_of(const Row& row) {
  PartialTensor out;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (row[i] == nullptr) continue;
    if (out.in.empty()) {
      out.name = row[i]->name;
      out.type = row[i]->type;
      out.elements = row[i]->elements;
      out.bytes = row[i]->bytes;
    }
    out.in.push_back(i);
  }
  return out;
}

}  // namespace

std::optional<double> SharedTensors::bits_per_weight(std::size_t file) const {
  if (elements <= 0) return std::nullopt;
  return 8 * static_cast<double>(bytes[file]) / static_cast<double>(elements);
}

std::string role_of(std::string_view tensor_name) {
  if (!tensor_name.starts_with("blk.")) return std::string(tensor_name);
  const auto point = tensor_name.find('.', 4);
  if (point == std::string_view::npos) return std::string(tensor_name);
  return std::string(tensor_name.substr(point + 1));
}

CardDiff diff_cards(std::span<const Card> cards) {
  CardDiff diff;
  diff.shared.bytes.assign(cards.size(), 0);
  // In the order of the first file, then what only later ones have.
  std::map<std::string_view, std::size_t> index;
  std::vector<Row> rows;
  for (std::size_t i = 0; i < cards.size(); ++i) {
    for (const CardTensor& tensor : cards[i].tensors) {
      const auto [found, is_new] = index.try_emplace(tensor.name, rows.size());
      if (is_new) rows.emplace_back(cards.size(), nullptr);
      rows[found->second][i] = &tensor;
    }
  }
  std::map<std::string, std::size_t> roles;
  for (const Row& row : rows) {
    if (!in_all(row)) {
      diff.partial.push_back(partial_of(row));
    } else if (comparable(row)) {
      add_shared(diff, roles, row);
    } else {
      diff.incomparable.push_back(row.front()->name);
    }
  }
  return diff;
}

}  // namespace picchio
