#include "results/vet.h"

#include "results/sample_blocks.h"
#include "results/vet_kinds.h"
#include "results/vet_patterns.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

namespace picchio::results {
namespace {

using enum Condition;
using Conditions = std::set<Condition>;

std::string names_of(const Conditions& conditions) {
  std::string out;
  for (const Condition each : conditions) {
    out += std::string(condition_texts()[static_cast<std::size_t>(each)].key) + ' ';
  }
  return out;
}

Conditions stated_in(const std::string& text) {
  Conditions out;
  const auto vetting = vet(text);
  if (!vetting) return out;
  for (const ConditionText& row : condition_texts()) {
    if (vetting->of(row.condition)) out.insert(row.condition);
  }
  return out;
}

struct Sentence {
  const char* text;
  Conditions stated;
};

/// Each with a figure of its own that states nothing.
void expect_stated(const std::vector<Sentence>& table) {
  for (const Sentence& row : table) {
    EXPECT_EQ(names_of(stated_in(std::string(row.text) + "\n\nI get 45 tok/s.")),
              names_of(row.stated))
        << row.text;
  }
}

TEST(Vet, StatesIt) {
  expect_stated({
      {"I run Qwen3-8B.", {model}},
      {"Running Llama 3.1 8B here.", {model}},
      {"model: gemma-3-27b-it-Q4_K_M.gguf", {model, quant}},
      {"gpt-oss-20b in MXFP4", {model, quant}},
      {"Mixtral 8x7B at 4-bit", {model, quant}},
      {"DeepSeek-R1 671b, IQ2_XXS", {model, quant}},
      {"ollama run qwen3.6:35b-a3b", {model, engine}},
      {"the weights are Q8_0", {quant}},
      {"it is 5.07 bpw", {quant}},
      {"the awq version", {quant}},
      {"llama.cpp b9430", {engine, build}},
      {"Ollama 0.12.3", {engine, build}},
      {"llama-server, build 9430 (d48a56eff)", {engine, build}},
      {"built from commit d48a56eff", {build}},
      {"LM Studio 0.3.31", {engine, build}},
      {"vLLM v0.6.3", {engine, build}},
      {"on my RTX 4090", {hardware}},
      {"2x3090", {hardware}},
      {"a MacBook Pro M3 Max", {hardware}},
      {"Apple M5, 32 GB", {hardware}},
      {"Ryzen 9 7950X with DDR5", {hardware}},
      {"an RX 7900 XTX", {hardware}},
      {"Radeon 8060S in a Strix Halo box", {hardware}},
      {"7900xtx", {hardware}},
      {"i9-13900K", {hardware}},
      {"Raspberry Pi 5", {hardware}},
      {"fully offloaded", {placement}},
      {"-ngl 99", {placement}},
      {"33/33 layers on the GPU", {placement}},
      {"I put 20 layers on the GPU", {placement}},
      {"CPU only", {placement}},
      {"all layers on GPU", {placement}},
      {"it runs on the CPU.", {placement}},
      {"ollama ps says 100% GPU", {engine, placement}},
      {"ollama ps: 48%/52% CPU/GPU", {engine, placement}},
      {"ctx 8192", {context}},
      {"with 32k context", {context}},
      {"a context window of 16,384 tokens", {context}},
      {"-c 4096", {context}},
      {"num_ctx=2048", {context}},
      {"at a depth of 8k", {context}},
      {"a 512-token prompt", {prompt}},
      {"the prompt was 730 tokens", {prompt}},
      {"-b 2048 -ub 512", {batch}},
      {"batch size 512", {batch}},
      {"-ctk q8_0 -ctv q8_0", {kv_type}},
      {"KV cache at q8_0", {kv_type}},
      {"f16 KV cache", {kv_type}},
      {"flash attention on", {flash_attention}},
      {"-fa 1", {flash_attention}},
      {"without flash-attention", {flash_attention}},
      {"I use flash\nattention", {flash_attention}},
      {"8 threads", {threads}},
      {"-t 16", {threads}},
      {"threads: 6", {threads}},
      {"that is decode", {lane}},
      {"prompt processing only", {lane}},
      {"tg128", {lane}},
      {"pp512", {prompt, lane}},
      {"after a cold start", {warmth}},
      {"warm runs", {warmth}},
      {"average of 5 runs", {spread}},
      {"median of three passes", {spread}},
      {"power limit 250 W", {power_limit}},
      {"limited to 280W", {power_limit}},
      {"undervolted GPU", {power_limit}},
      {"Ubuntu 24.04", {system}},
      {"Windows 11", {system}},
      {"NVIDIA driver 550.54", {system}},
      {"CUDA 12.4", {system}},
      {"no draft model", {draft}},
      {"speculative decoding off", {draft}},
      {"temp 0.7, top-p 0.95", {sampling}},
      {"temperature=0", {sampling}},
      {"--top-k 40", {sampling}},
  });
}

TEST(Vet, ItsWordAloneDoesNot) {
  expect_stated({
      {"I sat on the CPU fan", {}},
      {"There are 8 threads on this forum", {}},
      {"I read 3 threads about it", {}},
      {"in the context of the discussion", {}},
      {"version 2 of my post", {}},
      {"a first draft of my post", {}},
      {"the power of open source", {}},
      {"It is cold in my room", {}},
      {"a warm welcome", {}},
      {"my CPU is old", {}},
      {"the GPU fan is loud", {}},
      {"the GPU usage was 99% GPU load", {}},
      {"my quantum physics homework", {}},
      {"in Q4 2025 we sold more", {}},
      {"see the M.2 slot", {}},
      {"I opened the windows of my office", {}},
      {"a batch of 3 GPUs came by mail", {}},
      {"my gpu temp was 65C", {}},
      {"what a model!", {}},
      {"llamas are animals", {}},
      {"I prompt it all day", {}},
      {"it runs and runs", {}},
      {"the seed of an idea", {}},
      {"layers of onion", {}},
      {"the top 5 models", {}},
      {"a fresh start in life", {warmth}},
      {"The card has 24 GB", {}},
      {"I am on page 2 of the context thread", {}},
      {"we drive on Linux Foundation money", {}},
      {"the driver of my car", {}},
      {"builds character", {}},
      {"a 64-bit machine", {}},
      {"I have 128 GB RAM", {}},
      {"The engine of my car", {}},
      {"it decodes base64 strings", {}},
      {"a 4090 dollars bill", {}},
  });
}

TEST(Vet, AskedPlannedForgottenIsNotStated) {
  expect_stated({
      {"What context did you use, 8192?", {}},
      {"Did you try flash attention?", {}},
      {"Is that with -ngl 99?", {}},
      {"I forgot whether flash attention was on", {}},
      {"I don't know if it was Q4_K_M", {}},
      {"I will try Q8_0 tomorrow", {}},
      {"Not sure about the 8 threads", {}},
      {"I want to buy an RTX 5090", {}},
      {"quant: ____", {}},
      {"ctx n/a, KV n/a", {}},
  });
  // A question of one's own states what it is about.
  EXPECT_EQ(names_of(stated_in("Is 45 tok/s with Q4_K_M on a 4090 normal?")),
            names_of({quant, hardware}));
  EXPECT_EQ(names_of(stated_in("45 tok/s, ctx 8192. Is that normal?")), names_of({context}));
}

struct Claimed {
  const char* text;  // with its own figure
  Conditions stated;
};

void expect_claimed(const std::vector<Claimed>& table) {
  for (const Claimed& row : table) {
    EXPECT_EQ(names_of(stated_in(row.text)), names_of(row.stated)) << row.text;
  }
}

TEST(Vet, DeniedIsNotStated) {
  expect_claimed({
      {"I don't have a 4090. 6 tok/s.", {}},
      {"I do not own a 4090. 6 tok/s.", {}},
      {"I can't afford an RTX 5090. 6 tok/s.", {}},
      {"No 4090 here. 6 tok/s.", {}},
      {"I never ran Q8_0. 6 tok/s.", {}},
      {"Not using vLLM. 6 tok/s.", {}},
      {"I don't have a 4090, I have a 3060. 6 tok/s.", {hardware}},
      {"I don't know why, but my 4090 gives 6 tok/s.", {hardware}},
      {"Not bad: 60 tok/s on my 4090.", {hardware}},
      {"I can't run Q8_0 on my 4090. Q4_K_M gives 60 tok/s.", {quant, hardware}},
      {"Unlike vLLM, my setup can't do batching. 15 tok/s", {}},
      {"It is faster than vLLM, 15 tok/s", {}},
      {"Unlike my friend, I use llama.cpp. 15 tok/s", {engine}},
      {"Upgraded from a 3060. 60 tok/s.", {}},
      {"60 tok/s. I don't use flash attention.", {flash_attention}},
      {"60 tok/s. No draft model, no flash attention.", {flash_attention, draft}},
      {"60 tok/s. I did not set a power limit", {power_limit}},
      {"60 tok/s. I did not use Ubuntu.", {}},
      {"60 tok/s. I use Ubuntu.", {system}},
  });
}

TEST(Vet, WishedOrPlannedIsNotStated) {
  expect_claimed({
      {"I get 60 tok/s. I wish I had a 5090.", {}},
      {"60 tok/s. Next week my RTX 5090 arrives.", {}},
      {"60 tok/s. My RTX 5090 is on order.", {}},
      {"60 tok/s. Hopefully Q8_0 soon.", {}},
      {"60 tok/s. I would love to run vLLM.", {}},
      {"60 tok/s. If I had a 5090 I could use Q8_0.", {}},
      {"60 tok/s. Version 2.0 of ollama will fix it", {}},
      {"60 tok/s. Q6_K is next week", {}},
      {"60 tok/s. My RTX 5090 arrived, it is fast.", {hardware}},
      {"I want to share my setup: RTX 4090, Q4_K_M. 60 tok/s.", {quant, hardware}},
      {"I run Q4_K_M on a 4090 and will try vLLM. 60 tok/s.", {quant, hardware}},
      {"60 tok/s. I use version 0.12.3 of ollama", {engine, build}},
  });
}

TEST(Vet, WhatDoesNotFitOrFailsIsNotStated) {
  expect_claimed({
      {"60 tok/s. Q8_0 doesn't fit.", {}},
      {"60 tok/s. Q8_0 and Q6_K don't fit.", {}},
      {"60 tok/s. Q8_0 fits.", {quant}},
      {"60 tok/s. A context of 32k crashes.", {}},
      {"60 tok/s. It crashes at 32k context.", {}},
      {"60 tok/s. With 32k context it runs out of memory.", {}},
      {"60 tok/s. A context of 32k works.", {context}},
      {"60 tok/s. Llama 4 Scout is too big for me so I run a smaller thing.", {}},
      {"60 tok/s. I run Llama 4 Scout.", {model}},
      {"60 tok/s. Ubuntu would not install.", {}},
      {"60 tok/s. Ubuntu is installed.", {system}},
      {"60 tok/s. vLLM refuses to start.", {}},
      {"Q8_0 doesn't fit on my 4090. 60 tok/s.", {hardware}},
      {"I run Q4_K_M at 32k context on a 4090 but it crashes sometimes. 60 tok/s.",
       {quant, hardware, context}},
  });
}

TEST(Vet, WhatOthersSayIsNotStated) {
  expect_claimed({
      {"The guide recommends --threads 16 --ubatch 2048. I get 11 tok/s.", {}},
      {"I use --threads 16 --ubatch 2048. I get 11 tok/s.", {batch, threads}},
      {"Some people set threads to 8 but I left everything as default. 12 t/s", {}},
      {"The docs say set threads to 8 but I left everything as default. 12 t/s", {}},
      {"I could have set threads to 8 but I left everything as default. 12 t/s", {}},
      {"I set threads to 8. 12 t/s", {threads}},
      {"My friend has a 4090. 12 t/s", {}},
      {"Everyone says Q4_K_M is fine. 12 t/s", {}},
      {"Hi everyone, Q4_K_M on a 4090: 12 t/s", {quant, hardware}},
      {"You need a 4090 for this. 12 t/s", {}},
      {"12 t/s. I read that flash attention with q8_0 KV cache should help but I haven't enabled "
       "it",
       {}},
      {"12 t/s. I use flash attention with q8_0 KV cache.", {kv_type, flash_attention}},
      {"12 t/s. Flash attention is what everybody talks about, no clue what it is", {}},
  });
}

TEST(Vet, WithoutAValueItIsNotStated) {
  expect_claimed({
      {"60 tok/s. the power limit of my wallet is reached", {}},
      {"60 tok/s. I changed the power limit of the card", {}},
      {"60 tok/s. power limit", {}},
      {"60 tok/s. power limit 250 W", {power_limit}},
      {"60 tok/s. power limit: stock", {power_limit}},
      {"60 tok/s. no power limit", {power_limit}},
      {"60 tok/s. flash attention", {}},
      {"60 tok/s. with FA", {flash_attention}},
      {"60 tok/s (Q4_K_M, flash attention, -ngl 99)", {quant, placement, flash_attention}},
      {"60 tok/s, -fa", {flash_attention}},
      {"60 tok/s. flash attention is enabled", {flash_attention}},
      {"60 tok/s. Prefill I have not measured", {}},
      {"60 tok/s. I haven't measured prefill", {}},
      {"60 tok/s. Prefill was not measured", {}},
      {"60 tok/s is prefill", {lane}},
      {"60 tok/s with Q4_K_M on a 4090, I have not tested anything else.", {quant, hardware}},
      {"60 tok/s. f16 cache", {kv_type}},
      {"60 tok/s. cache type is q8_0", {kv_type}},
      {"60 tok/s. f16 weights", {quant}},
  });
}

TEST(Vet, APropertyOfTheThingIsNotOfTheRun) {
  expect_claimed({
      {"The CPU has 8 cores and 16 threads. 60 tok/s.", {}},
      {"8 cores / 16 threads. 60 tok/s.", {}},
      {"I run it with 16 threads. 60 tok/s.", {threads}},
      {"32 layers on paper. 60 tok/s.", {}},
      {"The model has 32 layers. My GPU is old. 60 tok/s.", {}},
      {"32 layers on the GPU. 60 tok/s.", {placement}},
      {"It supports a 128k context. 60 tok/s.", {}},
      {"It was trained with a context length of 131072. 60 tok/s.", {}},
      {"I run it with a context length of 131072. 60 tok/s.", {context}},
      {"The card supports fp8 natively. 60 tok/s.", {}},
      {"I run fp8. 60 tok/s.", {quant}},
      {"GPT-4 runs at 60 tok/s.", {}},
      {"Qwen 3 runs at 60 tok/s.", {}},
      {"60 tok/s, 3 runs.", {spread}},
      {"The GPU only gives 60 tok/s.", {}},
      {"GPU only, 60 tok/s.", {placement}},
      {"Two passes of the editor fixed my typos. Now: 60 tok/s.", {}},
      {"60 tok/s over two passes.", {spread}},
      {"High performance mode of my NAS is on. 60 tok/s.", {}},
      {"High performance mode. 60 tok/s.", {power_limit}},
      {"nvidia-smi shows 100 % GPU. 60 tok/s.", {}},
      {"ollama ps shows 100 % GPU. 60 tok/s.", {engine, placement}},
  });
}

TEST(Vet, WhatIsTrueStaysStated) {
  expect_claimed({
      {"I'm getting 45 tok/s on my RTX 4090 with Q4_K_M, which is too slow.", {quant, hardware}},
      {"My 4090 doesn't get hot, Q4_K_M at 45 tok/s.", {quant, hardware}},
      {"Hope this helps someone: Q4_K_M, a 4090, 32k context, 45 tok/s",
       {quant, hardware, context}},
      {"I'd say 45 tok/s is fine for a 4090 with Q4_K_M.", {quant, hardware}},
      {"I would like to report 45 tok/s on a 4090 with Q4_K_M.", {quant, hardware}},
      {"I should mention that I use a 4090. 45 tok/s", {hardware}},
      {"For those wondering, my 4090 runs Qwen3-8B at 45 tok/s", {model, hardware}},
      {"Not everything fits so I put 20 layers on the GPU. 45 tok/s", {placement}},
      {"I set context to 8192 because 16384 crashes. 45 tok/s", {context}},
      {"I was waiting for months, but now I have a 5090: 45 tok/s", {hardware}},
      {"With 8 threads I get 45 tok/s, more does not help.", {threads}},
      {"Just bought a 5090 and got 45 tok/s!", {hardware}},
  });
}

TEST(Vet, QuotesACardWhole) {
  const std::vector<std::pair<std::string, std::string>> table = {
      {"45 tok/s on an RTX 4070 Ti SUPER.", "RTX 4070 Ti SUPER"},
      {"45 tok/s on a 7900 XTX.", "a 7900 XTX"},
      {"45 tok/s: 7900 XTX", "7900 XTX"},
      {"45 tok/s: RX 7900 XTX", "RX 7900 XTX"},
      {"45 tok/s: two 3080 Ti", "two 3080 Ti"},
      {"45 tok/s: RTX 4090, nice", "RTX 4090"}};
  for (const auto& [text, words] : table) {
    const auto vetting = vet(text);
    ASSERT_TRUE(vetting && vetting->of(hardware)) << text;
    EXPECT_EQ(vetting->of(hardware)->words, words) << text;
  }
}

struct Figure {
  const char* text;
  std::size_t count;
};

TEST(Vet, Figures) {
  for (const Figure& row : {Figure{"45 tok/s", 1},
                            Figure{"45 t/s", 1},
                            Figure{"45.2 tokens per second", 1},
                            Figure{"45tps", 1},
                            Figure{"45t/s", 1},
                            Figure{"45 tokens/sec", 1},
                            Figure{"45 T/s", 1},
                            Figure{"~45 toks/s", 1},
                            Figure{"6,824 tok/s", 1},
                            Figure{"45,2 tok/s", 1},
                            Figure{"45-50 tok/s", 1},
                            Figure{"45 \xC2\xB1 2 tok/s", 1},
                            Figure{"tok/s: 45", 1},
                            Figure{"TPS = 45.1", 1},
                            Figure{"45ish t/s", 1},
                            Figure{"pp 588 t/s and tg 21 t/s", 2},
                            Figure{"45 tokens a second", 1},
                            Figure{"eval rate:            45.20 tokens/s", 1},
                            Figure{"<p>45&nbsp;tok/s</p>", 1},
                            Figure{"it is fast", 0},
                            Figure{"45 tokens", 0},
                            Figure{"what tok/s do you get?", 0},
                            Figure{"45 GB/s", 0},
                            Figure{"2700 tokens per minute", 1},
                            Figure{"2700 tok/min", 1},
                            Figure{"45 tok\xE2\x81\x84s", 1},
                            Figure{"45 tok&frasl;s", 1},
                            Figure{"22 ms/token", 1},
                            Figure{"22.5 ms per token", 1},
                            Figure{"3 seconds per token", 1},
                            Figure{"2700 tpm", 1},
                            Figure{"a board with TPM 2.0", 0},
                            Figure{"22 ms", 0},
                            Figure{"45 frames per second", 0},
                            Figure{"", 0}}) {
    const auto vetting = vet(row.text);
    EXPECT_EQ(vetting ? vetting->figures.size() : 0, row.count) << row.text;
    if (row.count > 0) continue;
    ASSERT_FALSE(vetting);
    EXPECT_EQ(vetting.error().kind, ErrorKind::not_found);
  }
}

TEST(Vet, ARangeOfFiguresIsASpread) {
  EXPECT_EQ(names_of(stated_in("45-50 tok/s")), names_of({spread}));
  EXPECT_EQ(names_of(stated_in("45 \xC2\xB1 2 tok/s")), names_of({spread}));
  EXPECT_EQ(names_of(stated_in("45 tok/s")), names_of({}));
}

TEST(Vet, ATableOfLlamaBench) {
  const auto vetting =
      vet("| model | size | params | backend | ngl | n_ubatch | type_k | fa | test | t/s |\n"
          "| --- | ---: | ---: | --- | --: | ---: | ---: | -: | --- | ---: |\n"
          "| qwen3 8B Q4_K_M | 4.68 GiB | 8.19 B | CUDA | 99 | 1024 | q8_0 | 1 | pp512 | 4821.11 "
          "\xC2\xB1 "
          "12.3 |\n"
          "| qwen3 8B Q4_K_M | 4.68 GiB | 8.19 B | CUDA | 99 | 1024 | q8_0 | 1 | tg128 | 131.02 "
          "\xC2\xB1 "
          "0.3 |\n\nbuild: d48a56eff (9430)\n");
  ASSERT_TRUE(vetting) << vetting.error().message;
  EXPECT_EQ(vetting->figures.size(), 2U);
  for (const Condition each :
       {model, quant, placement, batch, kv_type, flash_attention, prompt, lane, spread, build}) {
    EXPECT_TRUE(vetting->of(each)) << names_of({each});
  }
  for (const Condition each : {hardware, threads, context, sampling}) {
    EXPECT_FALSE(vetting->of(each)) << names_of({each}) << vetting->of(each)->words;
  }
}

TEST(Vet, WholePosts) {
  EXPECT_EQ(
      names_of(stated_in(
          "Hey all, just got my new rig together. Running Qwen3-30B-A3B Q5_K_XL on dual 3090s "
          "(power limited to 250w each)\nwith llama.cpp (b6123) and getting around 120 t/s gen and "
          "~1800 t/s pp. Using -c 32768 -fa -ctk q8_0 -ctv q8_0 -ngl 99.\nIs it normal? What "
          "threads are you using, 8 threads? I tried speculative decoding but no gain.\nPrompt is "
          "about 6k tokens. Ubuntu 22.04, driver 570.")),
      names_of({model, quant, engine, build, hardware, placement, context, prompt, kv_type,
                flash_attention, lane, power_limit, system, draft}));
  EXPECT_EQ(names_of(stated_in(
                "Gemma 3 12B on M2 Max is slow???\nI'm getting only 12 tokens/s with LM Studio. My "
                "friend gets more. The laptop's fan is going crazy. I set context to 8k.\nAnyone "
                "with the same batch of machines? Thread about this last week had 20 replies. Will "
                "try MLX and Q8_0 next.")),
            names_of({model, engine, hardware, context}));
  EXPECT_EQ(names_of(stated_in("- CPU: Ryzen 7 5800X, 64GB DDR4-3600\n- GPU: none\n"
                               "- Model: mistral-7b-instruct-v0.2.Q4_0.gguf\n- Threads: 8\n"
                               "- Context: 4096\n- Result: 7.3 tok/s eval, 22 tok/s prompt eval\n"
                               "Averaged over 3 runs, first run discarded.")),
            names_of({model, quant, hardware, context, threads, lane, warmth, spread}));
  EXPECT_EQ(names_of(stated_in(
                "I wrote the draft of this post in the train. I sat on the CPU fan yesterday, and "
                "the power went out. In context: 8 of my friends read version 3.1 of it. It's 45 "
                "tok/s fast, whatever that means, with two threads hanging from my coat and a "
                "batch of cookies. The model on the runway wore a warm coat, a cold look. Windows "
                "open.")),
            "");
  EXPECT_EQ(names_of(stated_in(
                "eval time =    9000.00 ms /   127 runs   (   70.87 ms per token,    14.11 tokens "
                "per second)\nmain: build = 3091 (d48a56eff)\n")),
            names_of({build, lane}));
}

TEST(Vet, QuotesWholeNames) {
  const auto vetting = vet("45 tok/s with mistral-7b-instruct-v0.2.Q4_0.gguf.");
  ASSERT_TRUE(vetting && vetting->of(model));
  EXPECT_EQ(vetting->of(model)->words, "mistral-7b-instruct-v0.2.Q4_0.gguf");
}

TEST(Vet, ABlockCountsByItsFields) {
  const auto vetting = vet(kGpuBlock);
  ASSERT_TRUE(vetting);
  EXPECT_EQ(vetting->blocks, 1U);
  EXPECT_EQ(names_of(stated_in(kGpuBlock)),
            names_of({model, quant, engine, build, hardware, placement, context, prompt, threads,
                      lane, warmth, spread, system, sampling}));
  const auto other = vet(kOnePassBlock);
  ASSERT_TRUE(other);
  EXPECT_FALSE(other->of(quant));
  EXPECT_FALSE(other->of(placement)) << "NO EVIDENCE states nothing";
  EXPECT_FALSE(other->of(context));
}

TEST(Vet, WordsRoundABlockCountToo) {
  const auto stated = stated_in("Power limit 280 W, KV cache q8_0.\n\n" + std::string(kGpuBlock) +
                                "\nDriver 570.86\n");
  EXPECT_TRUE(stated.contains(power_limit));
  EXPECT_TRUE(stated.contains(kv_type));
}

TEST(Vet, AShareLineStatesWhatItHas) {
  EXPECT_EQ(
      names_of(stated_in("Tiny-8B-Q4_K_M.gguf | Q4_K_M | 4.90 bpw | sha256 9d14965c2799 | "
                         "llama.cpp b9430 | AMD Ryzen 9 + GeForce RTX 4090, 64 GB | ctx 4096 "
                         "| KV f16/f16 | temp 0.8, top-k 40, top-p 0.95, min-p 0.05, seed 7 "
                         "| pp 4900.0 | tg 132.1 tok/s | HEALTHY | picchio mp1")),
      names_of({model, quant, engine, build, hardware, context, prompt, kv_type, lane, sampling}));
}

TEST(Vet, ALogOfFiguresIsCounted) {
  std::string text;
  for (std::size_t i = 0; i < kMostFigures + 5; ++i) text += "45 tok/s ";
  const auto vetting = vet(text);
  ASSERT_TRUE(vetting);
  EXPECT_EQ(vetting->figures.size(), kMostFigures);
  EXPECT_EQ(vetting->figure_count, kMostFigures + 5);
}

// bench/vet_bench measures them; a figure stays found in whatever stands around it.
TEST(Vet, LongTextsOfOneKind) {
  constexpr std::size_t kBytes = std::size_t{32} << 10U;
  const std::string long_cell(2000, 'h');
  for (const std::string& piece :
       {std::string("45 tok/s "), std::string("&amp;"), std::string("--|--\n"), std::string("1x1"),
        std::string("draft tokens "), std::string("45:tps:"), long_cell + "|b\n--|--\nc|d\n"}) {
    std::string text = "45 tok/s\n";
    while (text.size() < kBytes) text += piece;
    const auto vetting = vet(text);
    ASSERT_TRUE(vetting) << piece.substr(0, 20);
    EXPECT_GE(vetting->figure_count, 1U) << piece.substr(0, 20);
  }
}

TEST(Vet, TextAndJsonTellBoth) {
  const auto vetting = vet("Qwen3-8B Q4_K_M: 45 tok/s \x1b[31m on an RTX 4090\n");
  ASSERT_TRUE(vetting);
  const std::string text = vetting_text(*vetting);
  EXPECT_NE(text.find("1 tok/s figure, 3 of 19 conditions stated"), std::string::npos) << text;
  EXPECT_NE(text.find("flash attention: ____ (on or off)\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("quant: ____"), std::string::npos) << text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  const auto json = nlohmann::json::parse(vetting_json(*vetting));
  EXPECT_EQ(json["schema"], "picchio.vet.v1");
  EXPECT_EQ(json["stated"], 3);
  EXPECT_EQ(json["conditions"].size(), kConditions);
  EXPECT_EQ(json["conditions"][1]["words"], "Q4_K_M");
  EXPECT_EQ(json["conditions"][1]["line"], 1);
  EXPECT_TRUE(json["conditions"][3]["words"].is_null());
  EXPECT_EQ(json["figures"][0]["words"], "45 tok/s");
}

TEST(Vet, TheTemplateItselfStatesNothing) {
  const auto vetting = vet("45 tok/s");
  ASSERT_TRUE(vetting);
  EXPECT_EQ(vetting->stated_count(), 0U);
}

TEST(Vet, ThePatternsNameKindsThatExist) {
  std::vector<Pattern> all(patterns().begin(), patterns().end());
  all.insert(all.end(), decoys().begin(), decoys().end());
  for (const Pattern& pattern : all) {
    for (const std::string_view list :
         {pattern.elements, pattern.near, pattern.not_next, pattern.not_before}) {
      std::string word;
      for (const char c : std::string(list) + ' ') {
        if (c != ' ' && c != '|' && c != '?') {
          word += c;
          continue;
        }
        const bool kind =
            word.starts_with('<') && word != "<clauseend>" && word != "<begin>" && word != "<end>";
        EXPECT_TRUE(!kind || kind_bit(word) != 0) << word << " in " << pattern.elements;
        word.clear();
      }
    }
  }
}

TEST(Vet, ConditionsAreInTheirOrder) {
  for (std::size_t i = 0; i < kConditions; ++i) {
    EXPECT_EQ(static_cast<std::size_t>(condition_texts()[i].condition), i);
  }
}

TEST(Vet, RecordedBlocksAreVetted) {
  const std::filesystem::path folder = std::filesystem::path(PICCHIO_CORPUS_DIR) / "blocks";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no recorded blocks at " << folder;
  for (const char* name : {"healthy-metal.txt", "linux-4090.txt", "linux-5090-cuda.txt"}) {
    std::ifstream in(folder / name);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const auto vetting = vet(text);
    ASSERT_TRUE(vetting) << name;
    EXPECT_GE(vetting->stated_count(), 12U) << name;
    EXPECT_FALSE(vetting->of(flash_attention)) << name;
  }
}

}  // namespace
}  // namespace picchio::results
