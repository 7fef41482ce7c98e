#include "gguf/model.h"

#include "gguf/gguf_builder.h"

#include <gtest/gtest.h>

namespace picchio::gguf {
namespace {

Header header_of(const GgufFile& spec) {
  const std::string file = spec.file();
  auto header = read_header(as_bytes(file), static_cast<std::int64_t>(file.size()));
  EXPECT_TRUE(header) << header.error().message;
  return header ? *std::move(header) : Header{};
}

Result<ModelFile> price_one(const GgufFile& spec) { return price({header_of(spec)}, {"m.gguf"}); }

GgufFile dense() {
  return {.pairs = {pair_text("general.architecture", "llama"), pair_text("general.name", "Small"),
                    pair_u32("general.file_type", 15), pair_u32("llama.block_count", 2)},
          .tensors = {{"token_embd.weight", 1, {10, 100}},   // 2000 bytes, rows of 20
                      {"blk.0.attn_q.weight", 0, {10, 10}},  // 400
                      {"blk.1.attn_q.weight", 0, {10, 10}},  // 400
                      {"output_norm.weight", 0, {10}},       // 40
                      {"output.weight", 1, {10, 100}}}};     // 2000
}

TEST(Model, ADenseOne) {
  const auto model = price_one(dense());
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->path, "m.gguf");
  EXPECT_EQ(model->shards, std::vector<std::string>{"m.gguf"});
  EXPECT_EQ(model->name, "Small");
  EXPECT_EQ(model->architecture, "llama");
  EXPECT_EQ(model->file_type, "Q4_K - Medium");
  EXPECT_EQ(model->block_count, 2);
  EXPECT_EQ(model->expert_count, std::nullopt);
  EXPECT_EQ(model->file_bytes, static_cast<std::int64_t>(dense().file().size()));
  EXPECT_EQ(model->tensor_bytes, 4840);
  EXPECT_EQ(model->parameters, 1000 + 100 + 100 + 10 + 1000);
  EXPECT_EQ(model->token_embd_bytes, 2000);
  EXPECT_EQ(model->always_host_bytes, 2000);
  EXPECT_EQ(model->skipped_bytes, 0);
  EXPECT_FALSE(model->tied_output);
  EXPECT_EQ(model->bytes_per_token, 20 + 400 + 400 + 40 + 2000);
  ASSERT_EQ(model->tensors.size(), 5U);
  EXPECT_EQ(model->tensors[2].name, "blk.1.attn_q.weight");
  EXPECT_EQ(model->tensors[2].type, "f32");
  EXPECT_EQ(model->tensors[2].block, 1);
  EXPECT_EQ(model->tensors[3].block, -1);
}

TEST(Model, ATiedHeadReadsTheWholeEmbedding) {
  GgufFile spec = dense();
  spec.tensors.pop_back();
  const auto tied = price_one(spec);
  ASSERT_TRUE(tied);
  EXPECT_TRUE(tied->tied_output);
  EXPECT_EQ(tied->bytes_per_token, 2000 + 400 + 400 + 40);

  spec.pairs.push_back(raw_pair("llama.attention.causal", 7, raw<std::uint8_t>(0)));
  const auto encoder = price_one(spec);
  ASSERT_TRUE(encoder);
  EXPECT_FALSE(encoder->tied_output);
  EXPECT_EQ(encoder->bytes_per_token, 20 + 400 + 400 + 40);

  const auto none = price_one({.pairs = {pair_text("general.architecture", "clip")},
                               .tensors = {{"v.blk.0.attn_q.weight", 0, {4}}}});
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->tied_output);
  EXPECT_EQ(none->tensors[0].block, -1);
}

TEST(Model, WhatTheEngineKeepsOnTheHost) {
  const auto model = price_one({.pairs = {pair_text("general.architecture", "bert")},
                                .tensors = {{"token_embd.weight", 0, {2, 50}},            // 400
                                            {"token_embd_norm.weight", 0, {2}},           // 8
                                            {"token_embd_norm.bias", 0, {2}},             // 8
                                            {"position_embd.weight", 0, {2, 25}},         // 200
                                            {"token_types.weight", 0, {2, 2}},            // 16
                                            {"per_layer_token_embd.weight", 0, {4, 50}},  // 800
                                            {"per_layer_model_proj.weight", 0, {2, 4}},   // 32
                                            {"blk.0.token_embd.weight", 0, {1}},          // 4
                                            {"output.weight", 0, {2, 50}}}});
  ASSERT_TRUE(model);
  EXPECT_EQ(model->always_host_bytes, 400 + 8 + 8 + 200 + 16 + 800);
  EXPECT_EQ(model->bytes_per_token, 8 + 8 + 8 + 8 + 8 + 16 + 32 + 4 + 400);
}

TEST(Model, ExpertsCountByTheShareInUse) {
  GgufFile spec{.pairs = {pair_text("general.architecture", "moe"), pair_u32("moe.expert_count", 8),
                          pair_u32("moe.expert_used_count", 2)},
                .tensors = {{"blk.0.ffn_up_exps.weight", 0, {10, 10, 8}},  // 3200
                            {"blk.0.ffn_up_exps.bias", 0, {10, 8}},        // 320
                            {"blk.0.ffn_up_shexp.weight", 0, {10, 10}},    // 400
                            {"blk.0.ffn_gate_inp.weight", 0, {10, 8}},     // 320
                            {"blk.0.odd_exps.weight", 0, {3}}}};           // 12: 3 in use
  const auto model = price_one(spec);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->bytes_per_token, 800 + 80 + 400 + 320 + 3);
  EXPECT_EQ(model->tensor_bytes, 3200 + 320 + 400 + 320 + 12);

  spec.pairs.pop_back();  // without a used count nothing says that any is spared
  const auto all = price_one(spec);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->bytes_per_token, all->tensor_bytes);
}

TEST(Model, BlocksOfNextTokenPredictionAreSkipped) {
  const auto model = price_one(
      {.pairs = {pair_text("general.architecture", "glm4moe"), pair_u32("glm4moe.block_count", 3),
                 pair_u32("glm4moe.nextn_predict_layers", 1), pair_u32("glm4moe.expert_count", 2),
                 pair_u32("glm4moe.expert_used_count", 1)},
       .tensors = {{"blk.0.attn_q.weight", 0, {10}},
                   {"blk.1.attn_q.weight", 0, {10}},
                   {"blk.2.attn_q.weight", 0, {10}},
                   {"blk.2.ffn_up_exps.weight", 0, {10, 1, 2}},
                   {"blk.2.nextn.eh_proj.weight", 0, {10, 2}},
                   {"blk.02x.a", 0, {10}},
                   {"output.weight", 0, {10}}}});
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->skipped_bytes, 40 + 80 + 80);
  EXPECT_EQ(model->bytes_per_token, 4 * 40);
  EXPECT_EQ(model->nextn_predict_layers, 1);
}

TEST(Model, FileTypeInWords) {
  const struct {
    std::int64_t number;
    const char* words;
  } cases[] = {{0, "all F32"},
               {15, "Q4_K - Medium"},
               {41, "Q2_0"},
               {1024 + 7, "(guessed) Q8_0"},
               {4, "unknown, may not work"},
               {34, "unknown, may not work"},
               {99, "unknown, may not work"},
               {1 << 20, "unknown, may not work"},
               {-1, "(guessed) unknown, may not work"}};
  for (const auto& c : cases) EXPECT_EQ(file_type_words(c.number), c.words) << c.number;

  GgufFile spec = dense();
  spec.pairs.erase(spec.pairs.begin() + 2);
  EXPECT_EQ(price_one(spec)->file_type, "(guessed) all F32");  // 3 of 5 tensors, few of the bytes
  spec.tensors = {{"a", 24, {8}}};
  EXPECT_EQ(price_one(spec)->file_type, "");
}

TEST(Model, ValuesThatContradictEachOther) {
  const struct {
    std::vector<std::string> pairs;
    const char* message;
  } cases[] = {
      {{}, "the header has no general.architecture"},
      {{pair_text("general.architecture", "x"), pair_u32("x.block_count", 1048576)},
       "x.block_count is 1048576, engines take 512"},
      {{pair_text("general.architecture", "x"), pair_u32("x.block_count", 4),
        pair_u32("x.nextn_predict_layers", 4)},
       "x.nextn_predict_layers is 4 of 4 blocks"},
      {{pair_text("general.architecture", "x"), pair_u32("x.nextn_predict_layers", 1)},
       "x.nextn_predict_layers is 1 of 0 blocks"},
      {{pair_text("general.architecture", "x"), pair_u32("x.expert_count", 8),
        pair_u32("x.expert_used_count", 9)},
       "x.expert_used_count is 9 of 8 experts"},
      {{pair_text("general.architecture", "x"), pair_u32("x.expert_count", 8),
        pair_u32("x.expert_used_count", 0)},
       "x.expert_used_count is 0 of 8 experts"},
      {{pair_text("general.architecture", "x"), pair_u32("x.expert_used_count", 2)},
       "x.expert_used_count is 2 of 0 experts"},
      {{pair_text("general.architecture", "x"), pair_u32("x.expert_count", 0xFFFFFFFF)},
       "x.expert_count is 4294967295"},
      {{pair_text("general.architecture", "x\x1b[31m"), pair_u32("x\x1b[31m.block_count", 513)},
       "x.block_count is 513, engines take 512"},
  };
  for (const auto& c : cases) {
    const auto model = price_one({.pairs = c.pairs});
    ASSERT_FALSE(model) << c.message;
    EXPECT_EQ(model.error().message, c.message);
    EXPECT_EQ(model.error().kind, ErrorKind::malformed);
  }
  const auto zeros =
      price_one({.pairs = {pair_text("general.architecture", "x"), pair_u32("x.block_count", 0),
                           pair_u32("x.expert_count", 0), pair_u32("x.expert_used_count", 0),
                           pair_u32("x.nextn_predict_layers", 0)}});
  EXPECT_TRUE(zeros) << zeros.error().message;
}

Header shard(std::uint16_t number, std::uint16_t count, std::uint32_t tensors_of_all,
             std::vector<TensorRow> rows) {
  GgufFile spec{
      .pairs = {raw_pair("split.no", 2, raw(number)), raw_pair("split.count", 2, raw(count)),
                raw_pair("split.tensors.count", 5, raw(tensors_of_all))},
      .tensors = std::move(rows)};
  if (number == 0) spec.pairs.push_back(pair_text("general.architecture", "llama"));
  return header_of(spec);
}

const std::vector<std::string> kThree = {"m-00001-of-00003.gguf", "m-00002-of-00003.gguf",
                                         "m-00003-of-00003.gguf"};

TEST(Model, ShardsAreOneModel) {
  const auto model = price({shard(0, 3, 3, {}), shard(1, 3, 3, {{"token_embd.weight", 0, {4, 4}}}),
                            shard(2, 3, 3, {{"output.weight", 0, {4, 4}}, {"b", 1, {4}}})},
                           kThree);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->shards, kThree);
  EXPECT_EQ(model->path, kThree.front());
  EXPECT_EQ(model->tensor_bytes, 64 + 64 + 8);
  EXPECT_EQ(model->tensors.size(), 3U);
  EXPECT_FALSE(model->tied_output);
  EXPECT_GT(model->file_bytes, model->tensor_bytes);
}

TEST(Model, ShardsThatAreNoSet) {
  const Header first = shard(0, 3, 2, {{"a", 0, {1}}});
  const Header second = shard(1, 3, 2, {{"b", 0, {1}}});
  const Header third = shard(2, 3, 2, {});
  const std::vector<std::string> two = {"x", "y"};
  const struct {
    std::vector<Header> shards;
    std::vector<std::string> paths;
    const char* message;
  } cases[] = {
      {{}, {}, "0 headers with 0 paths make no model"},
      {{first}, two, "1 headers with 2 paths make no model"},
      {{first}, {"x"}, "'x' is one of 3 shards, 1 was given"},
      {{first, second}, two, "'x' is one of 3 shards, 2 were given"},
      {{first, third, second},
       kThree,
       "'m-00002-of-00003.gguf' is shard 3 of 3 where shard 2 is due"},
      {{first, first, third},
       kThree,
       "'m-00002-of-00003.gguf' is shard 1 of 3 where shard 2 is due"},
      {{first, shard(1, 4, 2, {}), third},
       kThree,
       "'m-00002-of-00003.gguf' is one of 4 shards, 3 were given"},
      {{first, shard(5, 3, 2, {}), third},
       kThree,
       "'m-00002-of-00003.gguf' calls itself shard 6 of 3"},
      {{first, header_of(dense()), third},
       kThree,
       "'m-00002-of-00003.gguf' is not a shard of a split model"},
      {{shard(0, 3, 5, {}), second, third},
       kThree,
       "'m-00001-of-00003.gguf' says that the shards hold 5 tensors, they hold 1"},
      {{first, shard(1, 3, 7, {{"b", 0, {1}}}), third},
       kThree,
       "'m-00002-of-00003.gguf' says that the shards hold 7 tensors, they hold 2"},
      {{first, shard(1, 3, 2, {{"a", 0, {1}}}), third},
       kThree,
       "tensor 'a' is in 'm-00001-of-00003.gguf' and again in 'm-00002-of-00003.gguf'"},
  };
  for (const auto& c : cases) {
    const auto model = price(c.shards, c.paths);
    ASSERT_FALSE(model) << c.message;
    EXPECT_EQ(model.error().message, c.message);
  }
  EXPECT_TRUE(price({first, second, third}, kThree));
}

TEST(Model, HeadersThatNoEngineLoads) {
  GgufFile spec = dense();
  spec.tensors.push_back({"x", 31, {32}});
  const std::string file = spec.file();
  const auto size = static_cast<std::int64_t>(file.size());
  const auto removed = price({*read_header(as_bytes(file), size, Accept::readable)}, {"m.gguf"});
  ASSERT_FALSE(removed);
  EXPECT_EQ(removed.error().kind, ErrorKind::unsupported);
  EXPECT_NE(removed.error().message.find("tensor 'x' has type 31 (q4_0_4_4)"), std::string::npos);

  spec.tensors.back() = {"x", 0, {32}, 6400};
  const std::string gap = spec.file() + std::string(4096, '\0');
  const auto with_gap = price({*read_header(as_bytes(gap), std::nullopt, Accept::readable)}, {"m"});
  ASSERT_FALSE(with_gap);
  EXPECT_EQ(with_gap.error().message, "the size of 'm' is not known");
  const auto gap_size = static_cast<std::int64_t>(gap.size());
  const auto sized = price({*read_header(as_bytes(gap), gap_size, Accept::readable)}, {"m"});
  ASSERT_FALSE(sized);
  EXPECT_NE(sized.error().message.find("a gap of"), std::string::npos) << sized.error().message;
}

TEST(Model, SumsThatPassTheTop) {
  Header first = shard(0, 2, 2, {{"a", 24, {64}}});
  Header second = shard(1, 2, 2, {{"b", 24, {64}}});
  first.tensors[0].bytes = second.tensors[0].bytes = std::int64_t{1} << 62U;
  const auto model = price({first, second}, {"x", "y"});
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().message, "the shards claim more than 2^63 bytes or elements");
}

TEST(ShardPaths, AllFromTheFirst) {
  EXPECT_EQ(shard_paths("/m/big-00001-of-00003.gguf", 3),
            (std::vector<std::string>{"/m/big-00001-of-00003.gguf", "/m/big-00002-of-00003.gguf",
                                      "/m/big-00003-of-00003.gguf"}));
  EXPECT_EQ(shard_paths("any.bin", 0), std::vector<std::string>{"any.bin"});
  EXPECT_EQ(shard_paths("any.bin", 1), std::vector<std::string>{"any.bin"});
}

TEST(ShardPaths, TheHeaderCountsNotTheName) {
  Header header;
  EXPECT_EQ(shard_paths("a-00001-of-00002.gguf", header),
            std::vector<std::string>{"a-00001-of-00002.gguf"});
  header.split_count = 2;
  header.split_no = 0;
  EXPECT_EQ(shard_paths("a-00001-of-00002.gguf", header)->size(), 2U);
  header.split_no = 1;
  const auto renamed = shard_paths("a-00001-of-00002.gguf", header);
  ASSERT_FALSE(renamed);
  EXPECT_EQ(renamed.error().message,
            "'a-00001-of-00002.gguf' is the first shard by its name, shard 2 by its header");
}

TEST(ShardPaths, WhatIsRefusedAndWhy) {
  const struct {
    const char* path;
    std::int64_t count;
    const char* message;
    const char* hint;
  } cases[] = {
      {"big-00002-of-00003.gguf", 3,
       "'big-00002-of-00003.gguf' is shard 2 of 3, and engines start from the first",
       "give 'big-00001-of-00003.gguf'"},
      {"big-00001-of-00003.gguf", 4,
       "'big-00001-of-00003.gguf' is one of 3 shards by its name, of 4 by its header", ""},
      {"renamed.gguf", 3,
       "'renamed.gguf' is one of 3 shards, but its name does not end in '-NNNNN-of-00003.gguf', by "
       "which engines find the others",
       "give the shards their first names back"},
      {"m-00001-of-70000.gguf", 70000,
       "'m-00001-of-70000.gguf' claims 70000 shards, the format has room for 65535", ""},
  };
  for (const auto& c : cases) {
    const auto paths = shard_paths(c.path, c.count);
    ASSERT_FALSE(paths) << c.path;
    EXPECT_EQ(paths.error().message, c.message);
    EXPECT_EQ(paths.error().hint, c.hint);
  }
}

TEST(ShardPaths, NamesThatNoShardHas) {
  for (const char* path :
       {"", "a.gguf", "-00001-of-00002.gguf", "a-00001-of-00002.GGUF", "a-0001-of-00002.gguf",
        "a-00003-of-00002.gguf", "a-00000-of-00002.gguf", "a-00001_of-00002.gguf",
        "a-+0001-of-00002.gguf", "a-00001-of-00002.gguf.part"}) {
    EXPECT_FALSE(shard_name(path)) << path;
  }
  const auto name = shard_name("/a-b/c-00012-of-00345.gguf");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->prefix, "/a-b/c");
  EXPECT_EQ(name->number, 12);
  EXPECT_EQ(name->count, 345);
}

}  // namespace
}  // namespace picchio::gguf
