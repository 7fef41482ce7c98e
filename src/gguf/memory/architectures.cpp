#include "gguf/memory/architectures.h"

#include <algorithm>
#include <iterator>

namespace picchio::gguf {
namespace {

constexpr SlidingRule every(std::int64_t period, std::int64_t window = 0) {
  return {.kind = Sliding::period, .period = period, .window = window};
}
constexpr SlidingRule first_full(std::int64_t period) {
  return {.kind = Sliding::dense_first, .period = period};
}
constexpr SlidingRule kAsTold{.kind = Sliding::as_told};

constexpr Architecture slides(std::string_view name, SlidingRule rule) {
  return {.name = name, .sliding = rule};
}
constexpr Architecture slides_and_turns(std::string_view name, SlidingRule rule) {
  return {.name = name, .sliding = rule, .turns_full = false};
}
constexpr Architecture recurrent(std::string_view name, Recurrence kind, RecurrentLayers layers) {
  return {.name = name, .recurrence = kind, .recurrent = layers};
}
constexpr Architecture only_state(std::string_view name, Recurrence kind) {
  return {.name = name,
          .recurrence = kind,
          .attends = false,
          .reserve = {.embeddings = kind == Recurrence::rwkv ? 2 : 0}};
}
constexpr Architecture uncached(std::string_view name, SlidingRule rule = {}) {
  return {.name = name, .sliding = rule, .cached = false};
}

// Measured: llama.cpp 0.7.0, over 3,198 runs of 133 architectures.
constexpr Architecture kSpecial[] = {
    slides_and_turns("afmoe", every(4)),
    slides_and_turns("cohere2", every(4)),
    slides_and_turns("cohere2moe", first_full(4)),
    slides_and_turns("exaone-moe", every(4, 128)),
    slides_and_turns("exaone4",
                     {.kind = Sliding::period, .period = 4, .window = 4096, .only_blocks = 64}),
    slides("gemma2", every(2, 4096)),
    slides("gemma3", every(6)),
    slides("gemma4", kAsTold),
    slides("gpt-oss", every(2)),
    slides("granite_swa", kAsTold),
    slides("laguna", first_full(4)),
    {.name = "llama4",
     .sliding = {.kind = Sliding::period, .period = 4, .window = 8192, .fixed = true},
     .turns_full = false,
     .weighs_before = true},
    // Biases by relative position: for every head and cell, thrice.
    {.name = "t5", .reserve = {.head_cells = 3}},
    slides("maple", kAsTold),
    slides("mellum", every(4)),
    slides("mimo2", kAsTold),
    slides("olmo2", every(4)),
    slides("plamo3", every(8)),
    slides("step35", kAsTold),
    {.name = "smallthinker",
     .sliding = {.kind = Sliding::dense_first, .period = 4, .window = 4096, .fixed = true},
     .turns_full = false,
     .routes_early = true},
    {.name = "gemma3n", .sliding = every(5), .own_cache_layers = 20},
    {.name = "grok", .flash = false},

    {.name = "lfm2",
     .sliding = {.kind = Sliding::all},
     .recurrence = Recurrence::short_conv,
     .recurrent = RecurrentLayers::without_kv_heads},
    recurrent("lfm2moe", Recurrence::short_conv, RecurrentLayers::without_kv_heads),
    recurrent("bailingmoe3", Recurrence::kda, RecurrentLayers::without_kv_heads),
    recurrent("granitehybrid", Recurrence::mamba2, RecurrentLayers::without_kv_heads),
    recurrent("jamba", Recurrence::mamba, RecurrentLayers::without_kv_heads),
    recurrent("kimi-k3", Recurrence::kda, RecurrentLayers::without_kv_heads),
    recurrent("kimi-linear", Recurrence::kda, RecurrentLayers::without_kv_heads),
    {.name = "minimax-01",
     .recurrence = Recurrence::lightning,
     .recurrent = RecurrentLayers::listed,
     .reserve = {.embeddings = 4}},
    recurrent("nemotron_h", Recurrence::mamba2, RecurrentLayers::without_kv_heads_and_ffn),
    recurrent("nemotron_h_moe", Recurrence::mamba2, RecurrentLayers::without_kv_heads_and_ffn),
    recurrent("plamo2", Recurrence::mamba, RecurrentLayers::without_kv_heads),
    recurrent("qwen35", Recurrence::delta, RecurrentLayers::all_but_every_nth),
    recurrent("qwen35moe", Recurrence::delta, RecurrentLayers::all_but_every_nth),
    recurrent("qwen3next", Recurrence::delta, RecurrentLayers::all_but_every_nth),
    {.name = "falcon-h1", .recurrence = Recurrence::mamba2, .attention_everywhere = true},
    only_state("mamba", Recurrence::mamba),
    only_state("mamba2", Recurrence::mamba2),
    only_state("rwkv6", Recurrence::rwkv),
    only_state("rwkv6qwen2", Recurrence::rwkv),
    only_state("rwkv7", Recurrence::rwkv),
    only_state("arwkv7", Recurrence::rwkv),

    {.name = "deepseek32", .extra = ExtraCache::indexer},
    {.name = "dots3note", .sliding = kAsTold, .extra = ExtraCache::indexer},
    {.name = "glm-dsa", .extra = ExtraCache::indexer},
    {.name = "hy_v4", .extra = ExtraCache::indexer},
    {.name = "minimax-m3", .extra = ExtraCache::indexer_pair, .reserve = {.cells = 4}},
    {.name = "glm5-next",
     .recurrence = Recurrence::kda,
     .recurrent = RecurrentLayers::without_kv_heads,
     .extra = ExtraCache::indexer_three,
     .reserve = {.cells = 4, .indexers = 1}},
    {.name = "qwen4exp",
     .recurrence = Recurrence::delta,
     .recurrent = RecurrentLayers::all_but_every_nth,
     .extra = ExtraCache::indexer_two,
     .reserve = {.cells = 6, .indexers = 2}},
    {.name = "deepseek4",
     .sliding = {.kind = Sliding::all},
     .extra = ExtraCache::compressed,
     .reserve = {.embeddings = 32}},

    uncached("bert"),
    uncached("dream"),
    uncached("eurobert"),
    uncached("gemma-embedding", every(6)),
    uncached("jina-bert-v2"),
    uncached("jina-bert-v3"),
    uncached("llada"),
    uncached("llada-moe"),
    uncached("modern-bert", first_full(3)),
    uncached("neo-bert"),
    uncached("nomic-bert"),
    uncached("nomic-bert-moe"),
    uncached("rnd1"),
    uncached("t5encoder"),
    uncached("wavtokenizer-dec"),
};

// The classic rule, measured or read in the engine's source.
constexpr std::string_view kClassic[] = {
    "apertus",        "arcee",        "arctic",        "baichuan",   "bailingmoe", "bailingmoe2",
    "bitnet",         "bloom",        "chameleon",     "chatglm",    "codeshell",  "cogvlm",
    "command-r",      "dbrx",         "deci",          "deepseek",   "deepseek2",  "dots1",
    "ernie4_5",       "ernie4_5-moe", "exaone",        "falcon",     "gemma",      "glm4",
    "glm4moe",        "gpt2",         "gptj",          "gptneox",    "granite",    "granitemoe",
    "grovemoe",       "hunyuan-moe",  "hunyuan-dense", "hunyuan_vl", "hy_v3",      "internlm2",
    "jais",           "jais2",        "k2-horizon",    "llama",      "maincoder",  "minicpm",
    "minicpm3",       "minimax-m2",   "mistral3",      "mistral4",   "mpt",        "nanbeige",
    "nemotron",       "olmo",         "olmoe",         "openelm",    "orion",      "paddleocr",
    "pangu-embedded", "phi2",         "phi3",          "phimoe",     "plamo",      "plm",
    "qwen",           "qwen2",        "qwen2moe",      "qwen2vl",    "qwen3",      "qwen3moe",
    "qwen3vl",        "qwen3vlmoe",   "refact",        "seed_oss",   "smollm3",    "stablelm",
    "starcoder",      "starcoder2",   "talkie",        "xverse",
};

constexpr Architecture kClassicRule{.name = "classic"};

}  // namespace

const Architecture* architecture(std::string_view name) {
  const auto* special = std::ranges::find(kSpecial, name, &Architecture::name);
  if (special != std::end(kSpecial)) return special;
  const auto* classic = std::ranges::find(kClassic, name);
  return classic != std::end(kClassic) ? &kClassicRule : nullptr;
}

}  // namespace picchio::gguf
