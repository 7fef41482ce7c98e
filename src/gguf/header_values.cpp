#include "gguf/header_values.h"

#include "base/text.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace picchio::gguf {
namespace {

Result<> take_alignment(const Pairs& pairs, Header& header) {
  constexpr std::string_view kKey = "general.alignment";
  // Here the width matters: an engine takes no other.
  const auto read = pairs.exact_u32(kKey);
  if (!read) return std::unexpected(read.error());
  const std::optional<std::uint32_t> alignment = *read;
  if (!alignment) return {};
  if (!std::has_single_bit(*alignment)) {
    return fail(ErrorKind::malformed, "key '{}' at byte {} is {}, not a power of two", kKey,
                pairs.position_of(kKey), *alignment);
  }
  header.alignment = *alignment;
  return {};
}

/// A value that may be of the wrong type: then it is objected to, and absent.
template <class Value, class Field>
Result<> take(const Result<std::optional<Value>>& value, Field& field, Objections& objections) {
  if (!value) return objections.raise(Objection::value, std::unexpected(value.error()));
  field = *value;
  return {};
}

struct IntegerKey {
  std::string_view key;
  std::optional<std::int64_t> Header::* field;
};

constexpr IntegerKey kGeneralKeys[] = {
    {"general.file_type", &Header::file_type},
    {"split.no", &Header::split_no},
    {"split.count", &Header::split_count},
    {"split.tensors.count", &Header::split_tensors_count},
};

// Behind the architecture and a point.
constexpr IntegerKey kArchitectureKeys[] = {
    {"block_count", &Header::block_count},
    {"context_length", &Header::context_length},
    {"expert_count", &Header::expert_count},
    {"expert_used_count", &Header::expert_used_count},
    {"nextn_predict_layers", &Header::nextn_predict_layers},
};
constexpr IntegerKey kArchitectureCardKeys[] = {
    {"expert_shared_count", &Header::expert_shared_count},
    {"embedding_length", &Header::embedding_length},
};

Result<> take_integers(const Pairs& pairs, std::span<const IntegerKey> keys,
                       const std::string& prefix, Header& header, Objections& objections) {
  for (const IntegerKey& row : keys) {
    auto ok = take(pairs.integer(prefix + std::string(row.key)), header.*row.field, objections);
    if (!ok) return ok;
  }
  return {};
}

// --- what decides the memory

struct HyperNumber {
  std::string_view key;
  HyperParameters::Number HyperParameters::* field;
};

constexpr HyperNumber kHyperNumbers[] = {
    {"vocab_size", &HyperParameters::vocab_size},
    {"attention.key_length", &HyperParameters::key_length},
    {"attention.value_length", &HyperParameters::value_length},
    {"attention.key_length_swa", &HyperParameters::key_length_swa},
    {"attention.value_length_swa", &HyperParameters::value_length_swa},
    {"attention.key_length_mla", &HyperParameters::key_length_mla},
    {"attention.value_length_mla", &HyperParameters::value_length_mla},
    {"attention.kv_lora_rank", &HyperParameters::kv_lora_rank},
    {"attention.q_lora_rank", &HyperParameters::q_lora_rank},
    {"attention.sliding_window", &HyperParameters::sliding_window},
    {"attention.shared_kv_layers", &HyperParameters::shared_kv_layers},
    {"attention.indexer.head_count", &HyperParameters::indexer_head_count},
    {"attention.indexer.key_length", &HyperParameters::indexer_key_length},
    {"attention.indexer.top_k", &HyperParameters::indexer_top_k},
    {"attention.indexer.kpool", &HyperParameters::indexer_pool},
    {"full_attention_interval", &HyperParameters::full_attention_interval},
    {"rope.dimension_count", &HyperParameters::rope_dimensions},
    {"ssm.conv_kernel", &HyperParameters::ssm_conv_kernel},
    {"ssm.inner_size", &HyperParameters::ssm_inner_size},
    {"ssm.state_size", &HyperParameters::ssm_state_size},
    {"ssm.time_step_rank", &HyperParameters::ssm_time_step_rank},
    {"ssm.group_count", &HyperParameters::ssm_group_count},
    {"kda.head_dim", &HyperParameters::kda_head_dim},
    {"shortconv.l_cache", &HyperParameters::shortconv_cache},
    {"wkv.head_size", &HyperParameters::wkv_head_size},
    {"token_shift_count", &HyperParameters::token_shift_count},
    {"expert_feed_forward_length", &HyperParameters::expert_feed_forward_length},
    {"leading_dense_block_count", &HyperParameters::leading_dense_blocks},
    {"embedding_length_out", &HyperParameters::embedding_length_out},
    {"embedding_length_per_layer_input", &HyperParameters::per_layer_embedding_length},
    {"hyper_connection.count", &HyperParameters::hyper_connections},
    {"ple.ngram_size", &HyperParameters::ple_ngram_size},
    {"ple.conv_kernel", &HyperParameters::ple_conv_kernel},
};

struct HyperLayers {
  std::string_view key;
  PerLayer HyperParameters::* field;
};

constexpr HyperLayers kHyperLayers[] = {
    {"attention.head_count", &HyperParameters::head_count},
    {"attention.head_count_kv", &HyperParameters::head_count_kv},
    {"feed_forward_length", &HyperParameters::feed_forward_length},
    {"attention.sliding_window_pattern", &HyperParameters::sliding_window_pattern},
    {"attention.recurrent_layers", &HyperParameters::recurrent_layers},
    {"attention.compress_ratios", &HyperParameters::compress_ratios},
    {"attention.indexer.types", &HyperParameters::indexer_types},
    {"ple.layers", &HyperParameters::ple_layers},
};

/// For the forecast of memory only, which says itself what it cannot do without.
void take_hyper_parameters(const Pairs& pairs, const std::string& prefix, HyperParameters& hyper) {
  const auto unreadable = [&](const std::string& key) {
    if (hyper.unreadable.empty()) hyper.unreadable = key.substr(0, kMaxSourceBytes);
  };
  for (const HyperNumber& row : kHyperNumbers) {
    const std::string key = prefix + std::string(row.key);
    const auto value = pairs.integer(key);
    if (value) hyper.*row.field = *value;
    if (!value) unreadable(key);
  }
  for (const HyperLayers& row : kHyperLayers) {
    const std::string key = prefix + std::string(row.key);
    auto value = pairs.if_per_layer(key, kMaxPerLayer);
    if (!value) unreadable(key);
    if (value) hyper.*row.field = *std::move(value);
  }
}

// --- where the file comes from

// Of the keys under kSourceFolders: those that people look for, by their beginnings. The others
// follow, so that a file with a thousand keys of its own cannot push these out.
constexpr std::string_view kTelling[] = {
    "general.quantized_by", "general.base_model.", "general.repo_url",
    "general.url",          "general.source.",     "general.author",
    "general.organization", "general.license",     "quantize.imatrix.",
};
constexpr std::string_view kSourceFolders[] = {"general.", "quantize.imatrix."};
// Fields of the header themselves, or of no use for telling two files apart.
constexpr std::string_view kNoSources[] = {"general.architecture", "general.name", "general.tags",
                                           "general.languages"};

std::vector<std::string_view> source_keys(const Pairs& pairs) {
  std::vector<std::string_view> keys;
  for (const std::string_view folder : kSourceFolders) {
    for (const std::string_view key : pairs.keys_that_begin(folder)) {
      if (std::ranges::find(kNoSources, key) == std::end(kNoSources)) keys.push_back(key);
    }
  }
  std::ranges::sort(keys, {}, [](std::string_view key) {
    const auto* rank =
        std::ranges::find_if(kTelling, [&](auto begin) { return key.starts_with(begin); });
    return std::pair(rank, key);
  });
  return keys;
}

void take_sources(const Pairs& pairs, Header& header) {
  for (const std::string_view key : source_keys(pairs)) {
    if (header.sources.size() == kMaxSources) return;
    std::optional<std::string> value;
    if (const auto text = pairs.if_text(key)) value = text->substr(0, kMaxSourceBytes);
    if (!value) value = pairs.if_texts(key, kMaxSourceBytes);
    if (!value) continue;
    if (value->size() > kMaxSourceBytes) value->resize(kMaxSourceBytes);
    header.sources.push_back({std::string(key.substr(0, kMaxSourceBytes)), *std::move(value)});
  }
}

// --- tokenizer

std::string text_or_nothing(const Pairs& pairs, std::string_view key) {
  return std::string(pairs.if_text(key).value_or("").substr(0, kMaxSourceBytes));
}

void take_tokenizer(const Pairs& pairs, Header& header) {
  constexpr std::string_view kTemplate = "tokenizer.chat_template";
  TokenizerLine& line = header.tokenizer;
  line.model = text_or_nothing(pairs, "tokenizer.ggml.model");
  line.pre = text_or_nothing(pairs, "tokenizer.ggml.pre");
  line.vocabulary = pairs.if_array_size("tokenizer.ggml.tokens");
  line.merges = pairs.if_array_size("tokenizer.ggml.merges");
  for (const std::string_view key : pairs.keys_that_begin(kTemplate)) {
    if (line.templates.size() == kMaxTemplates) return;
    std::string_view name = key.substr(kTemplate.size());
    const auto text = pairs.if_text(key);
    // "tokenizer.chat_templates" lists the names.
    if (!text || (!name.empty() && !take_prefix(name, "."))) continue;
    line.templates.emplace_back(name.substr(0, kMaxSourceBytes),
                                static_cast<std::int64_t>(text->size()));
  }
}

void take_card_values(const Pairs& pairs, Header& header) {
  header.type = pairs.if_text("general.type");
  header.adapter_type = pairs.if_text("adapter.type");
  header.size_label = pairs.if_text("general.size_label");
  header.clip_keys = !pairs.keys_that_begin("clip.").empty();
  take_sources(pairs, header);
  take_tokenizer(pairs, header);
  if (!header.architecture) return;
  const std::string prefix = *header.architecture + '.';
  take_hyper_parameters(pairs, prefix, header.hyper);
  for (const IntegerKey& row : kArchitectureCardKeys) {
    header.*row.field = pairs.if_integer(prefix + std::string(row.key));
  }
  if (!header.tokenizer.vocabulary) {
    header.tokenizer.vocabulary = pairs.if_integer(prefix + "vocab_size");
  }
}

}  // namespace

Result<> take_values(const Pairs& pairs, Header& header, Objections& objections) {
  if (auto ok = take_alignment(pairs, header); !ok) return ok;
  if (auto ok = take_integers(pairs, kGeneralKeys, "", header, objections); !ok) return ok;
  if (auto ok = take(pairs.text("general.name"), header.name, objections); !ok) return ok;
  auto ok = take(pairs.text("general.architecture"), header.architecture, objections);
  if (ok && header.architecture) {
    const std::string prefix = *header.architecture + '.';
    ok = take_integers(pairs, kArchitectureKeys, prefix, header, objections);
    if (ok)
      ok = take(pairs.boolean(prefix + "attention.causal"), header.causal_attention, objections);
  }
  if (ok) take_card_values(pairs, header);
  return ok;
}

}  // namespace picchio::gguf
