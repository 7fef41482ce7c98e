#include "report/card_parts.h"
#include "report/card_text.h"
#include "report/json_values.h"

#include <map>

namespace picchio {
namespace {

using report::Json;
using report::text_or_null;
using report::value_or_null;

Json file_json(const CardFile& file) {
  return {
      {"path", file.path},
      {"bytes", value_or_null(file.bytes)},
      {"sha256", file.digest ? Json(file.digest->hex) : Json(nullptr)},
      {"sha256_source", file.digest ? Json(report::name_of(file.digest->source)) : Json(nullptr)},
      {"sha256_fault", value_or_null(file.digest_fault)},
      {"transferred_bytes", value_or_null(file.transferred_bytes)},
      {"header_bytes", file.header_bytes},
      {"data_offset", file.data_offset}};
}

Json type_json(const TypeRow& row) {
  return {{"type", row.type},
          {"tensors", row.tensors},
          {"elements", row.elements},
          {"bytes", value_or_null(row.bytes)}};
}

Json parts_json(const Card& card) {
  std::map<TensorPart, report::Tally> parts;
  for (const CardTensor& tensor : card.tensors) parts[tensor.part].add(tensor);
  Json out = Json::array();
  for (const auto& [part, tally] : parts) {
    out.push_back({{"part", name_of(part)},
                   {"tensors", tally.tensors},
                   {"elements", tally.elements},
                   {"bytes", tally.bytes},
                   {"bits_per_weight", value_or_null(tally.bits())},
                   {"types", tally.types}});
  }
  return out;
}

Json audit_json(const OffsetAudit& audit) {
  const bool made = audit.none_because.empty();
  return {{"clean", made ? Json(audit.faults.empty()) : Json(nullptr)},
          {"typed_bytes", audit.typed_bytes},
          {"padding_bytes", made ? Json(audit.padding_bytes) : Json(nullptr)},
          {"trailing_bytes", value_or_null(audit.trailing_bytes)},
          {"faults", audit.faults},
          {"none_because", text_or_null(audit.none_because)}};
}

Json tokenizer_json(const TokenizerLine& tokenizer) {
  Json templates = Json::array();
  for (const auto& [name, bytes] : tokenizer.templates) {
    templates.push_back({{"name", text_or_null(name)}, {"bytes", bytes}});
  }
  return {{"model", text_or_null(tokenizer.model)},
          {"pre", text_or_null(tokenizer.pre)},
          {"vocabulary", value_or_null(tokenizer.vocabulary)},
          {"merges", value_or_null(tokenizer.merges)},
          {"chat_templates", templates}};
}

Json experts_json(const std::optional<Experts>& experts) {
  if (!experts) return nullptr;
  return {{"count", experts->count},
          {"used", experts->used},
          {"shared", value_or_null(experts->shared)}};
}

Json tensor_json(const CardTensor& tensor) {
  return {{"name", tensor.name},         {"type", tensor.type},
          {"shape", tensor.ne},          {"elements", tensor.elements},
          {"file", tensor.file},         {"bytes", value_or_null(tensor.bytes)},
          {"part", name_of(tensor.part)}};
}

Json unusual_json(const Card& card) {
  Json out = Json::array();
  for (const std::size_t i : unusual_tensors(card)) out.push_back(tensor_json(card.tensors[i]));
  return out;
}

Json claims_json(const Card& card) {
  Json out = Json::object();
  for (const SourceClaim& claim : card.sources) out[claim.key] = claim.value;
  return out;
}

Json kv_json(const std::optional<LastKv>& kv) {
  if (!kv) return nullptr;
  return {{"k", kv->k}, {"v", kv->v}, {"time", kv->time}, {"engine", text_or_null(kv->engine)}};
}

template <class Row, class Make>
Json array_of(const std::vector<Row>& rows, Make make) {
  Json out = Json::array();
  for (const Row& row : rows) out.push_back(make(row));
  return out;
}

Json card_json(const Card& card, bool all_tensors) {
  Json out = {{"name", raw_card_label(card)},
              {"kind", name_of(card.kind)},
              {"files", array_of(card.files, file_json)},
              {"file_bytes", value_or_null(report::file_bytes(card))},
              {"gguf_version", card.version},
              {"big_endian", card.big_endian},
              {"alignment", card.alignment},
              {"keys", card.keys},
              {"architecture", text_or_null(card.architecture)},
              {"general_name", text_or_null(card.name)},
              {"size_label", text_or_null(card.size_label)},
              {"file_type", value_or_null(card.file_type)},
              {"claimed", text_or_null(label_of_file_type(card.claimed))},
              {"claimed_words", text_or_null(card.claimed)},
              {"label_in_name", text_or_null(label_in_name(card_label(card)))},
              {"claims", claims_json(card)},
              {"tensors", card.tensors.size()},
              {"types", array_of(card.types, type_json)},
              {"tensor_bytes", card.tensor_bytes},
              {"elements", card.elements},
              {"bits_per_weight", value_or_null(bits_per_weight(card))},
              {"unpriced_tensors", card.unpriced},
              {"unpriced_elements", card.unpriced_elements},
              {"audit", audit_json(card.audit)},
              {"engines_refuse", card.objections},
              {"parts", parts_json(card)},
              {"unusual_tensors", unusual_json(card)},
              {"block_count", value_or_null(card.block_count)},
              {"context_length", value_or_null(card.context_length)},
              {"embedding_length", value_or_null(card.embedding_length)},
              {"next_token_blocks", value_or_null(card.next_token_blocks)},
              {"experts", experts_json(card.experts)},
              {"active_parameters", value_or_null(card.active_parameters)},
              {"bytes_per_token", value_or_null(card.bytes_per_token)},
              {"tokenizer", tokenizer_json(card.tokenizer)},
              {"last_kv", kv_json(card.last_kv)}};
  if (all_tensors) out["tensor_table"] = array_of(card.tensors, tensor_json);
  return out;
}

Json role_json(const RoleDifference& role) {
  return {{"role", role.role}, {"tensors", role.tensors}, {"types", role.types}};
}

Json partial_json(const PartialTensor& tensor) {
  return {{"name", tensor.name},
          {"cards", tensor.in},
          {"type", tensor.type},
          {"elements", tensor.elements},
          {"bytes", value_or_null(tensor.bytes)}};
}

Json comparison_json(std::size_t cards, const CardDiff& diff) {
  Json bits = Json::array();
  for (std::size_t i = 0; i < cards; ++i) {
    bits.push_back(value_or_null(diff.shared.bits_per_weight(i)));
  }
  return {{"shared_tensors", diff.shared.count},
          {"shared_elements", diff.shared.elements},
          {"shared_bytes", diff.shared.bytes},
          {"shared_bits_per_weight", bits},
          {"same_type", diff.same_type},
          {"differ", array_of(diff.differ, role_json)},
          {"partial", array_of(diff.partial, partial_json)},
          {"not_compared", diff.incomparable}};
}

}  // namespace

std::string cards_json(std::span<const Card> cards, const std::optional<CardDiff>& diff,
                       bool all_tensors, int exit_code) {
  Json rows = Json::array();
  for (const Card& card : cards) rows.push_back(card_json(card, all_tensors));
  return report::dump({{"schema", "picchio.id.v1"},
                       {"version", PICCHIO_VERSION},
                       {"cards", rows},
                       {"comparison", diff ? comparison_json(cards.size(), *diff) : Json(nullptr)},
                       {"exit_code", exit_code}});
}

}  // namespace picchio
