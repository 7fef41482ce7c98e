#include "results/verify.h"

#include "results/block_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

namespace picchio::results {
namespace {

namespace fs = std::filesystem;

std::string read_text(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

Verification verified(const std::string& text) {
  const auto blocks = find_blocks(text);
  EXPECT_EQ(blocks.size(), 1U) << text;
  return blocks.empty() ? Verification{} : verify(blocks[0].figures);
}

std::string told(const Verification& found) {
  std::string out;
  for (const Contradiction& each : found.contradictions)
    out += each.check + ": " + each.text + "\n";
  return out;
}

/// True blocks, by the name of what they show.
std::map<std::string, std::string> true_blocks() {
  std::map<std::string, std::string> out;
  for (const fs::path& folder : {fs::path(PICCHIO_CORPUS_DIR) / "blocks",
                                 fs::path(PICCHIO_SOURCE_DIR) / "examples/blocks"}) {
    if (!fs::exists(folder)) continue;
    for (const auto& entry : fs::directory_iterator(folder)) {
      const std::string text = read_text(entry.path());
      if (find_blocks(text).size() == 1) out[entry.path().stem().string()] = text;
    }
  }
  return out;
}

TEST(Verify, NoTrueBlockIsFlagged) {
  const auto blocks = true_blocks();
  EXPECT_GE(blocks.size(), 10U);
  for (const auto& [name, text] : blocks) {
    const Verification found = verified(text);
    EXPECT_TRUE(found.contradictions.empty()) << name << "\n" << told(found) << text;
    EXPECT_FALSE(found.held.empty()) << name;
  }
}

TEST(Verify, NoCutOfATrueBlockIsFlagged) {
  std::size_t tried = 0;
  for (const auto& [name, text] : true_blocks()) {
    for (std::size_t end = 1; end <= text.size(); ++end) {
      for (const char* behind : {"", "..."}) {
        for (const PastedBlock& block : find_blocks(text.substr(0, end) + behind)) {
          const Verification found = verify(block.figures);
          ASSERT_TRUE(found.contradictions.empty())
              << name << " at " << end << " + " << behind << "\n"
              << told(found);
          ++tried;
        }
      }
    }
  }
  EXPECT_GT(tried, 1000U);
  RecordProperty("cuts", static_cast<int>(tried));
}

TEST(Verify, NoPastedFormOfATrueBlockIsFlaggedWhereverItIsCut) {
  std::size_t tried = 0;
  for (const auto& [name, text] : true_blocks()) {
    for (const char* prefix : {"> ", "+ ", "- ", "[10:22:13] <bob> ", "| ", "12: ", "**"}) {
      std::string pasted;
      for (const char c : prefix + text) {
        pasted += c;
        if (c == '\n') pasted += prefix;
      }
      // A dash for the wave, as editors put it.
      for (std::size_t at = pasted.find('~'); at != std::string::npos; at = pasted.find('~', at)) {
        pasted.replace(at, 1, "\xE2\x80\x93");
      }
      constexpr std::size_t kStep = 17;  // of every byte, as long as one run takes
      for (std::size_t end = tried % kStep; end <= pasted.size(); end += kStep) {
        for (const PastedBlock& block : find_blocks(std::string_view(pasted).substr(0, end))) {
          const Verification found = verify(block.figures);
          ASSERT_TRUE(found.contradictions.empty())
              << name << ", " << prefix << ", at " << end << "\n"
              << told(found);
          ++tried;
        }
      }
    }
  }
  EXPECT_GT(tried, 1000U);
  RecordProperty("cuts", static_cast<int>(tried));
}

struct Lie {
  const char* block;
  const char* from;
  const char* to;
  const char* check;  // that must find it
};

// One lie each: somebody wants a better figure, or two blocks were mixed up.
constexpr Lie kLies[] = {
    {"healthy-metal", "warm mid   588.0 tok/s", "warm mid  5880.0 tok/s", "span"},
    {"healthy-metal", "warm mid   588.0 tok/s     21.1", "warm mid   588.0 tok/s     42.2", "span"},
    {"healthy-metal", "     15.5 tok/s\n  warm span", "     25.5 tok/s\n  warm span", "lane order"},
    {"healthy-metal", "585~591", "591~585", "span"},
    {"healthy-metal", "21.0~21.2", "31.0~31.2", "span"},
    {"healthy-metal", "cold       584.9", "cold      5849.0", "prompt"},
    {"healthy-metal", "584.9 tok/s     21.0", "584.9 tok/s     41.0", "cold pass"},
    {"healthy-metal", "21.0 tok/s     13.1", "21.0 tok/s     18.1", "cold pass"},
    {"healthy-metal", "21.0 tok/s     13.1", "21.0 tok/s      8.1", "cold pass"},
    {"healthy-metal", "pass went (9.7 s", "pass went (1.0 s", "breakdown"},
    {"healthy-metal", "pass went (9.7 s", "pass went (19.7 s", "breakdown"},
    {"healthy-metal", "  decode          6.1 s", "  decode          3.1 s", "breakdown"},
    {"healthy-metal", "   18%", "   48%", "breakdown"},
    {"healthy-metal", "0.52 J/tok", "5.20 J/tok", "energy"},
    {"healthy-metal", "0.52 J/tok", "0.05 J/tok", "energy"},
    {"healthy-metal", "11.0 W", "450 W", "energy"},
    {"healthy-metal", "work 99%", "work 199%", "meters"},
    {"healthy-metal", "mem +6.0 GiB", "mem +0.1 GiB", "memory"},
    {"healthy-metal", "Apple M5, 32 GB", "Apple M5, 4 GB", "memory"},
    {"healthy-metal", "macOS 26.5.1", "Linux 6.14.0", "device"},
    {"healthy-metal", "ENGAGED: 33/33", "ENGAGED: 10/33", "layers"},
    {"healthy-metal", "ENGAGED: 33/33", "ENGAGED: 34/33", "layers"},
    {"healthy-metal", "ENGAGED: 33/33", "NOT ENGAGED: 0/33", "headline"},
    {"healthy-metal", "ENGAGED: 33/33", "PARTIAL: 10/33", "headline"},
    {"healthy-metal", "decode: 21.1 tok/s.", "decode: 61.1 tok/s.", "headline"},
    {"healthy-metal", "8.95 B", "89.5 B", "size"},
    {"healthy-metal", "5.28 GiB", "52.8 GiB", "size"},
    {"healthy-metal", "Q4_K_M", "Q8_0", "size"},
    {"healthy-metal", "HEALTHY. The GPU", "SILENT CPU FALLBACK. The GPU", "headline"},
    {"cpu-fallback", "VERDICT: SILENT CPU FALLBACK.", "VERDICT: HEALTHY.", "headline"},
    {"cpu-fallback", "NOT ENGAGED: 0/33", "ENGAGED: 33/33", "arguments"},
    {"cpu-fallback", "NOT ENGAGED: 0/33", "NOT ENGAGED: 33/33", "layers"},
    {"cpu-fallback", "93 s per 2500", "9 s per 2500", "headline"},
    {"cpu-fallback", "warm mid    26.8 tok/s     12.2", "warm mid     6.8 tok/s     12.2",
     "lane order"},
    {"cpu-fallback", "prefill        33.4 s", "prefill        53.4 s", "breakdown"},
    {"linux-5090-cuda", "CUDA: GeForce RTX 5090", "CUDA: GeForce RTX 4090", "device"},
    {"linux-5090-cuda", "110 W", "410 W", "energy"},
    {"linux-5090-cuda", "226.1~226.8", "226.1~926.8", "bandwidth"},
    {"linux-5090-cuda", "(CUDA: GeForce RTX 5090)", "(Metal: GeForce RTX 5090)", "device"},
    {"linux-5090-cuda", "8.95 B, 5.28 GiB", "69.5 B, 40.28 GiB", "bandwidth"},
    {"ollama-35b", "ENGAGED: 100%", "ENGAGED: 40%", "bytes"},
    {"ollama-35b", "Ollama reports 100%", "Ollama reports 60%", "headline"},
    {"ollama-35b", "29.6~32.7", "9.6~12.7", "span"},
    {"ollama-35b", "load weights   15.3 s", "load weights    1.3 s", "breakdown"},
    {"server-endpoint", "prefill ran 27x", "prefill ran 97x", "headline"},
    {"server-endpoint", "work 99%, mem", "work 9%, mem", "headline"},
    {"server-endpoint", "     17.4 tok/s", "     27.4 tok/s", "lane order"},
    {"healthy-metal", "     15.5 tok/s\n  warm span      585~591      21.0~21.2      15.4~15.5",
     "     19.5 tok/s\n  warm span      585~591      21.0~21.2      19.4~19.5", "lane order"},
    {"cpu-fallback", "      3.0 tok/s\n", "      5.0 tok/s\n", "lane order"},
    {"healthy-metal", "588.0 tok/s     21.1", "588000.0 tok/s     21.1", "compute"},
    {"linux-5090-cuda", "9150.9 tok/s", "915000.9 tok/s", "compute"},
    {"healthy-metal", "Qwen3.5-9B-", "Qwen3.5-70B-", "size"},
    {"healthy-metal", "Qwen3.5-9B-", "Qwen3.5-4B-", "size"},
    {"healthy-metal", "Qwen3.5-9B-", "Mixtral-8x7B-", "size"},
    {"healthy-metal", "Qwen3.5-9B-", "Gemma-E2B-", "size"},
    {"ollama-35b", "qwen3.6:35b-a3b", "qwen3.6:80b-a3b", "size"},
    {"healthy-metal", "Q4_K_M", "Q5_K_M", "size"},
    {"healthy-metal", "Q4_K_M", "Q6_K", "size"},
    {"healthy-metal", "-- picchio v0.1.0 mp1 on Apple M5",
     "-- picchio v0.1.0 mp1 on Apple M2 Ultra", "device"},
    {"healthy-metal", "(Metal: Apple M5)", "(Metal: Apple M5 Max)", "device"},
    {"linux-4090", "CUDA: GeForce RTX 4090", "CUDA: AMD Radeon RX 7900 XTX", "device"},
    {"linux-4090", "CUDA: GeForce RTX 4090", "CUDA: Intel(R) Arc(TM) A770", "device"},
    {"linux-4090", "CUDA: GeForce RTX 4090", "CUDA: Apple M4", "device"},
    {"linux-4090", "CUDA: GeForce RTX 4090", "ROCm: GeForce RTX 4090", "device"},
    {"healthy-metal", "(Metal: Apple M5)", "(Metal: GeForce RTX 4090)", "device"},
    {"linux-5090-cuda", "CUDA: GeForce RTX 5090", "CUDA: GeForce GTX 1060", "bandwidth"},
    {"healthy-metal", "mem +6.0 GiB", "mem +60.0 GiB", "memory"},
    {"linux-5090-cuda", "mem +6.0 GiB", "mem +600 GiB", "memory"},
    {"cpu-only-machine", "decode, 2 threads", "decode, 8 threads", "cpu"},
    {"cpu-only-machine", "2/2 threads", "1/2 threads", "cpu"},
    {"cpu-fallback", "[--device none -ngl 0]", "[--device none]", "headline"},
    {"cpu-fallback", "flag: --device none -ngl 0", "flag: --device none -ngl 4", "headline"},
    {"cpu-fallback", "WHY: forced by flag: --device none", "WHY: forced by the flag -nkvo",
     "headline"},
    {"healthy-metal", "#####.......................", "##############..............", "breakdown"},
    {"healthy-metal", "#################...........", "############################", "breakdown"},
    {"healthy-metal", "VERDICT: HEALTHY.", "**VERDICT: SILENT CPU FALLBACK.**", "headline"},
    {"cpu-fallback", "VERDICT: SILENT CPU FALLBACK.", "\xE2\x9C\x85 __VERDICT: HEALTHY.__",
     "headline"},
    // Of this program's own.
    {"llvmpipe-ngl-4", "NOT ENGAGED: 0/9", "PARTIAL: 7/9", "arguments"},
    {"cpu-only-machine", "NOT ENGAGED: 0/", "NOT ENGAGED: 5/", "layers"},
};

TEST(Verify, EveryLieIsFlagged) {
  const auto blocks = true_blocks();
  std::size_t tried = 0;
  for (const Lie& lie : kLies) {
    const auto found = blocks.find(lie.block);
    if (found == blocks.end()) continue;  // recorded blocks are not in every checkout
    std::string text = found->second;
    const std::size_t at = text.find(lie.from);
    ASSERT_NE(at, std::string::npos) << lie.block << ": " << lie.from;
    text.replace(at, std::string(lie.from).size(), lie.to);
    const Verification after = verified(text);
    EXPECT_NE(std::ranges::find(after.contradictions, lie.check, &Contradiction::check),
              after.contradictions.end())
        << lie.block << ": " << lie.from << " -> " << lie.to << "\n"
        << told(after);
    ++tried;
  }
  if (!fs::exists(fs::path(PICCHIO_CORPUS_DIR))) GTEST_SKIP() << "no recorded blocks: " << tried;
  EXPECT_GE(tried, 30U);
}

TEST(Verify, HonestOddities) {
  for (const char* block :
       {// A CPU of many cores reads prompts 15 times as fast as it writes.
        "model    Qwen3.5-9B-Q4_K_M.gguf, 8.95 B, 5.28 GiB, llama.cpp b9430\n"
        "gpu      NOT ENGAGED: 0/33 layers on GPU\n"
        "ctx 4096         prefill         decode      wallclock\n"
        "  warm mid   302.0 tok/s     20.0 tok/s     14.0 tok/s\n"
        "VERDICT: CPU ONLY MACHINE. x\n-- picchio v0.1.0 mp1 on AMD EPYC 9654, 504 GB, Linux 6\n",
        // Experts on the host: every layer counts as offloaded.
        "model    gpt-oss-120b.gguf, 116.83 B, 59.02 GiB, llama.cpp b9430\n"
        "gpu      PARTIAL: 37/37 layers on GPU (CUDA: GeForce RTX 4090) [-cmoe]\n"
        "bytes    weights 5.0% gpu, kv gpu, 2.9 GiB on CUDA0, 56.1 GiB host\n"
        "ctx 4096         prefill         decode      wallclock\n"
        "  warm mid   302.0 tok/s     30.0 tok/s     20.0 tok/s\n"
        "VERDICT: PARTIAL OFFLOAD. x\n"
        "-- picchio v0.1.0 mp1 on AMD Ryzen + GeForce RTX 4090, 96 GB, Linux 6\n",
        // Drafted tokens come several at a read.
        "model    Llama-3.1-70B-Q4_K_M.gguf, 70.55 B, 39.60 GiB, llama.cpp b9430\n"
        "gpu      ENGAGED: 81/81 layers on GPU (CUDA: GeForce RTX 3090 x2) [-md d.gguf]\n"
        "ctx 4096         prefill         decode      wallclock\n"
        "  warm mid   802.0 tok/s     60.0 tok/s     30.0 tok/s\n"
        "VERDICT: HEALTHY. The GPU did the work.\n"
        "-- picchio v0.1.0 mp1 on AMD Ryzen + GeForce RTX 3090 x2, 96 GB, Linux 6\n",
        // Every label of this model keeps its experts in four bits.
        "model    gpt-oss-20b-Q8_0.gguf, 20.91 B, 11.27 GiB, llama.cpp b9430\n"
        "gpu      ENGAGED: 25/25 layers on GPU (Vulkan: Apple M4 Max)\n"
        "ctx 4096         prefill         decode      wallclock\n"
        "  warm mid  1302.0 tok/s     70.0 tok/s     50.0 tok/s\n"
        "VERDICT: HEALTHY. The GPU did the work.\n"
        "-- picchio v0.1.0 mp1 on Apple M4 Max (virtual), 64 GB, macOS 26.1\n",
        // Names that tell a size otherwise.
        "model    stablelm-2-1_6b-chat-Q4_K_M.gguf, 1.64 B, 0.96 GiB, llama.cpp b9430\n"
        "gpu      ENGAGED: 25/25 layers on GPU (CUDA: AMD Radeon RX 6800 XT [ZLUDA])\n"
        "VERDICT: HEALTHY. The GPU did the work.\n"
        "-- picchio v0.1.0 mp1 on AMD Ryzen + AMD Radeon RX 6800 XT, 64 GB, Linux 6.1\n",
        "model    gemma-3n-E4B-it-Q4_K_M.gguf, 6.87 B, 4.22 GiB, llama.cpp b9430\n"
        "gpu      ENGAGED: 36/36 layers on GPU (CUDA: GeForce GTX 1060)\n"
        "VERDICT: HEALTHY. The GPU did the work.\n",
        "model    Mixtral-8x7B-Instruct-v0.1.Q4_K_M.gguf, 46.70 B, 24.62 GiB, llama.cpp b9430\n"
        "gpu      PARTIAL: 20/33 layers on GPU (ROCm: AMD Radeon RX 7900 XTX) [-ngl=20]\n"
        "VERDICT: PARTIAL OFFLOAD. x\nWHY: forced by the flag --n-gpu-layers 20: leave it out\n"
        "-- picchio v0.1.0 mp1 on AMD Ryzen + AMD Radeon RX 7900 XTX, 64 GB, Linux 6.1\n",
        "model    Llama-4-Scout-17B-16E-Q4_K_M.gguf, 107.77 B, 60.86 GiB, llama.cpp b9430\n"
        "gpu      ENGAGED: 49/49 layers on GPU (Metal: AMD Radeon Pro W6800X Duo)\n"
        "VERDICT: HEALTHY. x\n",
        "model    Qwen2.5-7B-Instruct-1M-UD-Q4_K_XL.gguf, 7.62 B, 4.51 GiB, llama.cpp b9430\n"
        "gpu      ENGAGED: 29/29 layers on GPU (Vulkan: AMD Radeon 8060S)\n"
        "os       gpu idle 0%, work 98%, mem +60.5 GiB, 343 W\n"
        "VERDICT: HEALTHY. x\n"
        "-- picchio v0.1.0 mp1 on AMD Ryzen AI MAX+ 395 + AMD Radeon 8060S, 32 GB, Linux 6.1\n",
        // A small model, most of it a fine embedding.
        "model    gemma-3-270m-Q4_K_M.gguf, 268.10 M, 241.40 MiB, llama.cpp b9430\n"
        "gpu      ENGAGED: 19/19 layers on GPU (CUDA: GeForce RTX 4090)\n"
        "os       gpu idle 0%, work 60%, mem +0.6 GiB, 90.0 W, 0.12 J/tok\n"
        "ctx 4096         prefill         decode      wallclock\n"
        "  warm mid 42000.0 tok/s    700.0 tok/s     90.0 tok/s\n"
        "VERDICT: HEALTHY. The GPU did the work.\n"
        "-- picchio v0.1.0 mp1 on AMD Ryzen + GeForce RTX 4090, 96 GB, Linux 6\n"}) {
    const Verification found = verified(block);
    EXPECT_TRUE(found.contradictions.empty()) << told(found) << block;
  }
}

TEST(Verify, NothingToldNothingClaimed) {
  EXPECT_TRUE(verify(RunFigures{}).contradictions.empty());
}

}  // namespace
}  // namespace picchio::results
