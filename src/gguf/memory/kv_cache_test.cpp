#include "gguf/memory/kv_cache.h"

#include "gguf/memory/header_maker.h"

#include <gtest/gtest.h>

#include <numeric>

namespace picchio::gguf {
namespace {

struct CacheCase {
  std::string what;
  std::string architecture;
  Keys keys;
  ContextSettings settings;
  std::int64_t kv;
  std::int64_t state = 0;
};

std::int64_t sum(const std::vector<std::int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

TEST(KvCache, BytesOfEachKind) {
  const Keys compressed = {{"attention.key_length", {576}},
                           {"attention.head_count_kv", {1}},
                           {"attention.key_length_mla", {192}},
                           {"attention.value_length_mla", {128}},
                           {"attention.indexer.key_length", {128}}};
  Keys mixed = {{"attention.sliding_window", {100}}};
  const CacheCase cases[] = {
      {"keys and values of 8 layers", "llama", {}, {}, 8LL * 4096 * 2 * 256 * 2},
      {"of two heads", "llama", {{"attention.head_count_kv", {2}}}, {}, 8LL * 4096 * 2 * 64 * 2},
      {"keys in blocks",
       "llama",
       {},
       {.cache_type_k = "q8_0"},
       8LL * 4096 * (256 / 32 * 34 + 256 * 2)},
      {"two kinds of layers", "gemma3", mixed, {}, (7LL * 768 + 1LL * 4096) * 2 * 256 * 2},
      {"compressed keys only", "deepseek2", compressed, {}, 8LL * 4096 * 576 * 2},
      {"and an indexer's", "deepseek32", compressed, {}, 8LL * 4096 * (576 + 128) * 2},
      {"an encoder has none", "bert", {}, {}, 0},
      {"a state for each sequence",
       "mamba",
       {{"ssm.conv_kernel", {4}}, {"ssm.inner_size", {512}}, {"ssm.state_size", {16}}},
       {.n_parallel = 3},
       0,
       3LL * 8 * 4 * (3 + 16) * 512},
  };
  for (const CacheCase& row : cases) {
    const Header header = made_header(row.architecture, row.keys);
    const auto model = layers_of({header});
    ASSERT_TRUE(model) << row.what << ": " << model.error().message;
    const auto context = context_of(*model, header.context_length, row.settings);
    ASSERT_TRUE(context) << row.what << ": " << context.error().message;
    const auto caches = caches_of(*model, *context);
    ASSERT_TRUE(caches) << row.what;
    EXPECT_EQ(sum(caches->kv_of_layer), row.kv) << row.what;
    EXPECT_EQ(sum(caches->state_of_layer), row.state) << row.what;
  }
}

TEST(KvCache, WithoutFlashAttentionValuesAreAsWideAsTheWidest) {
  const Header header =
      made_header("deci", {{"attention.head_count_kv", {8, 4, 4, 4, 4, 4, 4, 0}}});
  const auto model = layers_of({header});
  const auto context = context_of(*model, 4096, {.flash_attention = FlashAttention::off});
  const auto caches = caches_of(*model, *context);
  EXPECT_EQ(sum(caches->kv_of_layer), 4096LL * 2 * ((8 + 6 * 4) * 32 + 8 * 256));
}

}  // namespace
}  // namespace picchio::gguf
