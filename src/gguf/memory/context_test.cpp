#include "gguf/memory/context.h"

#include "gguf/memory/header_maker.h"

#include <gtest/gtest.h>

namespace picchio::gguf {
namespace {

Result<Context> context_for(const std::string& architecture, const Keys& keys,
                            const ContextSettings& settings) {
  const Header header = made_header(architecture, keys);
  const auto model = layers_of({header});
  EXPECT_TRUE(model) << model.error().message;
  return context_of(*model, header.context_length, settings);
}

struct CellCase {
  std::string what;
  ContextSettings settings;
  std::int64_t n_ctx;
  std::int64_t cells;
  std::int64_t streams;
  std::int64_t sequences;
  std::int64_t tokens;
  std::int64_t outputs;
};

TEST(Context, CellsStreamsAndRows) {
  const CellCase cases[] = {
      {"as trained", {}, 4096, 4096, 1, 1, 512, 512},
      {"rounded up", {.n_ctx = 5000}, 5120, 5120, 1, 1, 512, 512},
      {"shorter than a batch", {.n_ctx = 256}, 256, 256, 1, 1, 256, 256},
      {"three caches are more than asked",
       {.n_ctx = 5000, .n_parallel = 3},
       5376,
       1792,
       3,
       3,
       512,
       512},
      {"one for three",
       {.n_ctx = 5000, .n_parallel = 3, .kv_unified = true},
       5120,
       5120,
       1,
       3,
       512,
       512},
      {"a server's slots share", {.program = Program::server}, 4096, 4096, 1, 4, 512, 4},
      {"unless they are counted",
       {.program = Program::server, .n_parallel = 2},
       4096,
       2048,
       2,
       2,
       512,
       2},
      {"a small batch bounds both", {.n_batch = 64}, 4096, 4096, 1, 1, 64, 64},
  };
  for (const CellCase& row : cases) {
    const auto context = context_for("llama", {}, row.settings);
    ASSERT_TRUE(context) << row.what << ": " << context.error().message;
    EXPECT_EQ(context->n_ctx, row.n_ctx) << row.what;
    EXPECT_EQ(context->cells, row.cells) << row.what;
    EXPECT_EQ(context->streams, row.streams) << row.what;
    EXPECT_EQ(context->sequences, row.sequences) << row.what;
    EXPECT_EQ(context->tokens, row.tokens) << row.what;
    EXPECT_EQ(context->outputs, row.outputs) << row.what;
  }
}

TEST(Context, AWindowTakesAMicroBatchMore) {
  const Keys window = {{"attention.sliding_window", {1000}}};
  EXPECT_EQ(context_for("gemma3", window, {})->cells_sliding, 1536);
  EXPECT_EQ(context_for("gemma3", window, {.n_ubatch = 2048})->cells_sliding, 3072);
  EXPECT_EQ(context_for("gemma3", window, {.program = Program::server})->cells_sliding, 4096);
  EXPECT_EQ(context_for("gemma3", window, {.swa_full = true})->cells_sliding, 4096);
}

struct RefusalCase {
  std::string architecture;
  Keys keys;
  ContextSettings settings;
  std::string message;
};

TEST(Context, WhatTheEngineRefuses) {
  const Keys compressed = {{"attention.key_length_mla", {192}},
                           {"attention.value_length_mla", {128}}};
  const RefusalCase cases[] = {
      {"llama",
       {{"attention.key_length", {48}}},
       {.cache_type_k = "q8_0"},
       "the block of 32 of cache type q8_0 does not divide n_embd_head_k 48 of layer 0"},
      {"llama",
       {},
       {.cache_type_v = "q8_0", .flash_attention = FlashAttention::off},
       "a quantized V cache (q8_0) needs flash attention"},
      {"grok", {}, {.cache_type_v = "q8_0"}, "which this architecture does without"},
      {"deepseek2", compressed, {.cache_type_k = "q8_0"}, "-ctk q8_0 and -ctv f16 must be equal"},
      {"llama", {}, {.cache_type_k = "q6_K"}, "-ctk does not take the type 'q6_K'"},
      {"llama", {}, {.n_ctx = 4294967295}, "a context of 4294967295"},
      {"llama", {}, {.n_ctx = -1}, "a context of -1"},
      {"llama", {}, {.n_parallel = 1000}, "-np of 1000"},
      {"llama", {{"context_length", {0}}}, {}, "a context of 0"},
  };
  for (const RefusalCase& row : cases) {
    const auto context = context_for(row.architecture, row.keys, row.settings);
    ASSERT_FALSE(context) << row.message;
    EXPECT_NE(context.error().message.find(row.message), std::string::npos)
        << context.error().message;
  }
}

}  // namespace
}  // namespace picchio::gguf
