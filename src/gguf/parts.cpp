#include "gguf/parts.h"

#include "base/text.h"

#include <algorithm>
#include <iterator>
#include <span>

namespace picchio::gguf {
namespace {

enum class Match { begin, anywhere, end };

struct PartRule {
  Match match;
  std::string_view words;
  TensorPart part;
};

using enum Match;
using enum TensorPart;

// The first that matches, of the whole name. Encoders and projectors name their blocks like a
// model's behind these.
constexpr PartRule kWhole[] = {
    {end, ".lora_a", adapter},     {end, ".lora_b", adapter},
    {begin, "v.", vision},         {begin, "a.", vision},
    {begin, "mm.", vision},        {begin, "resampler.", vision},
    {begin, "adapter.", vision},  // glm-edge's projector
    {begin, "vision.", vision},    {begin, "mtp.", next_token},
    {begin, "nextn.", next_token}, {anywhere, ".nextn.", next_token},
};

// Of what stands behind "blk.N.". Names of 133 architectures of llama.cpp 0.7.0.
constexpr PartRule kInBlock[] = {
    {begin, "vis_", vision},               // cogvlm's experts for pictures
    {anywhere, "_shexp", shared_experts},  // ffn_gate_inp_shexp among them
    {anywhere, "_exps", experts},
    {anywhere, "_chexps", experts},
    {begin, "ffn_gate_inp", router},
    {begin, "ffn_gate_tid2eid", router},
    {begin, "ffn_routed", experts},  // kimi-k3: the way into the experts and out
    {begin, "exp_probs", router},
    // Residual streams, before the rules for what they go around.
    {begin, "hc_", residual},
    {begin, "altup_", residual},
    {begin, "laurel_", residual},
    {anywhere, "_res_score", residual},
    {begin, "layer_output_scale", residual},
    {begin, "ssm_", recurrent},
    {begin, "time_mix_", recurrent},
    {begin, "shortconv", recurrent},
    {begin, "attn", attention},
    {begin, "cross_attn", attention},
    {begin, "indexer", attention},
    {begin, "post_attention_norm", attention},
    {begin, "ffn", ffn},
    {begin, "channel_mix_", ffn},
    {begin, "post_ffw_norm", ffn},
    {begin, "post_mlp_norm", ffn},
    // Per-layer embeddings, mixed in behind each block: gemma3n and gemma4, qwen4exp.
    {begin, "inp_gate", embedding},
    {begin, "proj.", embedding},
    {begin, "post_norm", embedding},
    {begin, "ple_", embedding},
    {anywhere, "norm", norm},
};

constexpr PartRule kOutside[] = {
    {begin, "token_embd", embedding},
    {begin, "position_embd", embedding},
    {begin, "token_types", embedding},
    {begin, "per_layer_", embedding},
    {begin, "altup_", residual},
    {begin, "output_hc_", residual},
    {begin, "output_res_", residual},
    {begin, "output", output},
    {begin, "cls", output},
    {begin, "dense_", output},     // sentence embedders
    {begin, "rope_f", attention},  // rope_freqs, rope_factors_long
    {begin, "posnet.", attention},
    {begin, "convnext.", ffn},
    {anywhere, "norm", norm},
};

TensorPart first_of(std::span<const PartRule> rules, std::string_view name) {
  const auto rule = std::ranges::find_if(rules, [&](const PartRule& row) {
    switch (row.match) {
      case begin:
        return name.starts_with(row.words);
      case anywhere:
        return name.find(row.words) != std::string_view::npos;
      case end:
        return name.ends_with(row.words);
    }
    return false;
  });
  return rule != rules.end() ? rule->part : other;
}

}  // namespace

TensorPart part_of(std::string_view name, bool next_token_block) {
  const TensorPart whole = first_of(kWhole, name);
  if (whole != other) return whole;
  if (next_token_block) return next_token;
  // T5 has two stacks of blocks.
  if (!take_prefix(name, "enc.")) (void)take_prefix(name, "dec.");
  if (!take_prefix(name, "blk.")) return first_of(kOutside, name);
  const auto point = name.find('.');
  return point == std::string_view::npos ? other : first_of(kInBlock, name.substr(point + 1));
}

}  // namespace picchio::gguf
