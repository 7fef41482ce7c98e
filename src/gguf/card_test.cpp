#include "gguf/card.h"

#include "gguf/gguf_builder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace picchio::gguf {
namespace {

Header header_of(const GgufFile& spec, std::size_t behind = 0) {
  const std::string file = spec.file() + std::string(behind, '\0');
  auto header =
      read_header(as_bytes(file), static_cast<std::int64_t>(file.size()), Accept::readable);
  EXPECT_TRUE(header) << header.error().message;
  return header ? *std::move(header) : Header{};
}

Card card_of_one(const GgufFile& spec, std::size_t behind = 0) {
  auto card = card_of({header_of(spec, behind)}, {"m.gguf"});
  EXPECT_TRUE(card) << card.error().message;
  return card ? *std::move(card) : Card{};
}

std::vector<std::string> types_of(const Card& card) {
  std::vector<std::string> rows;
  for (const TypeRow& row : card.types) {
    rows.push_back(fmt::format("{} {} {} {}", row.type, row.tensors, row.elements,
                               row.bytes ? std::to_string(*row.bytes) : "?"));
  }
  return rows;
}

GgufFile dense() {
  return {.pairs = {pair_text("general.architecture", "llama"), pair_text("general.name", "Small"),
                    pair_text("general.size_label", "8B"), pair_u32("general.file_type", 15),
                    pair_u32("llama.block_count", 2), pair_u32("llama.context_length", 4096),
                    pair_u32("llama.embedding_length", 10),
                    pair_text("general.quantized_by", "someone"),
                    pair_texts("tokenizer.ggml.tokens", 100, "t")},
          .tensors = {{"token_embd.weight", 1, {10, 100}},   // 2000 bytes, rows of 20
                      {"blk.0.attn_q.weight", 0, {10, 10}},  // 400
                      {"blk.1.ffn_up.weight", 0, {10, 10}},  // 400
                      {"output_norm.weight", 0, {10}},       // 40
                      {"output.weight", 8, {32, 100}}}};     // 3400
}

TEST(Card, ADenseModel) {
  const Card card = card_of_one(dense(), 70);
  EXPECT_EQ(card.kind, CardKind::model);
  ASSERT_EQ(card.files.size(), 1U);
  EXPECT_EQ(card.files[0].path, "m.gguf");
  EXPECT_EQ(card.files[0].bytes, static_cast<std::int64_t>(dense().file().size()) + 70);
  EXPECT_EQ(card.files[0].data_offset, static_cast<std::int64_t>(dense().header().size()));
  EXPECT_GT(card.files[0].header_bytes, card.files[0].data_offset - 32);
  EXPECT_LE(card.files[0].header_bytes, card.files[0].data_offset);
  EXPECT_FALSE(card.files[0].digest);
  EXPECT_EQ(card.version, 3U);
  EXPECT_FALSE(card.big_endian);
  EXPECT_EQ(card.alignment, 32);
  EXPECT_EQ(card.keys, 9);
  EXPECT_EQ(card.architecture, "llama");
  EXPECT_EQ(card.name, "Small");
  EXPECT_EQ(card.size_label, "8B");
  EXPECT_EQ(card.file_type, 15);
  EXPECT_EQ(card.claimed, "Q4_K - Medium");
  EXPECT_EQ(card.sources.front().key, "general.quantized_by");
  EXPECT_EQ(card.tokenizer.vocabulary, 100);
  EXPECT_EQ(card.block_count, 2);
  EXPECT_EQ(card.context_length, 4096);
  EXPECT_EQ(card.embedding_length, 10);
  EXPECT_FALSE(card.experts);
  EXPECT_FALSE(card.next_token_blocks);
  EXPECT_TRUE(card.objections.empty());

  EXPECT_EQ(card.tensor_bytes, 2000 + 400 + 400 + 40 + 3400);
  EXPECT_EQ(card.elements, 1000 + 100 + 100 + 10 + 3200);
  EXPECT_EQ(card.unpriced, 0);
  EXPECT_EQ(types_of(card),
            (std::vector<std::string>{"q8_0 1 3200 3400", "f16 1 1000 2000", "f32 3 210 840"}));
  EXPECT_EQ(card.audit.typed_bytes, card.tensor_bytes);
  EXPECT_EQ(card.audit.padding_bytes, 16 + 16 + 16 + 24);
  EXPECT_EQ(card.audit.trailing_bytes, 70);
  EXPECT_EQ(card.audit.none_because, "");
  EXPECT_EQ(card.active_parameters, card.elements);
  EXPECT_EQ(card.bytes_per_token, 20 + 400 + 400 + 40 + 3400);

  ASSERT_EQ(card.tensors.size(), 5U);
  const CardTensor& second = card.tensors[1];
  EXPECT_EQ(second.name, "blk.0.attn_q.weight");
  EXPECT_EQ(second.type, "f32");
  EXPECT_EQ(second.ne, (std::vector<std::int64_t>{10, 10}));
  EXPECT_EQ(second.elements, 100);
  EXPECT_EQ(second.bytes, 400);
  EXPECT_EQ(second.file, 0U);
  EXPECT_EQ(second.block, 0);
  EXPECT_EQ(second.part, TensorPart::attention);
  EXPECT_EQ(card.tensors[3].ne, (std::vector<std::int64_t>{10}));
  EXPECT_EQ(card.tensors[3].block, -1);
}

TEST(Card, NothingInIt) {
  const Card card = card_of_one({});
  EXPECT_EQ(card.architecture, "");
  EXPECT_EQ(card.claimed, "");
  EXPECT_EQ(card.file_type, std::nullopt);
  EXPECT_TRUE(card.types.empty());
  EXPECT_EQ(card.audit.trailing_bytes, 0);
  EXPECT_EQ(bits_per_weight(card), std::nullopt);
  EXPECT_EQ(card.objections, std::vector<std::string>{"the header has no general.architecture"});
}

TEST(Card, Kinds) {
  const auto architecture = [](const char* name) {
    return pair_text("general.architecture", name);
  };
  const auto type = [](const char* name) { return pair_text("general.type", name); };
  const TensorRow weight{"blk.0.attn_q.weight", 0, {4}};
  const TensorRow lora{"blk.0.attn_q.weight.lora_a", 0, {4}};
  const TensorRow seen{"v.blk.0.attn_q.weight", 0, {4}};
  const struct {
    const char* what;
    GgufFile file;
    CardKind kind;
  } cases[] = {
      {"a model that says so",
       {.pairs = {architecture("llama"), type("model")}, .tensors = {weight}},
       CardKind::model},
      {"a model that says nothing",
       {.pairs = {architecture("llama")}, .tensors = {weight}},
       CardKind::model},
      {"an adapter that says so",
       {.pairs = {architecture("llama"), type("adapter")}, .tensors = {lora}},
       CardKind::adapter},
      {"an adapter by its tensors",
       {.pairs = {architecture("llama")}, .tensors = {lora}},
       CardKind::adapter},
      {"an adapter by its key",
       {.pairs = {pair_text("adapter.type", "lora")}, .tensors = {weight}},
       CardKind::adapter},
      {"a projector that says so",
       {.pairs = {type("mmproj")}, .tensors = {seen}},
       CardKind::projector},
      {"a projector of before",
       {.pairs = {type("clip-vision")}, .tensors = {weight}},
       CardKind::projector},
      {"a projector by its architecture",
       {.pairs = {architecture("clip"), type("model")}, .tensors = {weight}},
       CardKind::projector},
      {"a projector by its tensors",
       {.tensors = {seen, {"mm.0.weight", 0, {4}}}},
       CardKind::projector},
      {"a model that sees",
       {.pairs = {architecture("x")}, .tensors = {seen, weight}},
       CardKind::model},
      {"an importance matrix",
       {.pairs = {type("imatrix")}, .tensors = {{"blk.0.attn_q.weight.in_sum2", 0, {4}}}},
       CardKind::importance_matrix},
      {"something else", {.pairs = {type("vocab")}}, CardKind::other},
      {"no tensors", {.pairs = {architecture("llama")}}, CardKind::model},
  };
  for (const auto& c : cases) {
    const Card card = card_of_one(c.file);
    EXPECT_EQ(name_of(card.kind), name_of(c.kind)) << c.what;
    // What a token reads is a question about models, and so is their architecture.
    EXPECT_EQ(card.bytes_per_token.has_value(), c.kind == CardKind::model) << c.what;
    EXPECT_EQ(card.active_parameters.has_value(), c.kind == CardKind::model) << c.what;
    EXPECT_TRUE(card.objections.empty()) << c.what;
  }
}

TEST(Card, Experts) {
  GgufFile spec{
      .pairs = {pair_text("general.architecture", "moe"), pair_u32("moe.expert_count", 8),
                pair_u32("moe.expert_used_count", 2), pair_u32("moe.expert_shared_count", 1),
                pair_u32("moe.block_count", 3), pair_u32("moe.nextn_predict_layers", 1)},
      .tensors = {{"token_embd.weight", 0, {10, 50}},            // 500 elements
                  {"blk.0.ffn_up_exps.weight", 0, {10, 10, 8}},  // 800, 200 in use
                  {"blk.0.ffn_up_shexp.weight", 0, {10, 10}},    // 100
                  {"blk.0.ffn_gate_inp.weight", 0, {10, 8}},     // 80
                  {"blk.2.ffn_up.weight", 0, {100}},             // not loaded
                  {"output.weight", 0, {10, 50}}}};              // 500
  const Card card = card_of_one(spec);
  ASSERT_TRUE(card.experts);
  EXPECT_EQ(card.experts->count, 8);
  EXPECT_EQ(card.experts->used, 2);
  EXPECT_EQ(card.experts->shared, 1);
  EXPECT_EQ(card.next_token_blocks, 1);
  EXPECT_EQ(card.tensors[4].part, TensorPart::next_token);
  EXPECT_EQ(card.tensors[1].part, TensorPart::experts);
  EXPECT_EQ(card.active_parameters, 500 + 200 + 100 + 80 + 500);
  EXPECT_EQ(card.bytes_per_token, 4 * (10 + 200 + 100 + 80 + 500));
  EXPECT_EQ(card.elements, 500 + 800 + 100 + 80 + 100 + 500);
}

TEST(Card, CountsThatContradictEachOther) {
  const struct {
    std::vector<std::string> pairs;
    const char* objection;
    bool knows_use;
  } cases[] = {
      {{pair_u32("x.block_count", 4096)}, "x.block_count is 4096, engines take 512", true},
      {{pair_u32("x.block_count", 2), pair_u32("x.nextn_predict_layers", 2)},
       "x.nextn_predict_layers is 2 of 2 blocks",
       true},
      {{pair_u32("x.expert_count", 8), pair_u32("x.expert_used_count", 9)},
       "x.expert_used_count is 9 of 8 experts",
       false},
      {{pair_u32("x.expert_count", 8), pair_u32("x.expert_used_count", 0)},
       "x.expert_used_count is 0 of 8 experts",
       false},
      {{raw_pair("x.expert_count", 10, raw<std::uint64_t>(1U << 31U)),
        pair_u32("x.expert_used_count", 2)},
       "x.expert_count is 2147483648",
       false},
  };
  for (const auto& c : cases) {
    GgufFile spec{.pairs = c.pairs, .tensors = {{"blk.0.a_exps", 0, {8}}}};
    spec.pairs.push_back(pair_text("general.architecture", "x"));
    const Card card = card_of_one(spec);
    EXPECT_EQ(card.objections, std::vector<std::string>{c.objection});
    EXPECT_EQ(card.active_parameters.has_value(), c.knows_use) << c.objection;
    EXPECT_EQ(card.bytes_per_token.has_value(), c.knows_use) << c.objection;
  }
}

TEST(Card, TypesWithoutAPrice) {
  GgufFile spec = dense();
  spec.tensors.push_back({"blk.1.attn_k.weight", 57, {10, 10}, 6336});
  spec.tensors.push_back({"blk.1.attn_v.weight", 4, {32}, 6464});
  spec.tensors.push_back({"blk.1.attn_o.weight", 31, {32, 2}, 6496});
  const Card card = card_of_one(spec, 4096);
  EXPECT_EQ(card.tensor_bytes, 6240 + 36);
  EXPECT_EQ(card.elements, 4410 + 64);
  EXPECT_EQ(card.unpriced, 2);
  EXPECT_EQ(card.unpriced_elements, 132);
  EXPECT_EQ(types_of(card),
            (std::vector<std::string>{"q8_0 1 3200 3400", "f16 1 1000 2000", "f32 3 210 840",
                                      "q4_0_4_4 1 64 36", "q4_2 1 32 ?", "type 57 1 100 ?"}));
  EXPECT_EQ(card.active_parameters, 4410 + 64 + 132);
  EXPECT_EQ(card.bytes_per_token, std::nullopt);
  EXPECT_EQ(card.objections.size(), 2U);
  EXPECT_TRUE(card.audit.faults.empty());
  EXPECT_DOUBLE_EQ(bits_per_weight(card).value_or(0), 8.0 * 6276 / 4474);
}

TEST(Card, FaultsAreInTheAudit) {
  GgufFile spec = dense();
  spec.version = 2;
  spec.tensors = {{"a", 0, {8}, 64}, {"b", 0, {8}, 0}};
  const Card card = card_of_one(spec, 4096);
  EXPECT_TRUE(card.objections.empty());
  ASSERT_EQ(card.audit.faults.size(), 2U);
  EXPECT_NE(card.audit.faults[0].find("not in the table's order"), std::string::npos);
  EXPECT_NE(card.audit.faults[1].find("a gap of 32 bytes"), std::string::npos);
}

TEST(Card, AStreamHasNoSize) {
  const std::string file = dense().file();
  const auto header = read_header(as_bytes(file), std::nullopt, Accept::readable);
  ASSERT_TRUE(header);
  const auto card = card_of({*header}, {"-"});
  ASSERT_TRUE(card);
  EXPECT_EQ(card->files[0].bytes, std::nullopt);
  EXPECT_EQ(card->audit.trailing_bytes, std::nullopt);
  EXPECT_EQ(card->audit.typed_bytes, card->tensor_bytes);
}

// --- shards

Header shard(std::uint16_t number, std::uint16_t count, std::int32_t tensors_of_all,
             std::vector<TensorRow> rows, std::uint32_t version = 3) {
  GgufFile spec{.version = version, .tensors = std::move(rows)};
  const Wire wire = spec.wire();
  spec.pairs = {wire.pair("split.no", 2, wire.raw(number)),
                wire.pair("split.count", 2, wire.raw(count)),
                wire.pair("split.tensors.count", 5, wire.raw(tensors_of_all))};
  if (number == 0) spec.pairs.push_back(wire.pair_text("general.architecture", "llama"));
  return header_of(spec, 40);
}

const std::vector<std::string> kThree = {"m-00001-of-00003.gguf", "m-00002-of-00003.gguf",
                                         "m-00003-of-00003.gguf"};

TEST(Card, ShardsAreOneModel) {
  const auto card = card_of({shard(0, 3, 4, {}), shard(1, 3, 4, {{"a", 0, {4}}, {"b", 0, {4}}}),
                             shard(2, 3, 4, {{"c", 1, {4}}, {"d", 0, {4}}}, 1)},
                            kThree);
  ASSERT_TRUE(card) << card.error().message;
  ASSERT_EQ(card->files.size(), 3U);
  EXPECT_EQ(card->files[2].path, kThree[2]);
  EXPECT_EQ(card->architecture, "llama");
  EXPECT_EQ(card->tensor_bytes, 16 + 16 + 8 + 16);
  EXPECT_EQ(card->tensors[1].file, 1U);
  EXPECT_EQ(card->tensors[3].file, 2U);
  EXPECT_EQ(card->audit.typed_bytes, 56);
  EXPECT_EQ(card->audit.padding_bytes, 16 + 24);
  EXPECT_EQ(card->audit.trailing_bytes, 120);
  EXPECT_EQ(card->objections,
            std::vector<std::string>{"'m-00003-of-00003.gguf': GGUF version 1 at byte 4, which "
                                     "engines no longer read"});
}

TEST(Card, ShardsThatAreNoSet) {
  const Header first = shard(0, 3, 2, {{"a", 0, {1}}});
  const Header second = shard(1, 3, 2, {{"b", 0, {1}}});
  const Header third = shard(2, 3, 2, {});
  const struct {
    std::vector<Header> shards;
    std::vector<std::string> paths;
    const char* message;
  } cases[] = {
      {{}, {}, "0 headers with 0 paths make no model"},
      {{second}, {"x"}, "'x' is one of 3 shards, 1 was given"},
      {{first, third, second},
       kThree,
       "'m-00002-of-00003.gguf' is shard 3 of 3 where shard 2 is due"},
      {{first, shard(1, 4, 2, {}), third},
       kThree,
       "'m-00002-of-00003.gguf' is one of 4 shards, 3 were given"},
      {{first, header_of(dense()), third},
       kThree,
       "'m-00002-of-00003.gguf' is not a shard of a split model"},
      {{first, shard(1, 3, 7, {{"b", 0, {1}}}), third},
       kThree,
       "'m-00002-of-00003.gguf' says that the shards hold 7 tensors, they hold 2"},
      {{first, shard(1, 3, 2, {{"a", 0, {1}}}), third},
       kThree,
       "tensor 'a' is in 'm-00001-of-00003.gguf' and again in 'm-00002-of-00003.gguf'"},
  };
  for (const auto& c : cases) {
    const auto card = card_of(c.shards, c.paths);
    ASSERT_FALSE(card) << c.message;
    EXPECT_EQ(card.error().message, c.message);
  }
}

TEST(Card, SumsThatPassTheTop) {
  const std::int64_t half = std::int64_t{1} << 62U;
  Header first = shard(0, 2, 2, {{"a", 24, {64}}});
  Header second = shard(1, 2, 2, {{"b", 24, {64}}});
  first.tensors[0].bytes = second.tensors[0].bytes = half;
  const auto bytes = card_of({first, second}, {"x", "y"});
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().message, "the shards claim more than 2^63 bytes or elements");

  // Priced and unpriced elements are summed apart, what a token uses is not.
  second.tensors[0].bytes.reset();
  second.tensors[0].type = "type 57";
  first.tensors[0].elements = second.tensors[0].elements = half;
  const auto elements = card_of({first, second}, {"x", "y"});
  ASSERT_TRUE(elements) << elements.error().message;
  EXPECT_EQ(elements->elements, half);
  EXPECT_EQ(elements->unpriced_elements, half);
  EXPECT_EQ(elements->active_parameters, std::nullopt);
}

// --- tables

TEST(CardOfTable, AsOfTheFile) {
  const Card file = card_of_one(dense());
  std::vector<TableRow> rows;
  for (const CardTensor& tensor : file.tensors) {
    std::string type = tensor.type;
    std::ranges::transform(type, type.begin(), [](unsigned char c) { return std::toupper(c); });
    rows.push_back({tensor.name, type, tensor.ne});
  }
  Header values;
  values.architecture = "llama";
  values.file_type = 15;
  const auto card = card_of_table(values, rows, "small:latest");
  ASSERT_TRUE(card) << card.error().message;
  EXPECT_EQ(card->files[0].path, "small:latest");
  EXPECT_EQ(card->files[0].bytes, std::nullopt);
  EXPECT_EQ(card->claimed, "Q4_K - Medium");
  EXPECT_EQ(types_of(*card), types_of(file));
  EXPECT_EQ(card->tensor_bytes, file.tensor_bytes);
  EXPECT_EQ(card->bytes_per_token, file.bytes_per_token);
  EXPECT_EQ(card->audit.none_because, "a server's table has no offsets");
  EXPECT_EQ(card->audit.trailing_bytes, std::nullopt);
  EXPECT_TRUE(card->objections.empty());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(card->tensors[i].type, file.tensors[i].type);
    EXPECT_EQ(card->tensors[i].ne, file.tensors[i].ne);
    EXPECT_EQ(card->tensors[i].part, file.tensors[i].part);
  }
}

TEST(CardOfTable, TypesThatNobodyKnows) {
  Header values;
  values.architecture = "llama";
  const auto card =
      card_of_table(values, {{"a", "Q9_Z", {8}}, {"b", "Q4_2", {32}}, {"c", "F32", {8}}}, "x");
  ASSERT_TRUE(card) << card.error().message;
  EXPECT_EQ(card->tensors[0].type, "type Q9_Z");
  EXPECT_EQ(card->unpriced, 2);
  EXPECT_EQ(card->tensor_bytes, 32);
  EXPECT_EQ(card->objections, (std::vector<std::string>{
                                  "tensor 'a' has type Q9_Z, which is not known",
                                  "tensor 'b' has type 4 (q4_2), which engines no longer read"}));
}

TEST(CardOfTable, WhatIsRefused) {
  const std::int64_t half = std::int64_t{1} << 62U;
  const struct {
    std::vector<TableRow> rows;
    const char* message;
  } cases[] = {
      {{{"a", "F32", {1}}, {"a", "F16", {1}}}, "tensor 'a' stands twice"},
      {{{"a", "F32", {1, 1, 1, 1, 1}}}, "tensor 'a' has 5 dimensions, engines take 4"},
      {{{"a", "F32", {-1}}}, "the dimensions of tensor 'a' multiply past 2^63"},
      {{{"a", "I8", {half, 2}}}, "the dimensions of tensor 'a' multiply past 2^63"},
      {{{"a", "F32", {half}}}, "tensor 'a' takes 2^63 bytes or more"},
      {{{"a", "I8", {half}}, {"b", "I8", {half}}},
       "the shards claim more than 2^63 bytes or elements"},
      {{{"a", "Q4_K", {255}}},
       "tensor 'a' has rows of 255 elements, not a multiple of the 256 that a block of q4_K holds"},
  };
  for (const auto& c : cases) {
    const auto card = card_of_table({}, c.rows, "x");
    ASSERT_FALSE(card) << c.message;
    EXPECT_EQ(card.error().message, c.message);
  }
}

}  // namespace
}  // namespace picchio::gguf
