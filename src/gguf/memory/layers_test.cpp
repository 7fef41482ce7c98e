#include "gguf/memory/layers.h"

#include "gguf/memory/header_maker.h"

#include <gtest/gtest.h>

namespace picchio::gguf {
namespace {

/// One letter a layer: full attention, sliding, recurrent (R), both (B), none (-).
std::string kinds_of(const ModelLayers& model) {
  std::string out;
  for (const Layer& layer : model.layers) {
    const bool attends = layer.attention != Attention::none;
    if (layer.recurrent) {
      out += attends ? 'B' : 'R';
    } else if (!attends) {
      out += '-';
    } else {
      out += layer.attention == Attention::sliding ? 's' : 'f';
    }
  }
  return out;
}

struct KindCase {
  std::string what;
  std::string architecture;
  Keys keys;
  std::string kinds;
  std::int64_t window = 0;
};

TEST(Layers, WhichSlideAndWhichKeepAState) {
  const KindCase cases[] = {
      {"a classic one ignores a window",
       "llama",
       {{"attention.sliding_window", {512}}},
       "ffffffff"},
      {"every second, by default", "gemma2", {}, "sfsfsfsf", 4096},
      {"every sixth", "gemma3", {{"attention.sliding_window", {512}}}, "sssssfss", 512},
      {"no window, nothing slides", "gemma3", {}, "ffffffff"},
      {"a period in the file",
       "gemma3",
       {{"attention.sliding_window", {512}}, {"attention.sliding_window_pattern", {4}}},
       "sssfsssf",
       512},
      {"a list in the file",
       "gemma3",
       {{"attention.sliding_window", {512}},
        {"attention.sliding_window_pattern", {1, 0, 1, 0, 1, 1, 1, 1}}},
       "sfsfssss",
       512},
      {"always 8192", "llama4", {{"attention.sliding_window", {512}}}, "sssfsssf", 8192},
      {"the first of each group is full",
       "smallthinker",
       {{"attention.sliding_window", {512}}},
       "fsssfsss",
       4096},
      {"only a model of 64 blocks", "exaone4", {{"attention.sliding_window", {512}}}, "ffffffff"},
      {"an unknown one as the file tells",
       "brand-new",
       {{"attention.sliding_window", {64}},
        {"attention.sliding_window_pattern", {0, 1, 0, 1, 0, 1, 0, 1}}},
       "fsfsfsfs",
       64},
      {"all keep a state", "mamba", {{"ssm.inner_size", {512}}}, "RRRRRRRR"},
      {"attention where there are KV heads",
       "jamba",
       {{"attention.head_count_kv", {0, 0, 0, 2, 0, 0, 0, 2}}},
       "RRRfRRRf"},
      {"attention every fourth", "qwen35", {}, "RRRfRRRf"},
      {"both in one", "falcon-h1", {}, "BBBBBBBB"},
      {"no heads, no attention",
       "deci",
       {{"attention.head_count_kv", {8, 0, 8, 8, 8, 8, 8, 8}}},
       "f-ffffff"},
      {"next-token prediction is not loaded",
       "glm4moe",
       {{"nextn_predict_layers", {1}}},
       "fffffff"},
  };
  for (const KindCase& row : cases) {
    const auto model = layers_of({made_header(row.architecture, row.keys)});
    ASSERT_TRUE(model) << row.what << ": " << model.error().message;
    EXPECT_EQ(kinds_of(*model), row.kinds) << row.what;
    EXPECT_EQ(model->window, row.window) << row.what;
    EXPECT_EQ(model->known, row.architecture != "brand-new") << row.what;
  }
}

TEST(Layers, WidthsOfHeads) {
  const auto classic = layers_of({made_header("llama")});
  EXPECT_EQ(classic->layers[0].key_length, 32);
  EXPECT_EQ(classic->layers[0].kv_heads, 8);
  const auto sliding = layers_of(
      {made_header("gemma4", {{"attention.sliding_window", {512}},
                              {"attention.sliding_window_pattern", {1, 0, 1, 0, 1, 0, 1, 0}},
                              {"attention.key_length", {64}},
                              {"attention.key_length_swa", {16}},
                              {"attention.shared_kv_layers", {2}}})});
  EXPECT_EQ(sliding->layers[0].key_length, 16);
  EXPECT_EQ(sliding->layers[1].key_length, 64);
  EXPECT_TRUE(sliding->layers[5].own_cache);
  EXPECT_FALSE(sliding->layers[6].own_cache);
  const auto compressed =
      layers_of({made_header("deepseek2", {{"attention.key_length", {576}},
                                           {"attention.value_length", {512}},
                                           {"attention.head_count_kv", {1}},
                                           {"attention.key_length_mla", {192}},
                                           {"attention.value_length_mla", {128}}})});
  EXPECT_TRUE(compressed->mla);
  EXPECT_EQ(compressed->layers[0].key_length, 576);
  EXPECT_EQ(compressed->layers[0].value_length, 0);
}

TEST(Layers, SizesOfStates) {
  const Keys ssm = {{"ssm.conv_kernel", {4}},
                    {"ssm.inner_size", {512}},
                    {"ssm.state_size", {16}},
                    {"ssm.group_count", {2}}};
  const auto mamba = layers_of({made_header("mamba", ssm)});
  EXPECT_EQ(mamba->layers[0].conv_state, 3 * 512);
  EXPECT_EQ(mamba->layers[0].inner_state, 16 * 512);
  const auto mamba2 = layers_of({made_header("mamba2", ssm)});
  EXPECT_EQ(mamba2->layers[0].conv_state, 3 * (512 + 2 * 2 * 16));
  const auto rwkv = layers_of({made_header("rwkv6", {{"wkv.head_size", {64}}})});
  EXPECT_EQ(rwkv->layers[0].conv_state, 2 * 256);
  EXPECT_EQ(rwkv->layers[0].inner_state, 256 * 64);
}

struct BadCase {
  std::string what;
  Keys keys;
  std::string message;
};

TEST(Layers, HeadersThatNoEngineLoads) {
  const BadCase cases[] = {
      {"no blocks", {{"block_count", {0}}}, "block_count is 0: engines load 1 to 512"},
      {"too many", {{"block_count", {2147483648}}}, "block_count is 2147483648"},
      {"no heads", {{"attention.head_count", {0}}}, "attention.head_count is 0 or missing"},
      {"no width", {{"embedding_length", {0}}}, "embedding_length is 0 or missing"},
      {"a list too short",
       {{"attention.head_count_kv", {8, 8, 8}}},
       "attention.head_count_kv has 3 entries for 8 blocks"},
      {"all blocks predict", {{"nextn_predict_layers", {8}}}, "nextn_predict_layers is 8 of 8"},
      {"too many experts",
       {{"expert_used_count", {1000}}, {"expert_count", {1000}}},
       "expert_used_count is 1000"},
      {"heads beyond reason", {{"attention.key_length", {4294967295}}}, "more than any model's"},
      {"a list for a number",
       {{"attention.key_length", {1, 2}}},
       "key 'llama.attention.key_length' is not of the type"},
  };
  for (const BadCase& row : cases) {
    const auto model = layers_of({made_header("llama", row.keys)});
    ASSERT_FALSE(model) << row.what;
    EXPECT_NE(model.error().message.find(row.message), std::string::npos)
        << row.what << ": " << model.error().message;
  }
  EXPECT_FALSE(layers_of({}));
}

}  // namespace
}  // namespace picchio::gguf
