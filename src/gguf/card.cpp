#include "gguf/card.h"

#include "base/text.h"
#include "gguf/checked.h"
#include "gguf/header_bytes.h"
#include "gguf/objections.h"
#include "gguf/parts.h"
#include "gguf/tensor_table.h"
#include "gguf/token_use.h"
#include "gguf/types.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

namespace picchio::gguf {
namespace {

// --- kind

struct KindName {
  std::string_view type;
  CardKind kind;
};
// general.type. "clip-vision" is what projectors were called before "mmproj".
constexpr KindName kKinds[] = {{"adapter", CardKind::adapter},
                               {"mmproj", CardKind::projector},
                               {"clip-vision", CardKind::projector},
                               {"imatrix", CardKind::importance_matrix}};

bool has_adapter_tensor(const std::vector<CardTensor>& tensors) {
  return std::ranges::find(tensors, TensorPart::adapter, &CardTensor::part) != tensors.end();
}

bool is_all_vision(const std::vector<CardTensor>& tensors) {
  return !tensors.empty() && std::ranges::all_of(tensors, [](const CardTensor& tensor) {
    return tensor.part == TensorPart::vision;
  });
}

CardKind kind_of(const Header& first, const std::vector<CardTensor>& tensors) {
  const std::string type = first.type.value_or("model");
  const auto* row = std::ranges::find(kKinds, type, &KindName::type);
  if (row != std::end(kKinds)) return row->kind;
  if (type != "model") return CardKind::other;
  // Old projectors and adapters call themselves models, or nothing.
  if (first.architecture == "clip" || is_all_vision(tensors)) return CardKind::projector;
  if (first.adapter_type || has_adapter_tensor(tensors)) return CardKind::adapter;
  return CardKind::model;
}

// --- what the first shard tells

std::optional<Experts> experts_of(const Header& first) {
  if (first.expert_count.value_or(0) == 0) return std::nullopt;
  const std::int64_t count = first.expert_count.value_or(0);
  return Experts{count, first.expert_used_count.value_or(count), first.expert_shared_count};
}

Card told_by(const Header& first) {
  Card card;
  card.version = first.version;
  card.big_endian = first.big_endian;
  card.alignment = first.alignment;
  card.keys = first.keys;
  card.architecture = first.architecture.value_or("");
  card.name = first.name.value_or("");
  card.size_label = first.size_label.value_or("");
  card.file_type = first.file_type;
  if (first.file_type) card.claimed = file_type_words(*first.file_type);
  card.sources = first.sources;
  card.tokenizer = first.tokenizer;
  card.block_count = first.block_count;
  card.context_length = first.context_length;
  card.embedding_length = first.embedding_length;
  card.experts = experts_of(first);
  card.next_token_blocks = first.nextn_predict_layers;
  return card;
}

// --- sums

/// Adds one tensor to the sums. False past 2^63.
bool add_tensor(Card& card, const HeaderTensor& tensor, std::size_t file, const TokenUse& use) {
  if (tensor.bytes) {
    if (!add_to(card.tensor_bytes, *tensor.bytes)) return false;
    if (!add_to(card.elements, tensor.elements)) return false;
  } else {
    ++card.unpriced;
    if (!add_to(card.unpriced_elements, tensor.elements)) return false;
  }
  const int block = block_of(tensor.name);
  const auto dimensions = static_cast<std::ptrdiff_t>(tensor.dimensions);
  card.tensors.push_back({tensor.name,
                          tensor.type,
                          {tensor.ne.begin(), tensor.ne.begin() + dimensions},
                          tensor.elements,
                          tensor.bytes,
                          file,
                          block,
                          part_of(tensor.name, use.skips(block))});
  return true;
}

/// Both sums of what a token uses. Elements of priced and unpriced tensors are summed apart in the
/// card, so that their total can pass 2^63 here: absent then.
void add_use(Card& card, const std::vector<Header>& shards, const TokenUse& use) {
  std::int64_t parameters = 0;
  std::int64_t bytes = 0;  // at most Card::tensor_bytes
  bool all_priced = true;
  for (const Header& shard : shards) {
    for (const HeaderTensor& tensor : shard.tensors) {
      const std::int64_t used = use.parameters(tensor);
      if (!add_to(parameters, used)) return;
      bytes += use.bytes(tensor);
      all_priced = all_priced && (tensor.bytes || used == 0);
    }
  }
  card.active_parameters = parameters;
  if (all_priced) card.bytes_per_token = bytes;
}

std::vector<TypeRow> types_of(const std::vector<CardTensor>& tensors) {
  std::map<std::string_view, TypeRow> by_type;
  for (const CardTensor& tensor : tensors) {
    TypeRow& row = by_type[tensor.type];
    row.type = tensor.type;
    ++row.tensors;
    row.elements += tensor.elements;  // at most the card's own sums
    if (tensor.bytes) row.bytes = row.bytes.value_or(0) + *tensor.bytes;
  }
  std::vector<TypeRow> rows;
  for (auto& [type, row] : by_type) rows.push_back(std::move(row));
  // By name where the bytes are the same; absent bytes are less than any.
  std::ranges::sort(rows, [](const TypeRow& a, const TypeRow& b) {
    return std::tie(b.bytes, a.type) < std::tie(a.bytes, b.type);
  });
  return rows;
}

// --- what an engine minds

/// In front of what is said of one of several shards.
std::string shard_words(const std::vector<std::string>& paths, std::size_t index) {
  return paths.size() == 1 ? "" : fmt::format("'{}': ", plain(paths[index]));
}

void add_audit(Card& card, const std::vector<Header>& shards,
               const std::vector<std::string>& paths) {
  OffsetAudit& sum = card.audit;
  sum.trailing_bytes = 0;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const OffsetAudit& one = shards[i].audit;
    sum.typed_bytes += one.typed_bytes;  // at most Card::tensor_bytes
    // Paddings and what trails can only be as long as the files together.
    bool fits = add_to(sum.padding_bytes, one.padding_bytes);
    if (!one.trailing_bytes) sum.trailing_bytes.reset();
    if (sum.trailing_bytes) fits = add_to(*sum.trailing_bytes, *one.trailing_bytes) && fits;
    if (!fits) sum.trailing_bytes.reset();
    for (const std::string& fault : one.faults) {
      sum.faults.push_back(shard_words(paths, i) + fault);
    }
  }
}

void add_objections(Card& card, const std::vector<Header>& shards,
                    const std::vector<std::string>& paths) {
  for (std::size_t i = 0; i < shards.size(); ++i) {
    for (const std::string& objection : shards[i].objections) {
      card.objections.push_back(shard_words(paths, i) + objection);
    }
  }
  if (card.kind != CardKind::model) return;
  Objections objections(Accept::readable);
  (void)check_values(shards.front(), objections);  // readable: it notes and goes on
  std::ranges::move(objections.sentences(), std::back_inserter(card.objections));
}

Result<Card> card_of_set(const std::vector<Header>& shards, const std::vector<std::string>& paths) {
  if (auto ok = check_set(shards, paths); !ok) return std::unexpected(std::move(ok).error());
  Card card = told_by(shards.front());
  const TokenUse use(shards.front(), has_tied_output(shards));
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const Header& shard = shards[i];
    card.files.push_back(
        {paths[i], shard.file_bytes, std::nullopt, shard.header_bytes, shard.data_offset});
    for (const HeaderTensor& tensor : shard.tensors) {
      if (add_tensor(card, tensor, i, use)) continue;
      return fail(ErrorKind::malformed, "the shards claim more than 2^63 bytes or elements");
    }
  }
  card.kind = kind_of(shards.front(), card.tensors);
  card.types = types_of(card.tensors);
  add_objections(card, shards, paths);
  add_audit(card, shards, paths);
  if (card.kind == CardKind::model && use.adds_up()) add_use(card, shards, use);
  return card;
}

// --- tables that are no files

Result<HeaderTensor> tensor_of(const TableRow& row, Objections& objections) {
  HeaderTensor tensor;
  tensor.name = row.name.substr(0, row.name.find('\0'));
  if (row.shape.size() > tensor.ne.size()) {
    return fail(ErrorKind::malformed, "tensor '{}' has {} dimensions, engines take {}",
                shown(row.name), row.shape.size(), tensor.ne.size());
  }
  tensor.dimensions = static_cast<std::uint32_t>(row.shape.size());
  tensor.elements = 1;
  for (std::size_t i = 0; i < row.shape.size(); ++i) {
    tensor.ne[i] = row.shape[i];
    if (row.shape[i] < 0 || !multiply_by(tensor.elements, row.shape[i])) {
      return fail(ErrorKind::malformed, "the dimensions of tensor '{}' multiply past 2^63",
                  shown(row.name));
    }
  }
  auto ok = set_type(tensor, tensor_type(row.type), shown(row.type), std::nullopt, objections);
  if (!ok) return std::unexpected(std::move(ok).error());
  return tensor;
}

}  // namespace

Result<Card> card_of(std::vector<Header> shards, std::vector<std::string> paths) {
  return card_of_set(shards, paths);
}

Result<Card> card_of_table(Header values, const std::vector<TableRow>& rows, std::string path) {
  Objections objections(Accept::readable);
  std::set<std::string> names;
  values.tensors.clear();
  values.audit = {};
  for (const TableRow& row : rows) {
    auto tensor = tensor_of(row, objections);
    if (!tensor) return std::unexpected(std::move(tensor).error());
    if (!names.insert(tensor->name).second) {
      return fail(ErrorKind::malformed, "tensor '{}' stands twice", shown(tensor->name));
    }
    values.tensors.push_back(*std::move(tensor));
  }
  std::ranges::move(objections.sentences(), std::back_inserter(values.objections));
  std::vector<Header> one;
  one.push_back(std::move(values));
  auto card = card_of_set(one, {std::move(path)});
  if (card) {
    card->audit.typed_bytes = card->tensor_bytes;
    card->audit.trailing_bytes.reset();
    card->audit.none_because = "a server's table has no offsets";
  }
  return card;
}

}  // namespace picchio::gguf
