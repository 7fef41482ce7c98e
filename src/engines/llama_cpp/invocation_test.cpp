#include "engines/llama_cpp/invocation.h"

#include "engines/llama_cpp/failure.h"
#include "engines/llama_cpp/program.h"
#include "engines/llama_cpp/prompt.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace picchio::llama_cpp {
namespace {

TEST(Program, VersionsOfEveryForm) {
  struct Case {
    const char* output;
    const char* version;
    const char* build;
  };
  for (const Case& c :
       {Case{"version: 9430 (d48a56eff)\nbuilt with AppleClang\n", "9430 (d48a56eff)", "b9430"},
        Case{"version: 0.7.0 (build 11669, commit Debian)\nbuilt with GNU\n",
             "0.7.0 (build 11669, commit Debian)", "b11669"},
        Case{"ggml_cuda_init: found 1 CUDA devices:\n  version: 5558 (b9432a5a0)\r\n",
             "5558 (b9432a5a0)", "b5558"},
        Case{"version: 0.3.0-dev (build 10791, commit abc)\n",
             "0.3.0-dev (build 10791, commit abc)", "b10791"},
        Case{"version: unknown\n", "unknown", ""}}) {
    const auto version = parse_version(c.output);
    ASSERT_TRUE(version) << c.output;
    EXPECT_EQ(version->version, c.version);
    EXPECT_EQ(version->build, c.build);
  }
  EXPECT_FALSE(parse_version("usage: something else\n"));
}

TEST(Program, FlagsAreFoundWholeAndOnlyInTheirColumn) {
  const Abilities modern = parse_help(
      "-lv,   --verbosity, --log-verbosity N   Set the verbosity threshold.\n"
      "                                         - 3: info\n"
      "                                         - 4: trace (more info)\n"
      "--verbose-prompt                        print --verbose and --simple-io things\n"
      "-s,    --seed SEED                      RNG seed\n"
      "--ignore-eos                            ignore end of stream token\n"
      "--display-prompt, --no-display-prompt   whether to print prompt\n"
      "-cnv,  --conversation, -no-cnv, --no-conversation\n"
      "-st,   --single-turn                    run for a single turn only\n");
  EXPECT_TRUE(modern.verbosity_levels && modern.seed && modern.ignore_eos);
  EXPECT_TRUE(modern.no_display_prompt && modern.no_conversation);
  EXPECT_FALSE(modern.verbose || modern.simple_io || modern.chat_only);

  const Abilities chat = parse_help(
      "-st,   --single-turn                    run conversation for a single turn only\n");
  EXPECT_TRUE(chat.chat_only);
  EXPECT_FALSE(parse_help("  -m FNAME, --model FNAME\n  --verbose   print\n").chat_only);
  EXPECT_TRUE(parse_help("  -m FNAME, --model FNAME\n  --verbose   print\n").verbose);
}

TEST(Invocation, TakesOnlyWhatTheProgramKnowsAndLetsTheUserWin) {
  PassRequest request{"/models/x.gguf", "Hello", 4096, 128, 7, {"-ngl", "4"}};
  EXPECT_EQ(command_line("/bin/old", {}, request),
            (std::vector<std::string>{"/bin/old", "-m", "/models/x.gguf", "-p", "Hello", "-n",
                                      "128", "-c", "4096", "-ngl", "4"}));
  Abilities can;
  can.verbosity_levels = can.verbose = can.seed = can.ignore_eos = true;
  can.no_conversation = can.no_display_prompt = can.simple_io = true;
  EXPECT_EQ(
      command_line("/bin/new", can, request),
      (std::vector<std::string>{"/bin/new", "-lv", "4", "-m", "/models/x.gguf", "-p", "Hello", "-n",
                                "128", "-c", "4096", "--seed", "7", "--ignore-eos", "-no-cnv",
                                "--no-display-prompt", "--simple-io", "-ngl", "4"}));
}

TEST(Invocation, ContextOfEveryForm) {
  EXPECT_EQ(context_of({"-c", "512"}), 512);
  EXPECT_EQ(context_of({"-c512"}), 512);
  EXPECT_EQ(context_of({"--ctx-size=8192"}), 8192);
  EXPECT_EQ(context_of({"--ctx-size", "8192", "-c", "0"}), 0);
  EXPECT_EQ(context_of({"-ctk", "q8_0", "-cmoe"}), std::nullopt);
  EXPECT_EQ(context_of({"-c"}), std::nullopt);
}

TEST(Invocation, RefusesWhatTheProtocolFixes) {
  for (const char* argument : {"-m", "--model=x", "-p", "--file", "-n", "--log-disable"}) {
    EXPECT_FALSE(check_user_args({argument})) << argument;
  }
  EXPECT_TRUE(check_user_args({"-ngl", "0", "--device", "none", "-ot", "ffn_.*=CPU", "-nkvo"}));
}

TEST(Prompt, DiffersOnEveryPassAndShrinksWithTheContext) {
  EXPECT_NE(prompt_prefix(1, 1), prompt_prefix(1, 2));
  EXPECT_NE(prompt_prefix(1, 1), prompt_prefix(2, 1));
  EXPECT_EQ(paragraphs_that_fit(4096), kParagraphs);
  EXPECT_EQ(paragraphs_that_fit(512), 3);
  EXPECT_EQ(paragraphs_that_fit(256), 0);
  const auto text = [](int paragraphs) { return prompt_text("x ", {.paragraphs = paragraphs}); };
  EXPECT_LT(text(3).size(), text(8).size());
  EXPECT_EQ(text(1).find("Page 2"), std::string::npos);
}

TEST(Prompt, EvenPagesAreOfOneLength) {
  const auto size = [](int paragraphs) {
    return prompt_text("x ", {.paragraphs = paragraphs, .even_pages = true}).size();
  };
  EXPECT_EQ(size(1000) - size(999), size(2) - size(1));
}

TEST(Prompt, EndsInPartOfAPage) {
  const auto text = [](int words) { return prompt_text("", {.paragraphs = 1, .words = words}); };
  const std::size_t whole = text(kWordsOfParagraph).size();
  EXPECT_EQ(text(kWordsOfParagraph + 1).size(), whole);
  EXPECT_GT(whole, text(kWordsOfParagraph - 1).size());
  EXPECT_EQ(text(1).size() - text(0).size(), std::string_view("The ").size());
}

TEST(Invocation, APromptThatIsNoArgumentComesOnStdin) {
  PassRequest request;
  request.model_path = "m.gguf";
  request.prompt = std::string(200'000, 'x');
  const auto words = command_line("llama-completion", Abilities{}, request);
  EXPECT_EQ(std::ranges::count(words, "-p"), 0);
  const auto flag = std::ranges::find(words, "-f");
  ASSERT_NE(flag, words.end());
  EXPECT_EQ(*std::next(flag), "/dev/stdin");
  request.prompt = "short";
  EXPECT_EQ(std::ranges::count(command_line("llama-completion", Abilities{}, request), "-f"), 0);
}

TEST(Failure, NamesTheTellingLineAndAWayOut) {
  struct Case {
    const char* log;
    int code;
    const char* message;
    const char* hint;
  };
  for (const Case& c : {
           Case{"error: invalid argument: --badflag\n", 1,
                "llama-completion exited with code 1: error: invalid argument: --badflag",
                "does not know that argument"},
           Case{"0.01.5 I x\n"
                "0.01.519.851 E llama_completion: prompt is too long (677 tokens, max 252)\n",
                1, "prompt is too long (677 tokens, max 252)", "larger context"},
           Case{
               "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 4096.00 MiB on device 0: "
               "cudaMalloc failed: out of memory\nllama_model_load: error loading model: unable to "
               "allocate CUDA0 buffer\n",
               1, "cudaMalloc failed: out of memory", "out of memory"},
           Case{"load: error loading model: unknown model architecture: 'qwen9'\n", 1,
                "unknown model architecture: 'qwen9'", "newer build"},
           Case{"ggml_backend_load_best: failed to enumerate /x: No such file or directory\n"
                "E llama_model_load: error loading model: check\n",
                1, "error loading model: check", ""},
           Case{"", 137, "was killed by signal 9 (SIGKILL) and said nothing", "memory ran out"},
           Case{"some text\n\n", 139,
                "was killed by signal 11 (SIGSEGV); its last words: some text", "crashed"},
           Case{"0.01.8.0 I x\n0.00.001.002 I warming up\n0.00.001.003 I\n", 1,
                "exited with code 1; its last words: warming up", ""},
           Case{"\x1b[31mbad\x1b[0m\x07 thing\n", 3,
                "exited with code 3; its last words: bad? thing", ""},
       }) {
    const Error error = failure_of("llama-completion", c.code, c.log);
    EXPECT_NE(error.message.find(c.message), std::string::npos) << error.message;
    EXPECT_NE(error.hint.find(c.hint), std::string::npos) << error.hint;
  }
}

TEST(Failure, ALogWithoutItsEndIsSeen) {
  const char* whole = "common_perf_print: prompt eval time = 1.00 ms / 7 tokens\n";
  EXPECT_FALSE(log_may_be_cut(0, whole));
  EXPECT_TRUE(log_may_be_cut(0, "sched_reserve: graph splits = 2\n"));
  EXPECT_FALSE(log_may_be_cut(1, "E x: prompt is too long (7 tokens, max 4)\n"));
  EXPECT_TRUE(log_may_be_cut(1, "I x: warming up the model\n"));
  EXPECT_FALSE(log_may_be_cut(137, ""));  // killed: no second try
}

}  // namespace
}  // namespace picchio::llama_cpp
