#include "verdict/arguments.h"

#include <gtest/gtest.h>

namespace picchio {
namespace {

using Arguments = std::vector<std::string>;
using Environment = std::map<std::string, std::string>;

std::string shown(const std::optional<Setting>& setting) { return setting ? setting->shown : "-"; }

TEST(Arguments, GpuLayersInEveryForm) {
  struct Case {
    Arguments arguments;
    Environment environment;
    std::string shown;
    std::string value;
  };
  const std::vector<Case> cases = {
      {{"-ngl", "0"}, {}, "-ngl 0", "0"},
      {{"-ngl=0"}, {}, "-ngl 0", "0"},
      {{"--n-gpu-layers", "20"}, {}, "--n-gpu-layers 20", "20"},
      {{"--gpu-layers=all"}, {}, "--gpu-layers all", "all"},
      {{"-ngl", "-1"}, {}, "-ngl -1", "-1"},
      {{"-ngl", "20", "-c", "512", "-ngl", "99"}, {}, "-ngl 99", "99"},
      {{}, {{"LLAMA_ARG_N_GPU_LAYERS", "0"}}, "LLAMA_ARG_N_GPU_LAYERS=0", "0"},
      {{"-ngl", "auto"}, {{"LLAMA_ARG_N_GPU_LAYERS", "0"}}, "-ngl auto", "auto"},
      // The value of another flag is no flag, and a flag at the end has no value.
      {{"-m", "ngl", "-ngl"}, {}, "-", ""},
      {{"-fa", "-ngl", "5"}, {}, "-ngl 5", "5"},
      {{}, {{"LLAMA_ARG_N_GPU_LAYERS", ""}}, "-", ""},
  };
  for (const Case& c : cases) {
    const PlacementSettings got = placement_settings(c.arguments, c.environment);
    EXPECT_EQ(shown(got.gpu_layers), c.shown);
    EXPECT_EQ(got.gpu_layers ? got.gpu_layers->value : "", c.value) << c.shown;
  }
}

TEST(Arguments, TheOtherSettings) {
  const PlacementSettings got = placement_settings(
      {"--device", "none", "-ot", "a=CPU", "-ot=b=CUDA0", "-cmoe", "--n-cpu-moe", "3", "-nkvo",
       "-sm", "none", "-fa", "on", "-ctk", "q5_1", "--cache-type-v=q4_0", "--rpc", "h:1"},
      {{"LLAMA_ARG_OVERRIDE_TENSOR", "c=CPU"}, {"LLAMA_ARG_DEVICE", "CUDA1"}});
  EXPECT_EQ(shown(got.device), "--device none");
  ASSERT_EQ(got.override_tensor.size(), 3u);
  EXPECT_EQ(got.override_tensor[0].shown, "LLAMA_ARG_OVERRIDE_TENSOR=c=CPU");
  EXPECT_TRUE(got.override_tensor[0].from_environment);
  EXPECT_EQ(got.override_tensor[1].value, "a=CPU");
  EXPECT_EQ(got.override_tensor[2].value, "b=CUDA0");
  EXPECT_EQ(shown(got.cpu_moe), "-cmoe");
  EXPECT_EQ(shown(got.n_cpu_moe), "--n-cpu-moe 3");
  EXPECT_EQ(shown(got.kv_offload_off), "-nkvo");
  EXPECT_EQ(shown(got.split_mode), "-sm none");
  EXPECT_EQ(shown(got.flash_attention), "-fa on");
  EXPECT_EQ(shown(got.cache_type_k), "-ctk q5_1");
  EXPECT_EQ(shown(got.cache_type_v), "--cache-type-v q4_0");
  EXPECT_EQ(shown(got.rpc), "--rpc h:1");
}

TEST(Arguments, SwitchesOfBothSenses) {
  EXPECT_FALSE(placement_settings({"-nkvo", "-kvo"}, {}).kv_offload_off);
  EXPECT_FALSE(placement_settings({"-kvo"}, {{"LLAMA_ARG_NO_KV_OFFLOAD", "1"}}).kv_offload_off);
  EXPECT_TRUE(placement_settings({}, {{"LLAMA_ARG_KV_OFFLOAD", "off"}}).kv_offload_off);
  EXPECT_FALSE(placement_settings({}, {{"LLAMA_ARG_KV_OFFLOAD", "true"}}).kv_offload_off);
  EXPECT_TRUE(placement_settings({}, {{"LLAMA_ARG_CPU_MOE", "1"}}).cpu_moe);
  EXPECT_FALSE(placement_settings({}, {{"LLAMA_ARG_CPU_MOE", "0"}}).cpu_moe);
}

TEST(Arguments, VariablesThatHide) {
  const auto got = [](const Environment& environment) {
    std::string out;
    for (const HidingVariable& variable : hiding_variables(environment)) {
      out += variable.shown() + (variable.hides_all ? "!" : "") + " ";
    }
    return out;
  };
  EXPECT_EQ(got({}), "");
  EXPECT_EQ(got({{"CUDA_VISIBLE_DEVICES", ""}}), "CUDA_VISIBLE_DEVICES=! ");
  EXPECT_EQ(got({{"CUDA_VISIBLE_DEVICES", "-1"}}), "CUDA_VISIBLE_DEVICES=-1! ");
  EXPECT_EQ(got({{"CUDA_VISIBLE_DEVICES", "1"}}), "CUDA_VISIBLE_DEVICES=1 ");
  EXPECT_EQ(got({{"GGML_VK_VISIBLE_DEVICES", ""}, {"ZE_AFFINITY_MASK", ""}}), "");
  EXPECT_EQ(got({{"HIP_VISIBLE_DEVICES", "-1"}, {"ROCR_VISIBLE_DEVICES", "0"}, {"PATH", "-1"}}),
            "HIP_VISIBLE_DEVICES=-1! ROCR_VISIBLE_DEVICES=0 ");
  EXPECT_EQ(got({{"ONEAPI_DEVICE_SELECTOR", "opencl:cpu"}}), "ONEAPI_DEVICE_SELECTOR=opencl:cpu ");
}

TEST(Arguments, TwoSpellingsOfOneThingSettleToTheSame) {
  const struct {
    const char* shown;
    const char* settled;
  } table[] = {
      {"", ""},
      {"-ngl 99", "--n-gpu-layers 99"},
      {"--gpu-layers=99", "--n-gpu-layers 99"},
      {"-ngl -1 -fa on", "--flash-attn on --n-gpu-layers -1"},
      {"-fa on -b 4096", "--batch-size 4096 --flash-attn on"},
      {"-b 4096 -fa on", "--batch-size 4096 --flash-attn on"},
      // The first pattern that fits rules.
      {"-ot exps=CPU -ot .*=CUDA0", "--override-tensor exps=CPU --override-tensor .*=CUDA0"},
      {"-ot .*=CUDA0 -ot exps=CPU", "--override-tensor .*=CUDA0 --override-tensor exps=CPU"},
      {"device none", "device none"},
      {"--device none -ngl 0..", "--device none --n-gpu-layers 0.."},
  };
  for (const auto& row : table) EXPECT_EQ(settled_arguments(row.shown), row.settled) << row.shown;
}

TEST(Arguments, ShownFlagsAndTheWordsBehindThem) {
  const struct {
    const char* shown;
    const char* read;  // "flag|words;" each
  } table[] = {
      {"", ""},
      {"-ngl 20 -fa on", "--n-gpu-layers|20;--flash-attn|on;"},
      {"-ngl=20 and more", "--n-gpu-layers|20 and more;"},
      {"words -ngl", "|words;--n-gpu-layers|;"},
      {"--device none", "--device|none;"},
      // No flags: what a cut leaves of one, and numbers.
      {"--", "|--;"},
      {"- -ngl -1", "|-;--n-gpu-layers|-1;"},
      {"--tensor-split -.5", "--tensor-split|-.5;"},
  };
  for (const auto& row : table) {
    std::string read;
    for (const ShownArgument& each : shown_arguments(row.shown)) {
      read += each.flag + "|" + each.words + ";";
    }
    EXPECT_EQ(read, row.read) << row.shown;
  }
}

}  // namespace
}  // namespace picchio
