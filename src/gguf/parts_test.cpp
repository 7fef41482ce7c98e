#include "gguf/parts.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace picchio::gguf {
namespace {

struct Named {
  const char* name;
  TensorPart part;
};

void expect_parts(const std::vector<Named>& cases) {
  for (const Named& c : cases) {
    EXPECT_EQ(name_of(part_of(c.name, false)), name_of(c.part)) << c.name;
  }
}

TEST(Parts, WhatMixesTokens) {
  expect_parts({
      {"token_embd.weight", TensorPart::embedding},
      {"token_embd_norm.bias", TensorPart::embedding},
      {"position_embd.weight", TensorPart::embedding},
      {"per_layer_token_embd.weight", TensorPart::embedding},
      {"blk.3.inp_gate.weight", TensorPart::embedding},
      {"blk.0.attn_q.weight", TensorPart::attention},
      {"blk.10.attn_norm.weight", TensorPart::attention},
      {"blk.0.attn_qkv.bias", TensorPart::attention},
      {"blk.0.attn_kv_a_mqa.weight", TensorPart::attention},
      {"blk.0.attn_sinks.weight", TensorPart::attention},
      {"blk.0.indexer.attn_k.weight", TensorPart::attention},
      {"blk.0.post_attention_norm.weight", TensorPart::attention},
      {"enc.blk.0.attn_rel_b.weight", TensorPart::attention},
      {"dec.blk.0.cross_attn_q.weight", TensorPart::attention},
      {"rope_freqs.weight", TensorPart::attention},
      {"blk.0.ssm_a", TensorPart::recurrent},
      {"blk.0.ssm_conv1d.weight", TensorPart::recurrent},
      {"blk.0.time_mix_key.weight", TensorPart::recurrent},
      {"blk.0.shortconv.conv.weight", TensorPart::recurrent},
  });
}

TEST(Parts, WhatDoesNot) {
  expect_parts({
      {"blk.0.ffn_up.weight", TensorPart::ffn},
      {"blk.0.ffn_norm", TensorPart::ffn},
      {"blk.0.channel_mix_key.weight", TensorPart::ffn},
      {"dec.blk.0.ffn_up.weight", TensorPart::ffn},
      {"blk.0.ffn_up_exps.weight", TensorPart::experts},
      {"blk.0.ffn_down_exps.input_scale", TensorPart::experts},
      {"blk.0.ffn_gate_chexps.weight", TensorPart::experts},
      {"blk.0.attn_v_exps.weight", TensorPart::experts},
      {"blk.0.ffn_up_shexp.weight", TensorPart::shared_experts},
      {"blk.0.ffn_gate_inp_shexp.weight", TensorPart::shared_experts},
      {"blk.0.ffn_gate_inp.weight", TensorPart::router},
      {"blk.0.exp_probs_b.bias", TensorPart::router},
      {"blk.0.layer_output_norm.weight", TensorPart::norm},
      {"enc.norm.weight", TensorPart::norm},
      {"blk.0.hc_attn_fn.weight", TensorPart::residual},
      {"altup_proj.weight", TensorPart::residual},
      {"output.weight", TensorPart::output},
      {"output_norm.weight", TensorPart::output},
      {"enc.output_norm.weight", TensorPart::output},
      {"cls.output.weight", TensorPart::output},
      {"dense_2.weight", TensorPart::output},
      {"blk.46.nextn.eh_proj.weight", TensorPart::next_token},
      {"mtp.layers.0.attn_q.weight", TensorPart::next_token},
      {"v.blk.0.attn_q.weight", TensorPart::vision},
      {"a.conv1d.0.weight", TensorPart::vision},
      {"mm.0.weight", TensorPart::vision},
      {"resampler.query", TensorPart::vision},
      {"blk.0.vis_attn_qkv.weight", TensorPart::vision},
      {"blk.0.attn_q.weight.lora_a", TensorPart::adapter},
      {"token_embd.weight.lora_b", TensorPart::adapter},
      {"", TensorPart::other},
      {"blk.", TensorPart::other},
      {"blk.0", TensorPart::other},
      {"blk.0.zebra", TensorPart::other},
      {"zebra", TensorPart::other},
      {"lora_a", TensorPart::other},
  });
}

TEST(Parts, ABlockOfNextTokenPredictionIsThatAsAWhole) {
  EXPECT_EQ(part_of("blk.9.ffn_up_exps.weight", true), TensorPart::next_token);
  EXPECT_EQ(part_of("blk.9.attn_q.weight.lora_a", true), TensorPart::adapter);
}

TEST(Parts, EveryTensorOfTheRecordedArchitecturesHasOne) {
  const auto path =
      std::filesystem::path(PICCHIO_SOURCE_DIR) / ".." / "shared" / "labels" / "plan-models.json";
  std::ifstream in(path);
  if (!in) GTEST_SKIP() << "no shared/labels beside the source tree";
  const auto models = nlohmann::json::parse(in);
  std::map<TensorPart, int> census;
  for (const auto& [file, model] : models.items()) {
    for (const auto& tensor : model["tensors"]) {
      const std::string name = tensor[0].get<std::string>();
      const TensorPart part = part_of(name, false);
      EXPECT_NE(part, TensorPart::other) << file << ": " << name;
      ++census[part];
    }
  }
  EXPECT_GT(census[TensorPart::attention], 10000);
  EXPECT_GT(census.size(), 10U);
}

}  // namespace
}  // namespace picchio::gguf
