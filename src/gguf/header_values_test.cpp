// What a header keeps for the card.
#include "gguf/gguf_builder.h"
#include "gguf/header.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace picchio::gguf {
namespace {

Header read(const GgufFile& spec) {
  const std::string file = spec.file();
  auto header = read_header(as_bytes(file), static_cast<std::int64_t>(file.size()));
  EXPECT_TRUE(header) << header.error().message;
  return header ? *std::move(header) : Header{};
}

std::vector<std::string> sources_of(const Header& header) {
  std::vector<std::string> all;
  for (const SourceClaim& claim : header.sources) all.push_back(claim.key + " = " + claim.value);
  return all;
}

TEST(HeaderValues, Sources) {
  const Header header =
      read({.pairs = {pair_text("general.architecture", "llama"),
                      pair_text("general.name", "Small"),
                      pair_text("general.type", "model"),
                      pair_text("general.size_label", "8B"),
                      pair_text("general.basename", "Small"),
                      pair_text("general.finetune", "chat"),
                      pair_u32("general.quantization_version", 2),
                      pair_u32("general.base_model.count", 1),
                      pair_text("general.base_model.0.name", "Base"),
                      pair_text("general.base_model.0.organization", "Org"),
                      pair_text("general.base_model.0.repo_url", "https://host/base"),
                      pair_text("general.quantized_by", "someone"),
                      pair_text("general.url", "u"),
                      pair_text("general.source.url", "s"),
                      pair_text("general.repo_url", "r"),
                      pair_text("general.license", "mit"),
                      pair_texts("general.tags", 2, "tag"),
                      pair_texts("general.languages", 2, "en"),
                      pair_texts("general.datasets", 2, "set"),
                      pair_text("quantize.imatrix.file", "x.imatrix"),
                      pair_u32("quantize.imatrix.chunks_count", 3),
                      pair_text("llama.quantized_by", "not this")}});
  EXPECT_EQ(sources_of(header),
            (std::vector<std::string>{
                "general.quantized_by = someone", "general.base_model.0.name = Base",
                "general.base_model.0.organization = Org",
                "general.base_model.0.repo_url = https://host/base", "general.repo_url = r",
                "general.url = u", "general.source.url = s", "general.license = mit",
                "quantize.imatrix.file = x.imatrix", "general.basename = Small",
                "general.datasets = set, set", "general.finetune = chat", "general.size_label = 8B",
                "general.type = model"}));
  EXPECT_EQ(header.type, "model");
  EXPECT_EQ(header.size_label, "8B");
}

TEST(HeaderValues, SourcesAreBounded) {
  GgufFile spec;
  for (int i = 0; i < 100; ++i) {
    spec.pairs.push_back(pair_text(fmt::format("general.a{:03}", i), std::string(5000, 'x')));
  }
  spec.pairs.push_back(pair_texts("general.b", 10000, "word"));
  spec.pairs.push_back(pair_texts("general.url", 10000, "word"));
  spec.pairs.push_back(pair_text("general.quantized_by", "someone"));
  const Header header = read(spec);
  ASSERT_EQ(header.sources.size(), kMaxSources);
  EXPECT_EQ(header.sources[0].value, "someone");
  EXPECT_EQ(header.sources[1].key, "general.url");
  EXPECT_TRUE(header.sources[1].value.starts_with("word, word, "));
  for (const SourceClaim& claim : header.sources) EXPECT_LE(claim.value.size(), kMaxSourceBytes);
  EXPECT_EQ(header.sources[2].value.size(), kMaxSourceBytes);
}

TEST(HeaderValues, Tokenizer) {
  const Header header =
      read({.pairs = {pair_text("tokenizer.ggml.model", "gpt2"),
                      pair_text("tokenizer.ggml.pre", "qwen2"),
                      pair_texts("tokenizer.ggml.tokens", 7, "t"),
                      pair_texts("tokenizer.ggml.merges", 5, "a b"),
                      pair_text("tokenizer.chat_template", "{{ messages }}"),
                      pair_text("tokenizer.chat_template.tool_use", "{{ tools }}"),
                      pair_texts("tokenizer.chat_templates", 1, "tool_use")}});
  EXPECT_EQ(header.tokenizer.model, "gpt2");
  EXPECT_EQ(header.tokenizer.pre, "qwen2");
  EXPECT_EQ(header.tokenizer.vocabulary, 7);
  EXPECT_EQ(header.tokenizer.merges, 5);
  EXPECT_EQ(header.tokenizer.templates,
            (std::vector<std::pair<std::string, std::int64_t>>{{"", 14}, {"tool_use", 11}}));

  const Header none = read({});
  EXPECT_EQ(none.tokenizer.model, "");
  EXPECT_EQ(none.tokenizer.vocabulary, std::nullopt);
  EXPECT_TRUE(none.tokenizer.templates.empty());

  const Header size_only =
      read({.pairs = {pair_text("general.architecture", "x"), pair_u32("x.vocab_size", 99)}});
  EXPECT_EQ(size_only.tokenizer.vocabulary, 99);
}

TEST(HeaderValues, OfTheArchitecture) {
  const Header header = read(
      {.pairs = {pair_text("general.architecture", "moe"), pair_u32("moe.expert_shared_count", 1),
                 pair_u32("moe.embedding_length", 4096), pair_text("adapter.type", "lora"),
                 pair_u32("clip.vision.image_size", 336)}});
  EXPECT_EQ(header.expert_shared_count, 1);
  EXPECT_EQ(header.embedding_length, 4096);
  EXPECT_EQ(header.adapter_type, "lora");
  EXPECT_TRUE(header.clip_keys);
  EXPECT_EQ(header.keys, 5);
}

// An engine does not look at them, so that no type of theirs makes a file unloadable.
TEST(HeaderValues, CardValuesOfAnyType) {
  const Header header =
      read({.pairs = {pair_text("general.architecture", "x"), pair_u32("general.type", 1),
                      pair_u32("general.size_label", 1), pair_u32("adapter.type", 1),
                      pair_u32("general.quantized_by", 1), pair_text("x.embedding_length", "4096"),
                      raw_pair("x.expert_shared_count", 5, raw<std::int32_t>(-1)),
                      pair_u32("tokenizer.ggml.model", 1), pair_u32("tokenizer.ggml.tokens", 1),
                      pair_u32("tokenizer.chat_template", 1)}});
  EXPECT_EQ(header.type, std::nullopt);
  EXPECT_EQ(header.size_label, std::nullopt);
  EXPECT_EQ(header.adapter_type, std::nullopt);
  EXPECT_EQ(header.embedding_length, std::nullopt);
  EXPECT_EQ(header.expert_shared_count, std::nullopt);
  EXPECT_EQ(header.tokenizer.vocabulary, std::nullopt);
  EXPECT_TRUE(header.sources.empty());
  EXPECT_TRUE(header.tokenizer.templates.empty());
  EXPECT_TRUE(header.objections.empty());
}

// --- Accept::readable takes everything that Accept::loadable does, and reads the same from it

/// Any number, the same in every run.
class Dice {
 public:
  std::uint64_t roll(std::uint64_t sides) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return (state_ >> 33U) % sides;
  }

 private:
  std::uint64_t state_ = 1;
};

std::string any_pair(Dice& dice, int number) {
  const std::string key =
      dice.roll(4) == 0 ? fmt::format("general.k{}", number) : fmt::format("llama.k{}", number);
  switch (dice.roll(6)) {
    case 0:
      return pair_u32(key, static_cast<std::uint32_t>(dice.roll(1U << 31U)));
    case 1:
      return pair_text(key, std::string(dice.roll(40), 'x'));
    case 2:
      return pair_texts(key, dice.roll(20), "word");
    case 3:
      return raw_pair(key, 7, "\x02");
    case 4:
      return raw_pair(key, 10, raw(dice.roll(1U << 31U)));
    default:
      return raw_pair(key, 9, array_value(2, 3, "abcdef"));
  }
}

TensorRow any_tensor(Dice& dice, int number) {
  constexpr std::uint32_t kRemoved[] = {4, 5, 31, 32, 33, 36, 37, 38, 43, 60};
  TensorRow row{.name = fmt::format("blk.{}.t{}", dice.roll(4), number)};
  row.type = dice.roll(40) == 0 ? kRemoved[dice.roll(std::size(kRemoved))]
                                : static_cast<std::uint32_t>(dice.roll(4));
  const std::uint64_t dimensions = dice.roll(5);
  for (std::uint64_t i = 0; i < dimensions; ++i) row.ne.push_back(i == 0 ? 32 : dice.roll(5));
  if (dimensions == 0 && row.type > 1) row.type = 0;  // 1 element is no block of 32
  if (dice.roll(40) == 0) row.offset = 32 * dice.roll(40);
  return row;
}

TEST(HeaderValues, WhatIsLoadableReadsTheSameAndRaisesNothing) {
  Dice dice;
  int loadable = 0;
  int readable_only = 0;
  for (int round = 0; round < 3000; ++round) {
    GgufFile spec{.version =
                      dice.roll(30) == 0 ? 1U : static_cast<std::uint32_t>(2 + dice.roll(2))};
    if (dice.roll(2) == 0)
      spec.pairs.push_back(spec.wire().pair_text("general.architecture", "llama"));
    if (spec.version != 1) {
      for (int i = 0; i < 4; ++i) spec.pairs.push_back(any_pair(dice, i));
    }
    const std::uint64_t tensors = dice.roll(6);
    for (std::uint64_t i = 0; i < tensors; ++i) {
      spec.tensors.push_back(any_tensor(dice, static_cast<int>(i)));
    }
    const std::string file = spec.file() + std::string(dice.roll(2) * 4000, '\0');
    const auto size = static_cast<std::int64_t>(file.size());
    const auto strict = read_header(as_bytes(file), size, Accept::loadable);
    const auto lax = read_header(as_bytes(file), size, Accept::readable);
    if (!strict) {
      readable_only += lax ? 1 : 0;
      EXPECT_TRUE(!lax || !lax->objections.empty() || !lax->audit.faults.empty()) << round;
      continue;
    }
    ++loadable;
    ASSERT_TRUE(lax) << round << ": " << lax.error().message;
    EXPECT_TRUE(lax->objections.empty()) << round << ": " << lax->objections.front();
    EXPECT_TRUE(lax->audit.faults.empty()) << round << ": " << lax->audit.faults.front();
    EXPECT_TRUE(std::ranges::equal(strict->tensors, lax->tensors,
                                   [](const HeaderTensor& a, const HeaderTensor& b) {
                                     return a.name == b.name && a.type == b.type && a.ne == b.ne &&
                                            a.bytes == b.bytes && a.offset == b.offset;
                                   }))
        << round;
    EXPECT_EQ(strict->data_offset, lax->data_offset) << round;
    EXPECT_EQ(sources_of(*strict), sources_of(*lax)) << round;
  }
  EXPECT_GT(loadable, 1000);
  EXPECT_GT(readable_only, 200);
}

std::string numbers(std::size_t count, std::uint32_t value) {
  std::string elements;
  for (std::size_t i = 0; i < count; ++i) elements += raw(value);
  return array_value(4, count, elements);
}

TEST(HeaderValues, WhatDecidesTheMemory) {
  const Header header = read({.pairs = {pair_text("general.architecture", "made"),
                                        pair_u32("made.attention.key_length", 128),
                                        pair_u32("made.attention.head_count", 8),
                                        raw_pair("made.attention.head_count_kv", 9, numbers(3, 2)),
                                        raw_pair("made.attention.sliding_window_pattern", 9,
                                                 array_value(7, 3, std::string("\1\0\1", 3))),
                                        pair_u32("other.attention.value_length", 64)}});
  const HyperParameters& hyper = header.hyper;
  EXPECT_EQ(hyper.key_length, 128);
  EXPECT_EQ(hyper.value_length, std::nullopt);
  EXPECT_EQ(hyper.head_count.at(7), 8);
  EXPECT_EQ(hyper.head_count_kv.at(2), 2);
  EXPECT_EQ(hyper.head_count_kv.at(3), std::nullopt);
  EXPECT_EQ(hyper.sliding_window_pattern.values, (std::vector<std::int64_t>{1, 0, 1}));
  EXPECT_FALSE(hyper.recurrent_layers.given);
  EXPECT_EQ(hyper.unreadable, "");
}

TEST(HeaderValues, ALongListIsCutAndAStrangeOneIsNamed) {
  const Header cut = read({.pairs = {pair_text("general.architecture", "made"),
                                     raw_pair("made.feed_forward_length", 9, numbers(5000, 7))}});
  EXPECT_EQ(cut.hyper.feed_forward_length.length, 5000);
  EXPECT_EQ(cut.hyper.feed_forward_length.values.size(), kMaxPerLayer);
  const Header strange = read({.pairs = {pair_text("general.architecture", "made"),
                                         pair_texts("made.attention.head_count_kv", 3, "two")}});
  EXPECT_EQ(strange.hyper.unreadable, "made.attention.head_count_kv");
  EXPECT_FALSE(strange.hyper.head_count_kv.given);
  const Header below = read({.pairs = {pair_text("general.architecture", "made"),
                                       raw_pair("made.attention.key_length", 5, raw(-1))}});
  EXPECT_EQ(below.hyper.unreadable, "made.attention.key_length");
}

}  // namespace
}  // namespace picchio::gguf
