// The worst bug there is: a run that was not on the GPU, called HEALTHY. One log of a full offload,
// and what each single change that takes work off the card has to make of it. The last changes show
// what does no harm, so that no rule here can pass by calling nothing healthy.
#include "base/text.h"
#include "engines/log_reader.h"
#include "verdict/account.h"
#include "verdict/judge.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace picchio {
namespace {

// An 8B model of 32 layers at Q4_K_M on a card of 24 GiB.
constexpr std::string_view kFull =
    R"(ggml_cuda_init: found 1 CUDA devices (Total VRAM: 24081 MiB):
  Device 0: NVIDIA GeForce RTX 4090, compute capability 8.9, VMM: yes, VRAM: 24081 MiB
llama_model_load_from_file_impl: using device CUDA0 (NVIDIA GeForce RTX 4090) (0000:01:00.0) - 23500 MiB free
print_info: file size   = 4.58 GiB (4.89 BPW)
print_info: n_embd           = 4096
print_info: n_layer          = 32
print_info: model params     = 8.03 B
print_info: n_vocab          = 128256
load_tensors: loading model tensors, this can take a while... (mmap = true)
load_tensors: offloading 32 repeating layers to GPU
load_tensors: offloaded 33/33 layers to GPU
load_tensors:   CPU_Mapped model buffer size =   281.81 MiB
load_tensors:        CUDA0 model buffer size =  4403.49 MiB
llama_context: n_ctx         = 4096
llama_kv_cache:      CUDA0 KV buffer size =   512.00 MiB
llama_context:      CUDA0 compute buffer size =   258.50 MiB
llama_context:  CUDA_Host compute buffer size =    16.01 MiB
llama_context: graph nodes  = 1030
llama_context: graph splits = 2
llama_perf_context_print: prompt eval time =     130.10 ms /   750 tokens (    0.17 ms per token,  5764.80 tokens per second)
llama_perf_context_print:        eval time =    1010.20 ms /   127 runs   (    7.95 ms per token,   125.72 tokens per second)
)";

// Takes every line that holds `what` away and puts `instead` (any number of lines, none included)
// in the place of the first.
struct Edit {
  std::string_view what;
  std::string_view instead;
};

std::string edited(const std::vector<Edit>& edits) {
  std::string out(kFull);
  for (const Edit& edit : edits) {
    std::string next;
    bool placed = false;
    for (std::size_t at = 0; at < out.size();) {
      const std::size_t end = out.find('\n', at);
      const std::string line = out.substr(at, end - at + 1);
      at = end + 1;
      if (!line.contains(edit.what)) {
        next += line;
      } else if (!placed) {
        placed = true;
        if (!edit.instead.empty()) next += std::string(edit.instead) + "\n";
      }
    }
    EXPECT_TRUE(placed) << "no line holds " << edit.what;
    out = next;
  }
  return out;
}

struct Change {
  const char* name;
  std::vector<Edit> edits;
  State state;
  bool by_one_line = false;  // no other line of this log bears on it
};

const std::vector<Change>& changes() {
  static const std::vector<Change> all = {
      // Not on any device.
      {"no layer offloaded",
       {{"offloaded", "load_tensors: offloaded 0/33 layers to GPU"},
        {"CPU_Mapped", "load_tensors:   CPU_Mapped model buffer size =  4685.30 MiB"},
        {"CUDA0 model", ""},
        {"CUDA0 KV", "llama_kv_cache:        CPU KV buffer size =   512.00 MiB"},
        {"splits", "llama_context: graph splits = 1"}},
       State::silent_cpu_fallback},
      {"all weights in pinned memory under a full claim",
       {{"CPU_Mapped", ""},
        {"CUDA0 model", "load_tensors:    CUDA_Host model buffer size =  4685.30 MiB"}},
       State::silent_cpu_fallback},
      // A device that is none.
      {"llvmpipe",
       {{"Device 0",
         "ggml_vulkan: 0 = llvmpipe (LLVM 15.0.6, 256 bits) (llvmpipe) | uma: 0 | "
         "fp16: 1 | warp size: 8"},
        {"using device",
         "llama_model_load_from_file_impl: using device Vulkan0 (llvmpipe (LLVM 15.0.6, 256 "
         "bits)) (unknown id) - 23500 MiB free"},
        {"CUDA0 model", "load_tensors:      Vulkan0 model buffer size =  4403.49 MiB"},
        {"CUDA0 KV", "llama_kv_cache:    Vulkan0 KV buffer size =   512.00 MiB"}},
       State::silent_cpu_fallback},
      {"SwiftShader",
       {{"Device 0", "ggml_vulkan: 0 = SwiftShader Device (Subzero) (SwiftShader driver) | uma: 0"},
        {"using device",
         "llama_model_load_from_file_impl: using device Vulkan0 (SwiftShader Device (Subzero)) "
         "(unknown id) - 23500 MiB free"},
        {"CUDA0 model", "load_tensors:      Vulkan0 model buffer size =  4403.49 MiB"},
        {"CUDA0 KV", "llama_kv_cache:    Vulkan0 KV buffer size =   512.00 MiB"}},
       State::silent_cpu_fallback},
      {"a Vulkan device without a name",
       {{"Device 0", ""},
        {"cuda_init", ""},
        {"using device", ""},
        {"CUDA0 model", "load_tensors:      Vulkan0 model buffer size =  4403.49 MiB"},
        {"CUDA0 KV", "llama_kv_cache:    Vulkan0 KV buffer size =   512.00 MiB"},
        {"CUDA0 compute", ""}},
       State::no_placement_evidence},
      {"a remote worker",
       {{"using device",
         "llama_model_load_from_file_impl: using device RPC0 (192.0.2.7:50052) (unknown id) - "
         "23500 MiB free"},
        {"CUDA0 model", "load_tensors: RPC0[192.0.2.7:50052] model buffer size =  4403.49 MiB"},
        {"CUDA0 KV", "llama_kv_cache: RPC0[192.0.2.7:50052] KV buffer size =   512.00 MiB"}},
       State::no_placement_evidence},
      // Part of it.
      {"half of the layers",
       {{"offloaded", "load_tensors: offloaded 16/33 layers to GPU"},
        {"CPU_Mapped", "load_tensors:   CPU_Mapped model buffer size =  2485.30 MiB"},
        {"CUDA0 model", "load_tensors:        CUDA0 model buffer size =  2200.00 MiB"}},
       State::partial_offload},
      {"all layers but the output layer",
       {{"offloaded", "load_tensors: offloaded 32/33 layers to GPU"},
        {"CPU_Mapped", "load_tensors:   CPU_Mapped model buffer size =   692.81 MiB"},
        {"CUDA0 model", "load_tensors:        CUDA0 model buffer size =  3992.49 MiB"},
        {"splits", "llama_context: graph splits = 3"}},
       State::partial_offload},
      {"experts in pinned memory under a full claim",
       {{"CUDA0 model",
         "load_tensors:    CUDA_Host model buffer size =  1900.00 MiB\n"
         "load_tensors:        CUDA0 model buffer size =  2503.49 MiB"},
        {"splits", "llama_context: graph splits = 66"}},
       State::partial_offload},
      {"experts in pinned memory, splits not printed",
       {{"CUDA0 model",
         "load_tensors:    CUDA_Host model buffer size =  1900.00 MiB\n"
         "load_tensors:        CUDA0 model buffer size =  2503.49 MiB"},
        {"splits", ""}},
       State::partial_offload,
       true},
      {"one tensor overridden to the host",
       {{"offloaded",
         "tensor blk.3.ffn_up.weight (32 MiB q4_K) buffer type overridden to CPU\n"
         "load_tensors: offloaded 33/33 layers to GPU"}},
       State::partial_offload,
       true},
      {"the cache in host memory",
       {{"CUDA0 KV", "llama_kv_cache:        CPU KV buffer size =   512.00 MiB"}},
       State::partial_offload,
       true},
      {"the cache in pinned memory",
       {{"CUDA0 KV", "llama_kv_cache:  CUDA_Host KV buffer size =   512.00 MiB"}},
       State::partial_offload,
       true},
      {"half of the cache in host memory",
       {{"CUDA0 KV",
         "llama_kv_cache:        CPU KV buffer size =   256.00 MiB\n"
         "llama_kv_cache:      CUDA0 KV buffer size =   256.00 MiB"}},
       State::partial_offload,
       true},
      {"work that bounces though the bytes are there",
       {{"splits", "llama_context: graph splits = 66"}},
       State::partial_offload,
       true},
      {"work that bounces at each decoded token",
       {{"splits", "llama_context: graph splits = 2 (with bs=512), 66 (with bs=1)"}},
       State::partial_offload,
       true},
      // Lines missing.
      {"the claim alone",
       {{"CPU_Mapped", ""}, {"CUDA0 model", ""}, {"CUDA0 KV", ""}, {"CUDA0 compute", ""}},
       State::no_placement_evidence},
      {"a tenth in pinned memory whose line was left out",
       {{"CUDA0 model", "load_tensors:        CUDA0 model buffer size =  3903.49 MiB"}},
       State::no_placement_evidence,
       true},
      {"no line about host memory",
       {{"CPU_Mapped", ""}, {"file size", ""}},
       State::no_placement_evidence},
      {"an eighth on the host, and neither claim nor cache nor schedule printed",
       {{"offloaded", ""},
        {"CPU_Mapped", "load_tensors:   CPU_Mapped model buffer size =   600.00 MiB"},
        {"CUDA0 model", "load_tensors:        CUDA0 model buffer size =  4085.30 MiB"},
        {"CUDA0 KV", ""},
        {"splits", ""}},
       State::partial_offload},
      // The first layers and the embedding on the host are one split, the rest the second.
      {"an eighth on the host in one split, and neither claim nor cache printed",
       {{"offloaded", ""},
        {"CPU_Mapped", "load_tensors:   CPU_Mapped model buffer size =   600.00 MiB"},
        {"CUDA0 model", "load_tensors:        CUDA0 model buffer size =  4085.30 MiB"},
        {"CUDA0 KV", ""}},
       State::partial_offload},
      {"cut before the cache",
       {{"KV buffer", ""},
        {"compute buffer", ""},
        {"graph nodes", ""},
        {"graph splits", ""},
        {"perf_context", ""}},
       State::no_placement_evidence},
      // More than one load.
      {"a draft on the card after a main model on the CPU",
       {{"offloaded", "load_tensors: offloaded 0/33 layers to GPU"},
        {"CPU_Mapped", "load_tensors:   CPU_Mapped model buffer size =  4685.30 MiB"},
        {"CUDA0 model", ""},
        {"CUDA0 KV", "llama_kv_cache:        CPU KV buffer size =   512.00 MiB"},
        {"splits",
         "llama_context: graph splits = 1\n"
         "srv    load_model: loading draft model '/m/draft.gguf'\n"
         "llama_model_load_from_file_impl: using device CUDA0 (NVIDIA GeForce RTX 4090) "
         "(0000:01:00.0) - 23500 MiB free\n"
         "load_tensors: offloaded 25/25 layers to GPU\n"
         "load_tensors:   CPU_Mapped model buffer size =   137.94 MiB\n"
         "load_tensors:        CUDA0 model buffer size =   373.73 MiB\n"
         "llama_kv_cache:      CUDA0 KV buffer size =    48.00 MiB\n"
         "llama_context: graph splits = 2"}},
       State::silent_cpu_fallback,
       true},
      {"a second try on the CPU after the first ran out of memory",
       {{"CUDA0 model",
         "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 4403.49 MiB on device 0: "
         "cudaMalloc failed: out of memory\n"
         "llama_model_load: error loading model: unable to allocate CUDA0 buffer\n"
         "print_info: file size   = 4.58 GiB (4.89 BPW)\n"
         "load_tensors: offloaded 0/33 layers to GPU\n"
         "load_tensors:   CPU_Mapped model buffer size =  4685.30 MiB"},
        {"CUDA0 KV", "llama_kv_cache:        CPU KV buffer size =   512.00 MiB"},
        {"splits", "llama_context: graph splits = 1"}},
       State::silent_cpu_fallback},
      // And what takes nothing off the card.
      {"nothing changed", {{"nodes", ""}}, State::healthy},
      {"two splits of each batch size",
       {{"splits", "llama_context: graph splits = 2 (with bs=512), 2 (with bs=1)"}},
       State::healthy},
      {"splits not printed", {{"splits", ""}}, State::healthy},
      {"claim not printed", {{"offload", ""}}, State::healthy},
      {"a discrete card under Vulkan",
       {{"Device 0",
         "ggml_vulkan: 0 = AMD Radeon RX 7900 XTX (RADV NAVI31) (radv) | uma: 0 | "
         "fp16: 1 | warp size: 64"},
        {"cuda_init", ""},
        {"using device",
         "llama_model_load_from_file_impl: using device Vulkan0 (AMD Radeon RX 7900 XTX (RADV "
         "NAVI31)) (0000:03:00.0) - 23500 MiB free"},
        {"CUDA0 model", "load_tensors:      Vulkan0 model buffer size =  4403.49 MiB"},
        {"CUDA0 KV", "llama_kv_cache:    Vulkan0 KV buffer size =   512.00 MiB"}},
       State::healthy},
  };
  return all;
}

Verdict verdict_on(std::string_view text) {
  const EngineLog log = read_engine_log(text);
  return judge_log(log, placement_of(log, nullptr));
}

TEST(FalseHealthy, EachSingleChangeOfAHealthyLogIsJudgedByWhatItTakesOffTheCard) {
  for (const Change& change : changes()) {
    const Verdict verdict = verdict_on(edited(change.edits));
    EXPECT_EQ(name_of(verdict.state), name_of(change.state))
        << change.name << ": " << verdict.sentence << " (rule " << verdict.rule << ")";
  }
}

// A pasted log is often an excerpt. Whatever two lines somebody leaves out of a log whose bytes are
// not on the card, what is left may prove nothing, but it must not prove a full offload.
TEST(FalseHealthy, NoTwoLinesLeftOutMakeAnUnhealthyLogHealthy) {
  for (const Change& change : changes()) {
    if (change.state == State::healthy || change.by_one_line) continue;
    std::vector<std::string> lines;
    const std::string text = edited(change.edits);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      lines.push_back(text.substr(at, end - at + 1));
      at = end + 1;
    }
    for (std::size_t first = 0; first < lines.size(); ++first) {
      for (std::size_t second = first; second < lines.size(); ++second) {
        std::string rest;
        for (std::size_t i = 0; i < lines.size(); ++i) {
          if (i != first && i != second) rest += lines[i];
        }
        const Verdict verdict = verdict_on(rest);
        EXPECT_NE(verdict.state, State::healthy)
            << change.name << " without\n  " << lines[first] << "  " << lines[second];
      }
    }
  }
}

}  // namespace
}  // namespace picchio
