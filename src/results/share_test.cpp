#include "results/share.h"

#include "base/text.h"
#include "results/block_reader.h"
#include "results/sample_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace picchio::results {
namespace {

SharedRun run_of(const std::string& text) {
  const std::vector<PastedBlock> blocks = find_blocks(text);
  EXPECT_EQ(blocks.size(), 1U);
  SharedRun out;
  if (blocks.empty()) return out;
  out.figures = blocks.front().figures;
  out.block = blocks.front().lines;
  return out;
}

SharedFile file_of_gpu_block() {
  SharedFile out;
  out.name = "Tiny-8B-Q4_K_M.gguf";
  out.quant = "Q4_K_M";
  out.sha256 = "9d14965c2799aa00bb11cc22dd33ee44ff5500112233445566778899aabbccdd";
  out.tensor_bytes = 4'917'000'000;
  out.file_bytes = 4'920'000'000;
  out.parameters = 8'030'000'000;
  out.bits_per_weight = 4.8987;
  return out;
}

TEST(Share, Line) {
  SharedRun run = run_of(kGpuBlock);
  EXPECT_EQ(share_line(run),
            "Tiny-8B-Q4_K_M.gguf | Q4_K_M | bpw n/a | sha256 n/a | llama.cpp b9430 | AMD Ryzen 9 + "
            "GeForce RTX 4090, 64 GB | ctx 4096 | KV n/a | temp 0.8, top-k 40, top-p 0.95, min-p "
            "0.05, seed 7 | pp 4900.0 | tg 132.1 tok/s | HEALTHY | picchio mp1\n");
  run.file = file_of_gpu_block();
  run.figures.more.kv_type_k = "f16";
  run.figures.more.kv_type_v = "q8_0";
  EXPECT_EQ(
      share_line(run),
      "Tiny-8B-Q4_K_M.gguf | Q4_K_M | 4.90 bpw | sha256 9d14965c2799 | llama.cpp b9430 | AMD "
      "Ryzen 9 + GeForce RTX 4090, 64 GB | ctx 4096 | KV f16/q8_0 | temp 0.8, top-k 40, "
      "top-p 0.95, min-p 0.05, seed 7 | pp 4900.0 | tg 132.1 tok/s | HEALTHY | picchio mp1\n");
}

TEST(Share, WhatIsNotKnownIsSaid) {
  EXPECT_EQ(share_line(run_of(kOnePassBlock)),
            "qwen3:8b | quant n/a | bpw n/a | sha256 n/a | ollama 0.12.3 | Intel N100, RAM n/a | "
            "ctx n/a | KV n/a | settings n/a | pp abstain | tg 21.0 (cold) tok/s | NO PLACEMENT "
            "EVIDENCE | picchio mp1\n");
  EXPECT_EQ(share_line({}),
            "n/a | quant n/a | bpw n/a | sha256 n/a | n/a build n/a | n/a, RAM n/a | ctx n/a | KV "
            "n/a | settings n/a | pp n/a | tg n/a tok/s | verdict n/a | picchio protocol n/a\n");
}

TEST(Share, EveryLineAndRowHasItsPartsWhateverTheNames) {
  const auto count = [](std::string_view text, std::string_view what) {
    std::size_t out = 0;
    for (std::size_t at = text.find(what); at != std::string_view::npos;
         at = text.find(what, at + 1)) {
      ++out;
    }
    return out;
  };
  for (const std::string name :
       {"plain.gguf", "a | b.gguf", "a|b|", "\x1b[31mred.gguf", "new\nline", "caf\xC3\xA9.gguf",
        "`code` *bold* [link](http://x) <b>", "back\\slash|", ""}) {
    SharedRun run = run_of(kGpuBlock);
    run.figures.model = name;
    run.figures.machine.chip = name;
    const std::string line = share_line(run);
    EXPECT_EQ(count(line, " | "), 12U) << line;
    EXPECT_EQ(count(line, "\n"), 1U) << line;
    const std::string row = share_row(run, false);
    std::size_t bars = 0;
    for (std::size_t i = 0; i < row.size(); ++i) {
      std::size_t slashes = 0;
      while (slashes < i && row[i - 1 - slashes] == '\\') ++slashes;
      if (row[i] == '|' && slashes % 2 == 0) ++bars;
    }
    EXPECT_EQ(bars, 11U) << row;
    for (const std::string& text : {line, row, share_post(run)}) {
      EXPECT_TRUE(std::ranges::all_of(text, [](char c) {
        return c == '\n' || (c >= ' ' && c <= '~');
      })) << text;
    }
  }
}

TEST(Share, Row) {
  SharedRun run = run_of(kGpuBlock);
  run.file = file_of_gpu_block();
  const std::string row =
      "| Tiny-8B-Q4_K_M.gguf | Q4_K_M | 4.90 | llama.cpp b9430 | AMD Ryzen 9 + GeForce RTX 4090, "
      "64 GB | 4096 | n/a | 4900.0 | 132.1 | HEALTHY, mp1 |\n";
  EXPECT_EQ(share_row(run, false), row);
  EXPECT_EQ(share_row(run, true),
            "| model | quant | bpw | engine | machine | ctx | KV | pp tok/s | tg tok/s | picchio "
            "verdict |\n"
            "| --- | --- | ---: | --- | --- | ---: | --- | ---: | ---: | --- |\n" +
                row);
}

TEST(Share, PostLeavesOpinionsBlankAndHoldsTheBlock) {
  const std::string post = share_post(run_of(kGpuBlock));
  for (const std::string_view part :
       {"- engine: llama.cpp b9430\n", "- driver: n/a\n", "- batch / ubatch: n/a / n/a\n",
        "- flash attention: n/a\n", "- threads: 8\n",
        "weight bytes on GPUs 100.0%; KV cache on gpu",
        "- decode (tg): warm 132.1 tok/s (span 131.9 to 132.4), cold 130.2 tok/s\n",
        "\nHow good the answers are: ____\n", "- why: n/a\n", "Q4_K_M"}) {
    EXPECT_NE(post.find(part), std::string::npos) << part << "\nis not in\n" << post;
  }
  EXPECT_NE(post.find(std::string("```\n") + kGpuBlock + "```\n"), std::string::npos) << post;
}

TEST(Share, PostOfARunWithoutABlockSaysSo) {
  SharedRun run = run_of(kGpuBlock);
  run.block.clear();
  EXPECT_NE(share_post(run).find("Block: n/a\n"), std::string::npos);
}

TEST(Share, NothingInABlockEndsItsFence) {
  SharedRun run = run_of(kGpuBlock);
  run.block.insert(run.block.begin() + 1, "gpu      ```` x");
  const std::string post = share_post(run);
  EXPECT_NE(post.find("`````\nmodel"), std::string::npos) << post;
}

TEST(Share, TheBlockOfAPostReadsBack) {
  const std::filesystem::path folder = std::filesystem::path(PICCHIO_CORPUS_DIR) / "blocks";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no recorded blocks at " << folder;
  std::size_t blocks = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream in(entry.path());
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    for (const PastedBlock& block : find_blocks(text)) {
      ++blocks;
      const std::vector<PastedBlock> again =
          find_blocks(share_post({block.figures, {}, false, block.lines}));
      ASSERT_EQ(again.size(), 1U) << entry.path();
      EXPECT_EQ(again.front().lines, block.lines) << entry.path();
      EXPECT_EQ(again.front().figures.lanes, block.figures.lanes) << entry.path();
      EXPECT_EQ(again.front().figures.sentence, block.figures.sentence) << entry.path();
      EXPECT_EQ(again.front().figures.placement, block.figures.placement) << entry.path();
    }
  }
  EXPECT_GE(blocks, 6U);
}

struct FileCase {
  const char* what;
  std::int64_t tensor_bytes;
  std::int64_t file_bytes;
  std::int64_t parameters;
  bool fits;
};

TEST(Share, AFileThatCannotBeTheRunsIsRefused) {
  const RunFigures run = run_of(kGpuBlock).figures;
  for (const FileCase& row :
       {FileCase{"the same", 4'917'000'000, 4'920'000'000, 8'030'000'000, true},
        FileCase{"rounded", 4'920'000'000, 4'930'000'000, 8'034'000'000, true},
        FileCase{"ollama tells the file's size", 4'700'000'000, 4'917'000'000, 8'030'000'000, true},
        FileCase{"another quant", 8'540'000'000, 8'545'000'000, 8'030'000'000, false},
        FileCase{"a quant near it", 5'130'000'000, 5'133'000'000, 8'030'000'000, false},
        FileCase{"another model", 4'917'000'000, 4'920'000'000, 7'240'000'000, false},
        FileCase{"an empty one", 0, 0, 0, true}}) {
    SharedFile file;
    file.name = "x.gguf";
    file.tensor_bytes = row.tensor_bytes;
    file.file_bytes = row.file_bytes;
    file.parameters = row.parameters;
    EXPECT_EQ(is_file_of(file, run).has_value(), row.fits) << row.what;
  }
  // A run that tells no size has its name only.
  RunFigures named;
  EXPECT_FALSE(is_file_of(file_of_gpu_block(), named));
  named.model = file_of_gpu_block().name;
  EXPECT_TRUE(is_file_of(file_of_gpu_block(), named));
  named.model = "another-70b";
  EXPECT_FALSE(is_file_of(file_of_gpu_block(), named));
}

TEST(Share, NamesWhatAFileWouldFillIn) {
  SharedRun run = run_of(kOnePassBlock);
  EXPECT_EQ(missing_of_file(run), (std::vector<std::string>{"quant", "bits per weight", "sha256"}));
  run.file = file_of_gpu_block();
  EXPECT_TRUE(missing_of_file(run).empty());
}

}  // namespace
}  // namespace picchio::results
