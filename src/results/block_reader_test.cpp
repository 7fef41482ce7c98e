#include "results/block_reader.h"

#include "results/pasted_text.h"
#include "results/verify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

namespace picchio::results {
namespace {

// A block of the established tool, as its issue tracker and forums show it.
constexpr const char* kHealthy =
    "model    Qwen3.5-9B-Q4_K_M.gguf, 8.95 B, 5.28 GiB, llama.cpp b9430\n"
    "gpu      ENGAGED: 33/33 layers on GPU (Metal: Apple M5)\n"
    "os       gpu idle 0%, work 99%, mem +6.0 GiB, 11.0 W, 0.52 J/tok\n"
    "settings temp 0.8, top-k 40, top-p 0.95, min-p 0.05, seed 7\n"
    "ctx 4096         prefill         decode      wallclock\n"
    "  cold       584.9 tok/s     21.0 tok/s     13.1 tok/s\n"
    "  warm mid   588.0 tok/s     21.1 tok/s     15.5 tok/s\n"
    "  warm span      585~591      21.0~21.2      15.4~15.5\n"
    "where the cold pass went (9.7 s, 4/10 threads)\n"
    "  load weights    1.8 s  #####.......................   18%\n"
    "  prefill         1.3 s  ####........................   13%\n"
    "  decode          6.1 s  #################...........   62%\n"
    "  engine misc     0.6 s  ##..........................    6%\n"
    "VERDICT: HEALTHY. The GPU did the work. Quote the warm median\n"
    "  decode: 21.1 tok/s.\n"
    "-- picchio v0.1.0 mp1 on Apple M5, 32 GB, macOS 26.5.1\n";

void expect_healthy(const PastedBlock& block) {
  const RunFigures& run = block.figures;
  EXPECT_EQ(run.model, "Qwen3.5-9B-Q4_K_M.gguf");
  EXPECT_NEAR(run.parameters.value_or(0), 8.95e9, 1);
  EXPECT_NEAR(run.weight_bytes.value_or(0), 5.28 * 1073741824, 1);
  EXPECT_EQ(run.engine, "llama.cpp");
  EXPECT_EQ(run.build, "b9430");
  EXPECT_EQ(run.placement.engagement, Engagement::engaged);
  EXPECT_EQ(run.placement.layers_on_gpu, 33);
  EXPECT_EQ(run.placement.layers_total, 33);
  EXPECT_EQ(run.placement.backend, "Metal");
  EXPECT_EQ(run.placement.device, "Apple M5");
  EXPECT_EQ(run.meter.idle_percent, 0);
  EXPECT_EQ(run.meter.work_percent, 99);
  EXPECT_NEAR(run.meter.memory_bytes.value_or(0), 6.0 * 1073741824, 1);
  EXPECT_EQ(run.meter.watts, 11);
  EXPECT_EQ(run.meter.joules_per_token, 0.52);
  ASSERT_TRUE(run.sampling);
  EXPECT_EQ(run.sampling->top_p, 0.95);
  EXPECT_EQ(run.sampling->seed, 7);
  EXPECT_EQ(run.context, 4096);
  EXPECT_EQ(run.lane(Lane::prefill).cold.value, 584.9);
  EXPECT_EQ(run.lane(Lane::wallclock).warm.value, 15.5);
  EXPECT_EQ(run.lane(Lane::prefill).high, 591);
  EXPECT_EQ(run.lane(Lane::decode).low, 21.0);
  ASSERT_TRUE(run.cold_pass);
  EXPECT_EQ(run.cold_pass->seconds, 9.7);
  EXPECT_EQ(run.cold_pass->threads, 4);
  EXPECT_EQ(run.cold_pass->cores, 10);
  EXPECT_EQ(run.cold_pass->decode.seconds, 6.1);
  EXPECT_EQ(run.cold_pass->misc.percent, 6);
  EXPECT_EQ(run.state, State::healthy);
  EXPECT_EQ(run.sentence, "The GPU did the work. Quote the warm median decode: 21.1 tok/s.");
  EXPECT_EQ(run.version, "0.1.0");
  EXPECT_EQ(run.protocol, "mp1");
  EXPECT_EQ(run.machine.chip, "Apple M5");
  EXPECT_EQ(run.machine.ram_gib, 32);
  EXPECT_EQ(run.machine.os, "macOS 26.5.1");
  EXPECT_TRUE(block.unread.empty()) << block.unread.front();
}

/// `text` with `change` done to every line.
std::string each_line(const std::string& text,
                      const std::function<std::string(const std::string&)>& change) {
  std::string out;
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    out += change(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

TEST(BlockReader, AsWritten) {
  const auto blocks = find_blocks(kHealthy);
  ASSERT_EQ(blocks.size(), 1U);
  expect_healthy(blocks[0]);
  EXPECT_EQ(blocks[0].first_line, 1U);
}

/// Lines broken at `width`, as a mail program does.
std::string wrapped(const std::string& text, std::size_t width) {
  return each_line(text, [&](std::string line) {
    std::string out;
    for (std::size_t blank = 0; line.size() > width;) {
      blank = line.rfind(' ', width);
      if (blank == std::string::npos || line.find_first_not_of(' ') > blank) break;
      out += line.substr(0, blank) + "\n";
      line = line.substr(blank + 1);
    }
    return out + line + "\n";
  });
}

/// Cells where runs of blanks are, as a table of Markdown.
std::string as_cells(const std::string& text) {
  const std::string out = each_line(text, [first = true](std::string line) mutable {
    if (line.starts_with("  ")) line.erase(0, 2);
    for (std::size_t at = line.find("  "); at != std::string::npos; at = line.find("  ", at)) {
      line.replace(at, line.find_first_not_of(' ', at) - at, " | ");
    }
    const std::string rule = first ? "| --- | --- |\n" : "";
    first = false;
    return "| " + line + " |\n" + rule;
  });
  return replaced(replaced(out, "settings temp", "settings | temp"), "VERDICT: ", "VERDICT: | ");
}

TEST(BlockReader, WhateverAForumMakesOfIt) {
  const std::string plain = kHealthy;
  const auto prefixed = [&](const std::string& prefix, const std::string& suffix) {
    return each_line(plain, [&](const std::string& line) { return prefix + line + suffix; });
  };
  const struct {
    const char* name;
    std::string text;
  } table[] = {
      {"Windows line ends", prefixed("", "\r\n")},
      {"old Mac line ends", prefixed("", "\r")},
      {"quoted", prefixed("> ", "\n")},
      {"quoted twice", prefixed("> > ", "\n")},
      {"quoted, HTML", prefixed("&gt; ", "\n")},
      {"indented", prefixed("        ", "\n")},
      {"in a table", prefixed("| ", " |\n")},
      {"each line in backticks", prefixed("`", "`\n")},
      {"blanks at the ends", prefixed("", "      \n")},
      {"no blanks at the ends", each_line(plain,
                                          [](const std::string& line) {
                                            return line.substr(line.find_first_not_of(' ')) + "\n";
                                          })},
      {"non-breaking blanks", replaced(plain, " ", "\xC2\xA0")},
      {"HTML blanks", replaced(plain, "  ", "&nbsp; ")},
      {"tabs", replaced(plain, "    ", "\t")},
      {"blanks collapsed",
       [&] {
         std::string out = plain;
         while (out.contains("  ")) out = replaced(out, "  ", " ");
         return out;
       }()},
      {"line breaks of HTML", prefixed("", "<br>")},
      {"paragraphs of HTML", prefixed("<p class=\"x\">", "</p>\n")},
      {"preformatted HTML", "<pre><code>" + plain + "</code></pre>"},
      {"empty lines between", prefixed("", "\n\n")},
      {"a long dash", replaced(plain, "--", "\xE2\x80\x94")},
      {"colours", replaced(plain, "HEALTHY", "\x1b[32mHEALTHY\x1b[0m")},
      {"a byte order mark", "\xEF\xBB\xBF" + plain},
      {"other text around",
       "Look, model of the year:\n\n```\n" + plain + "```\nmodel A, B\nThanks!"},
      {"a command before", "$ picchio model.gguf --passes 3\n" + plain},
      {"a shorter dash", replaced(plain, "--", "\xE2\x80\x93")},
      {"a slash of fractions", replaced(plain, "33/33",
                                        "33\xE2\x81\x84"
                                        "33")},
      {"a span with a dash", replaced(plain, "585~591", "585-591")},
      {"a span with a long dash", replaced(plain, "~", "\xE2\x80\x93")},
      {"a diff", prefixed("+", "\n")},
      {"a diff, with blanks", prefixed("+ ", "\n")},
      {"taken out by a diff", prefixed("-", "\n")},
      {"a list", prefixed("- ", "\n")},
      {"a list of asterisks", prefixed("* ", "\n")},
      {"a list of bullets", prefixed("\xE2\x80\xA2 ", "\n")},
      {"drawn quote marks", prefixed("\xE2\x94\x82 ", "\n")},
      {"spoilers", prefixed(">!", "!<\n")},
      {"spoilers, with blanks", prefixed(">! ", " !<\n")},
      {"comments", prefixed("# ", "\n")},
      {"comments of C", prefixed("// ", "\n")},
      {"times", prefixed("[10:22:13] ", "\n")},
      {"dates", prefixed("2026-05-04T10:22:13.5Z ", "\n")},
      {"a chat", prefixed("<bob> ", "\n")},
      {"a chat with times", prefixed("[10:22] <bob> ", "\n")},
      {"a chat in HTML", prefixed("[10:22] &lt;bob&gt; ", "<br>")},
      {"line numbers",
       [&, n = 9]() mutable {
         return each_line(plain, [&](const std::string& line) {
           return std::to_string(n++) + ": " + line + "\n";
         });
       }()},
      {"numbers as grep has them",
       [&, n = 97]() mutable {
         return each_line(plain, [&](const std::string& line) {
           return std::to_string(n++) + ":" + line + "\n";
         });
       }()},
      {"numbers as cat has them",
       [&, n = 1]() mutable {
         return each_line(plain, [&](const std::string& line) {
           return "     " + std::to_string(n++) + "\t" + line + "\n";
         });
       }()},
      {"Markdown's escapes",
       replaced(replaced(replaced(plain, "~", "\\~"), "_", "\\_"), "--", "\\--")},
      {"line ends of Markdown", prefixed("", "\\\n")},
      {"a table of Markdown", as_cells(plain)},
      {"a table of HTML", replaced(as_cells(plain), " | ", "</td><td>")},
      {"each line bold", prefixed("**", "**\n")},
      {"bold labels",
       replaced(replaced(replaced(plain, "VERDICT:", "**VERDICT:**"), "gpu   ", "**gpu**   "),
                "model   ", "**model**   ")},
      {"a bold verdict", replaced(replaced(plain, "VERDICT: HEALTHY.", "**VERDICT: HEALTHY.**"),
                                  "os   ", "__os__   ")},
      {"a bold state", replaced(plain, "HEALTHY.", "**HEALTHY**.")},
      {"an emoji", replaced(plain, "VERDICT", "\xE2\x9C\x85 VERDICT")},
      {"an emoji by its name", replaced(plain, "VERDICT", ":white_check_mark: **VERDICT")},
      {"a state in other letters", replaced(plain, "VERDICT: HEALTHY", "Verdict: Healthy")},
      {"broken at 60 columns", wrapped(plain, 60)},
      {"broken at 72 columns, quoted",
       replaced(wrapped("> " + replaced(plain, "\n", "\n> "), 72), "\n> \n", "\n")},
      {"broken at 40 columns", wrapped(plain, 40)},
      {"no line end", plain.substr(0, plain.size() - 1)},
      {"broken by a mail program",
       replaced(replaced(plain, ", llama.cpp", ",\nllama.cpp"), ", 32 GB", ",\n32 GB")},
  };
  for (const auto& row : table) {
    SCOPED_TRACE(row.name);
    const auto blocks = find_blocks(row.text);
    ASSERT_EQ(blocks.size(), 1U);
    expect_healthy(blocks[0]);
  }
}

TEST(BlockReader, AsWindowsShellsRedirectIt) {
  for (const bool big_end : {false, true}) {
    std::string bytes = big_end ? "\xFE\xFF" : "\xFF\xFE";
    std::string text(kHealthy);
    text.insert(0, "caf\xE9 \xA0 \n");  // Latin 1: each byte is its own unit
    for (const char c : text) bytes += big_end ? std::string{'\0', c} : std::string{c, '\0'};
    const Result<std::string> read = text_of(bytes);
    ASSERT_TRUE(read);
    EXPECT_TRUE(read->starts_with("caf\xC3\xA9 \xC2\xA0 \n"));
    const auto blocks = find_blocks(*read);
    ASSERT_EQ(blocks.size(), 1U);
    EXPECT_TRUE(blocks[0].unread.empty());
  }
  // Half a pair, a lone surrogate, a dash of three bytes.
  EXPECT_EQ(text_of(std::string("\xFF\xFE\x3d\xD8\x14\x20z\0y", 9)).value_or(""), "?\xE2\x80\x94z");
}

TEST(BlockReader, BytesThatAreNoText) {
  EXPECT_FALSE(text_of(std::string("model\0x", 7)));
  const Result<std::string> model = text_of("GGUF\x03");
  ASSERT_FALSE(model);
  EXPECT_TRUE(model.error().hint.contains("picchio id"));
  EXPECT_EQ(text_of("").value_or("x"), "");
  EXPECT_EQ(text_of("\xFF\xFE").value_or("x"), "");
}

TEST(BlockReader, ASecondVerdictIsTold) {
  struct Row {
    const char* line;
    std::optional<State> other;
  };
  // Behind a VERDICT that says HEALTHY.
  const std::vector<Row> table = {
      {"VERDICT: SILENT CPU FALLBACK. The CPU did it.", State::silent_cpu_fallback},
      {"**VERDICT: PARTIAL OFFLOAD.**", State::partial_offload},
      {"edit: the VERDICT: CONFLICTING EVIDENCE. was before", State::conflicting_evidence},
      {"VERDICT: HEALTHY. Twice.", std::nullopt},
      {"what a VERDICT that is", std::nullopt},
      {"nothing", std::nullopt},
  };
  for (const Row& row : table) {
    std::string text(kHealthy);
    text.insert(text.find("-- picchio"), std::string(row.line) + "\n");
    const auto blocks = find_blocks(text);
    ASSERT_EQ(blocks.size(), 1U) << row.line;
    EXPECT_EQ(blocks[0].figures.state, State::healthy) << row.line;
    EXPECT_EQ(blocks[0].other_state, row.other) << row.line;
    EXPECT_EQ(verify(blocks[0]).contradictions.empty(), !row.other) << row.line;
  }
}

TEST(BlockReader, SeveralAreKeptApart) {
  const std::string bare =
      "model    other.gguf, ollama 0.31.1\n"
      "ctx 512          prefill         decode      wallclock\n"
      "  warm mid     1.0 tok/s            n/a        abstain\n";
  const auto blocks = find_blocks("first:\n" + bare + "\nand\n\n" + kHealthy + bare);
  ASSERT_EQ(blocks.size(), 3U);
  EXPECT_EQ(blocks[0].first_line, 2U);
  EXPECT_EQ(blocks[0].figures.model, "other.gguf");
  EXPECT_EQ(blocks[0].figures.build, "0.31.1");
  EXPECT_FALSE(blocks[0].figures.state) << "nothing of the second";
  EXPECT_EQ(blocks[0].figures.lane(Lane::prefill).warm.value, 1.0);
  EXPECT_FALSE(blocks[0].figures.lane(Lane::decode).warm.value);
  EXPECT_FALSE(blocks[0].figures.lane(Lane::decode).warm.abstains);
  EXPECT_TRUE(blocks[0].figures.lane(Lane::wallclock).warm.abstains);
  expect_healthy(blocks[1]);
  EXPECT_EQ(blocks[2].figures.model, "other.gguf");
}

TEST(BlockReader, WhatIsNone) {
  for (const char* text :
       {"", "\n\n\n", "model", "model A, B", "model    a, b\nVERDICT: HEALTHY.\n",
        "gpu      ENGAGED: 33/33 layers on GPU\nVERDICT: HEALTHY. x\n",
        "model    a, b\ngpu      ENGAGED: 1/1 layers on GPU\nand nothing more\n",
        "The model was good, the gpu too.\n"}) {
    EXPECT_TRUE(find_blocks(text).empty()) << text;
  }
}

TEST(BlockReader, LinesOfOurOwn) {
  const auto blocks = find_blocks(
      "model    qwen3.6:35b-a3b, 34.7 B, Q4_K_M, 20.31 GiB, ollama 0.31.1\n"
      "gpu      PARTIAL: 22/41 layers on GPU (CUDA: RTX 4090 x2) [-ngl 22 -ot \"a=CPU\"]\n"
      "bytes    weights 52.3% gpu, kv 10.0 of 20.0 GiB gpu, 5.3 GiB on CUDA0,\n"
      "         5.3 GiB on CUDA1, 9.70 GiB host\n"
      "os       gpu idle 3%, work 41%, mem +10.9 GiB, 151 W, 4.40 J/tok, throttled\n"
      "         gpu 0 40% +5.4 GiB 70.0 W; gpu 1 41% +5.5 GiB 81.0 W\n"
      "cpu      6.9 of 16 cores in decode, 8 threads\n"
      "settings not recorded: the server's answer has none\n"
      "rates    by its own timings, TTFT 0.80 s cold, 0.50 s warm\n"
      "ctx 8192         prefill         decode      wallclock\n"
      "  first      572.2 tok/s     28.9 tok/s            n/a\n"
      "cold start not measured: the server already owned the weights\n"
      "VERDICT: PARTIAL OFFLOAD. 48% of the weights lie in host\n"
      "  memory; decode waits for them.\n"
      "WHY: forced by flag: -ngl 22\n"
      "FIX: leave -ngl out: the engine fits\n"
      "  the layers itself\n"
      "-- picchio v0.2.0 mp1 on Intel(R) Xeon(R), 8 cores + RTX 4090 x2, 64 GB, Linux 6.1\n");
  ASSERT_EQ(blocks.size(), 1U);
  const RunFigures& run = blocks[0].figures;
  EXPECT_TRUE(blocks[0].unread.empty()) << blocks[0].unread.front();
  EXPECT_EQ(run.model, "qwen3.6:35b-a3b");
  EXPECT_EQ(run.quant, "Q4_K_M");
  EXPECT_EQ(run.placement.arguments, "-ngl 22 -ot \"a=CPU\"");
  EXPECT_EQ(run.placement.device, "RTX 4090");
  EXPECT_EQ(run.placement.device_count, 2);
  EXPECT_NEAR(run.placement.gpu_share.value_or(0), 0.523, 1e-9);
  EXPECT_EQ(run.placement.kv, "10.0 of 20.0 GiB gpu");
  ASSERT_EQ(run.placement.devices.size(), 3U);
  EXPECT_EQ(run.placement.devices[1].device, "CUDA1");
  EXPECT_EQ(run.placement.devices[2].device, "host");
  EXPECT_TRUE(run.meter.throttled);
  EXPECT_EQ(run.meter.joules_per_token, 4.4);
  EXPECT_EQ(run.cpu.busy_cores, 6.9);
  EXPECT_EQ(run.cpu.cores, 16);
  EXPECT_EQ(run.cpu.threads, 8);
  EXPECT_FALSE(run.sampling);
  EXPECT_TRUE(run.only_one_pass);
  EXPECT_TRUE(run.server_was_warm);
  EXPECT_EQ(run.state, State::partial_offload);
  EXPECT_EQ(run.sentence, "48% of the weights lie in host memory; decode waits for them.");
  EXPECT_EQ(run.why, "forced by flag: -ngl 22");
  EXPECT_EQ(run.fix, "leave -ngl out: the engine fits the layers itself");
  EXPECT_EQ(run.machine.chip, "Intel(R) Xeon(R), 8 cores");
  EXPECT_EQ(run.machine.gpu, "RTX 4090");
  EXPECT_EQ(run.machine.gpu_count, 2);
}

TEST(BlockReader, LinesThatAreCutOrWrongAreTold) {
  std::string text = kHealthy;
  text = replaced(text, "33/33 layers on GPU (Metal: Apple M5)", "many layers");
  text = replaced(text, "584.9 tok/s", "584.9 km/h");
  const auto blocks = find_blocks(text);
  ASSERT_EQ(blocks.size(), 1U);
  ASSERT_EQ(blocks[0].unread.size(), 2U);
  EXPECT_EQ(blocks[0].unread[0], "gpu ENGAGED: many layers");
  EXPECT_FALSE(blocks[0].figures.lane(Lane::prefill).cold.value);
}

TEST(BlockReader, NumbersBeforeLinesMayBeAnything) {
  for (const char* number : {"9223372036854775807: ", "99999999999999999999: ", "0) ", "-1. "}) {
    for (const PastedBlock& block : find_blocks(number + std::string(kHealthy))) {
      expect_healthy(block);
    }
  }
}

TEST(BlockReader, WhatACutTextMayHaveCutIsNotTrusted) {
  const std::string text = kHealthy;
  const auto upto = [&](const std::string& last) { return text.substr(0, text.find(last)) + last; };
  const auto figures = [](const std::string& cut) {
    const auto blocks = find_blocks(cut);
    return blocks.size() == 1 ? blocks[0].figures : RunFigures{};
  };
  EXPECT_EQ(figures(upto("13.1 tok/s\n")).lane(Lane::wallclock).cold.value, 13.1);
  EXPECT_EQ(figures(upto("15.4~15.5")).lane(Lane::decode).high, 21.2);
  EXPECT_FALSE(figures(upto("15.4~15")).lane(Lane::wallclock).high);
  EXPECT_FALSE(figures(upto("21.0~2")).lane(Lane::decode).high);
  EXPECT_EQ(figures(upto("VERDICT: HEALTHY.")).state, State::healthy);
  EXPECT_EQ(figures(upto("VERDICT: HEALTHY") + "...").state, State::healthy);
  EXPECT_FALSE(figures(upto("VERDICT: HEAL")).state);
  EXPECT_EQ(figures(text.substr(0, text.size() - 1)).machine.os, "macOS 26.5.1");
}

TEST(BlockReader, AHeadlineThatCannotBeReadIsTold) {
  for (const char* headline :
       {"VERDICT: GREAT. x", "**VERDICT: GREAT. x**", "__VERDICT__ GREAT", "my VERDICT: HEALTHY. x",
        "> \xF0\x9F\x8E\x89 VERDICT - GREAT", "VERDICT: HEALTHY. The\nVERDICT: HEALTHY. x"}) {
    const std::string text = replaced(
        kHealthy, "VERDICT: HEALTHY. The GPU did the work. Quote the warm median", headline);
    const auto blocks = find_blocks(text);
    ASSERT_EQ(blocks.size(), 1U) << headline;
    ASSERT_EQ(blocks[0].unread.size(), 1U) << headline;
    EXPECT_TRUE(blocks[0].unread[0].contains("VERDICT")) << blocks[0].unread[0];
  }
}

TEST(BlockReader, RecordedBlocksAreReadWhole) {
  const std::filesystem::path folder = std::filesystem::path(PICCHIO_CORPUS_DIR) / "blocks";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no recorded blocks here";
  for (const char* name : {"cpu-fallback.txt", "healthy-metal.txt", "linux-4090.txt",
                           "linux-5090-cuda.txt", "ollama-35b.txt", "server-endpoint.txt"}) {
    SCOPED_TRACE(name);
    std::ifstream in(folder / name);
    const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    const auto blocks = find_blocks(text);
    ASSERT_EQ(blocks.size(), 1U);
    EXPECT_TRUE(blocks[0].unread.empty()) << blocks[0].unread.front();
    const RunFigures& run = blocks[0].figures;
    EXPECT_TRUE(run.state && run.context && run.machine.ram_gib) << text;
    EXPECT_TRUE(run.lane(Lane::decode).warm.value && run.lane(Lane::decode).low);
    EXPECT_FALSE(run.machine.os.empty() || run.engine.empty() || run.build.empty());
  }
}

}  // namespace
}  // namespace picchio::results
