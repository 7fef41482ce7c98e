#include "results/bench_reader.h"

#include "results/read_figures.h"

#include <gtest/gtest.h>

#include <string>

namespace picchio::results {
namespace {

// What llama-bench of b11669 printed on a CPU: -p 64 -n 16 -r 2.
const std::string kLines[] = {
    R"({"build_commit": "Debian", "build_number": 11669, "cpu_info": "AMD EPYC", "gpu_info": "", "backends": "CPU", "model_filename": "/m/Tiny-Q4_K_M.gguf", "model_type": "llama ?B Q4_K - Medium", "model_size": 4336640, "model_n_params": 7082240, "n_batch": 2048, "n_ubatch": 512, "n_threads": 2, "cpu_mask": "0x0", "cpu_strict": false, "poll": 50, "type_k": "f16", "type_v": "f16", "n_gpu_layers": -1, "n_cpu_moe": 0, "split_mode": "layer", "main_gpu": 0, "no_kv_offload": false, "flash_attn": -1, "devices": "auto", "tensor_split": "0.00", "tensor_buft_overrides": "none", "load_mode": "auto", "lazy_mode": "auto", "embeddings": false, "no_op_offload": 0, "no_host": false, "repack": true, "fit_target": 0, "fit_min_ctx": 0, "n_prompt": 64, "n_gen": 0, "n_depth": 0, "test_time": "2026-11-30T06:19:30Z", "avg_ns": 38015168, "stddev_ns": 7609606, "avg_ts": 1717.957030, "stddev_ts": 343.888193, "samples_ns": [ 32634368, 43395969 ],"samples_ts": [ 1961.12, 1474.79 ]})",
    R"({"build_commit": "Debian", "build_number": 11669, "cpu_info": "AMD EPYC", "gpu_info": "", "backends": "CPU", "model_filename": "/m/Tiny-Q4_K_M.gguf", "model_type": "llama ?B Q4_K - Medium", "model_size": 4336640, "model_n_params": 7082240, "n_batch": 2048, "n_ubatch": 512, "n_threads": 2, "cpu_mask": "0x0", "cpu_strict": false, "poll": 50, "type_k": "f16", "type_v": "f16", "n_gpu_layers": -1, "n_cpu_moe": 0, "split_mode": "layer", "main_gpu": 0, "no_kv_offload": false, "flash_attn": -1, "devices": "auto", "tensor_split": "0.00", "tensor_buft_overrides": "none", "load_mode": "auto", "lazy_mode": "auto", "embeddings": false, "no_op_offload": 0, "no_host": false, "repack": true, "fit_target": 0, "fit_min_ctx": 0, "n_prompt": 0, "n_gen": 16, "n_depth": 0, "test_time": "2026-11-30T06:19:30Z", "avg_ns": 22987833, "stddev_ns": 6493839, "avg_ts": 724.945990, "stddev_ts": 204.790202, "samples_ns": [ 27579671, 18395995 ],"samples_ts": [ 580.137, 869.755 ]})"};
const std::string kCsv[] = {
    R"(build_commit,build_number,cpu_info,gpu_info,backends,model_filename,model_type,model_size,model_n_params,n_batch,n_ubatch,n_threads,cpu_mask,cpu_strict,poll,type_k,type_v,n_gpu_layers,n_cpu_moe,split_mode,main_gpu,no_kv_offload,flash_attn,devices,tensor_split,tensor_buft_overrides,load_mode,lazy_mode,embeddings,no_op_offload,no_host,repack,fit_target,fit_min_ctx,n_prompt,n_gen,n_depth,test_time,avg_ns,stddev_ns,avg_ts,stddev_ts)",
    R"("Debian","11669","AMD EPYC","","CPU","/m/Tiny-Q4_K_M.gguf","llama ?B Q4_K - Medium","4336640","7082240","2048","512","2","0x0","0","50","f16","f16","-1","0","layer","0","0","-1","auto","0.00","none","auto","auto","0","0","0","1","0","0","64","0","0","2026-11-30T06:19:30Z","39977804","13398707","1696.150860","568.471023")",
    R"("Debian","11669","AMD EPYC","","CPU","/m/Tiny-Q4_K_M.gguf","llama ?B Q4_K - Medium","4336640","7082240","2048","512","2","0x0","0","50","f16","f16","-1","0","layer","0","0","-1","auto","0.00","none","auto","auto","0","0","0","1","0","0","0","16","0","2026-11-30T06:19:30Z","40476537","14519572","422.471932","151.547321")"};
constexpr const char* kMarkdown =
    "| model                          |       size |     params | backend    | threads |           "
    " test |                  t/s |\n"
    "| ------------------------------ | ---------: | ---------: | ---------- | ------: | "
    "--------------: | -------------------: |\n"
    "| llama ?B Q4_K - Medium         |   4.14 MiB |     7.08 M | CPU        |       2 |           "
    " pp64 |     2479.85 \xC2\xB1 761.42 |\n"
    "| llama ?B Q4_K - Medium         |   4.14 MiB |     7.08 M | CPU        |       2 |           "
    " tg16 |       566.83 \xC2\xB1 45.76 |\n"
    "\n"
    "build: Debian (11669)\n";

RunFigures only(const std::string& text) {
  EXPECT_TRUE(is_bench(text));
  const auto runs = read_figures(text);
  EXPECT_TRUE(runs) << runs.error().message;
  EXPECT_EQ(runs ? runs->size() : 0, 1U);
  return runs && !runs->empty() ? runs->front() : RunFigures{};
}

void expect_common(const RunFigures& run) {
  EXPECT_EQ(run.engine, "llama.cpp");
  EXPECT_NEAR(run.weight_bytes.value_or(0) / (1 << 20), 4.14, 0.01);
  EXPECT_NEAR(run.parameters.value_or(0), 7.08e6, 0.01e6);
  EXPECT_EQ(run.cpu.threads, 2);
  EXPECT_EQ(run.state, State::cpu_only_machine);
  EXPECT_TRUE(run.lane(Lane::prefill).warm.value && run.lane(Lane::decode).low);
  EXPECT_FALSE(run.lane(Lane::wallclock).warm.value);
}

TEST(BenchReader, JsonLinesAndJson) {
  for (const std::string& text :
       {kLines[0] + "\n" + kLines[1] + "\n", "[\n" + kLines[0] + ",\n" + kLines[1] + "]\n"}) {
    const RunFigures run = only(text);
    expect_common(run);
    EXPECT_EQ(run.model, "Tiny-Q4_K_M.gguf");
    EXPECT_EQ(run.build, "b11669");
    EXPECT_EQ(run.more.kv_type_k, "f16");
    EXPECT_EQ(run.more.batch, 2048);
    EXPECT_EQ(run.more.ubatch, 512);
    EXPECT_FALSE(run.more.flash_attention) << "-1 is auto";
    EXPECT_EQ(run.placement.arguments, "");
    EXPECT_EQ(run.machine.chip, "AMD EPYC");
    EXPECT_NEAR(run.lane(Lane::prefill).warm.value.value_or(0), 1717.95703, 0.01);
    EXPECT_NEAR(run.lane(Lane::decode).warm.value.value_or(0), 724.94599, 0.01);
    EXPECT_NEAR(run.lane(Lane::prefill).high.value_or(0), 1717.95703 + 343.888193, 0.01);
  }
}

TEST(BenchReader, Csv) {
  const RunFigures run = only(kCsv[0] + "\n" + kCsv[1] + "\n" + kCsv[2] + "\n");
  expect_common(run);
  EXPECT_EQ(run.model, "Tiny-Q4_K_M.gguf");
  EXPECT_EQ(run.more.kv_type_v, "f16");
}

TEST(BenchReader, MarkdownAsPasted) {
  for (const char* prefix : {"", "> "}) {
    std::string text = kMarkdown;
    for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
      text.insert(at, prefix);
    const RunFigures run = only(text);
    expect_common(run);
    EXPECT_EQ(run.model, "");
    EXPECT_EQ(run.build, "Debian (11669)");
    EXPECT_EQ(run.lane(Lane::decode).warm.value, 566.83);
    EXPECT_NEAR(run.lane(Lane::decode).low.value_or(0), 566.83 - 45.76, 1e-6);
  }
}

TEST(BenchReader, ConfigurationsAreRunsOfTheirOwn) {
  std::string other = kLines[1];
  other.replace(other.find("\"n_threads\": 2"), 14, "\"n_threads\": 1");
  const auto runs = read_bench(kLines[0] + "\n" + kLines[1] + "\n" + other);
  ASSERT_TRUE(runs);
  ASSERT_EQ(runs->size(), 2U);
  EXPECT_EQ((*runs)[1].cpu.threads, 1);
  EXPECT_FALSE((*runs)[1].lane(Lane::prefill).warm.value);
}

TEST(BenchReader, DeepTestsAndMixedOnesAreNoLane) {
  std::string deep = kLines[1];
  deep.replace(deep.find("\"n_depth\": 0"), 12, "\"n_depth\": 9");
  std::string mixed = kLines[1];
  mixed.replace(mixed.find("\"n_prompt\": 0"), 13, "\"n_prompt\": 5");
  EXPECT_FALSE(read_bench(deep + "\n" + mixed));
}

TEST(BenchReader, WhatIsBroken) {
  for (const char* text :
       {"[{\"avg_ts\": \"x\"}]", "{\"avg_ts\": [", "[[[[[\"avg_ts\"", "build_commit,test\n1",
        "| model | test | t/s |\n|---|---|---|\n| a | pp64 |", "{\"avg_ts\":{}}"}) {
    EXPECT_FALSE(read_bench(text)) << text;
  }
}

}  // namespace
}  // namespace picchio::results
