#include "engines/llama_cpp/default_view.h"

#include "base/text.h"
#include "os/file.h"

#include <gtest/gtest.h>

#include <string>

namespace picchio::llama_cpp {
namespace {

std::string recorded(const std::string& name) {
  const auto text = os::read_file(
      std::string(PICCHIO_SOURCE_DIR) + "/src/engines/llama_cpp/testdata/" + name, 1 << 20);
  EXPECT_TRUE(text.has_value()) << name;
  return text.value_or("");
}

std::string viewed(ViewedProgram program, std::string_view log) {
  DefaultView view(program);
  std::string out;
  view.feed(log, out);
  view.end(out);
  return out;
}

/// Two runs of one command differ in stamps and measured figures only.
std::string without_figures(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool figure = (c >= '0' && c <= '9') || c == '.';
    if (figure || c == ' ') {
      if (out.empty() || out.back() != '#') out += '#';
    } else {
      out += c;
    }
  }
  return out;
}

struct Recording {
  ViewedProgram program;
  const char* at_default;
  const char* at_four;
};
constexpr Recording kRecordings[] = {
    {ViewedProgram::server, "server-default.log", "server-verbosity-4.log"},
    {ViewedProgram::completion, "completion-default.log", "completion-verbosity-4.log"},
};

TEST(DefaultView, MakesTheDefaultLogOfTheOneAtFour) {
  for (const Recording& each : kRecordings) {
    EXPECT_EQ(without_figures(viewed(each.program, recorded(each.at_four))),
              without_figures(recorded(each.at_default)))
        << each.at_four;
  }
}

TEST(DefaultView, LeavesADefaultLogAsItIs) {
  for (const Recording& each : kRecordings) {
    const std::string log = recorded(each.at_default);
    EXPECT_EQ(viewed(each.program, log), log) << each.at_default;
  }
}

TEST(DefaultView, SeesThroughColours) {
  const std::string plain_text = without_ansi(recorded("completion-verbosity-4-coloured.log"));
  EXPECT_EQ(without_ansi(
                viewed(ViewedProgram::completion, recorded("completion-verbosity-4-coloured.log"))),
            viewed(ViewedProgram::completion, plain_text));
}

TEST(DefaultView, IsTheSameWhereverTheBytesAreCut) {
  for (const char* name : {"server-verbosity-4.log", "completion-verbosity-4-coloured.log"}) {
    const std::string log = recorded(name);
    const auto program = std::string_view(name).starts_with("server") ? ViewedProgram::server
                                                                      : ViewedProgram::completion;
    const std::string whole = viewed(program, log);
    // Every byte is cut at below; here with the rest of the log in one piece.
    for (std::size_t cut = 0; cut < log.size(); cut += 23) {
      DefaultView view(program);
      std::string out;
      view.feed(std::string_view(log).substr(0, cut), out);
      view.feed(std::string_view(log).substr(cut), out);
      view.end(out);
      ASSERT_EQ(out, whole) << name << " cut at " << cut;
    }
    DefaultView bytewise(program);
    std::string out;
    for (const char c : log) bytewise.feed(std::string_view(&c, 1), out);
    bytewise.end(out);
    EXPECT_EQ(out, whole) << name;
  }
}

TEST(DefaultView, HandsOnWhatIsNoLogLineAtOnce) {
  for (const char* text : {"> ", "password: ", "..", "x", "{\"a\":", "-1.5", "12%", "\xff\xfe"}) {
    DefaultView view(ViewedProgram::server);
    std::string out;
    view.feed(text, out);
    EXPECT_EQ(out, text);
  }
}

TEST(DefaultView, HoldsWhatMayHaveToBeHidden) {
  DefaultView view(ViewedProgram::server);
  std::string out;
  view.feed("0.00.006.372 ", out);
  view.feed("I ", out);
  view.rest(out);
  EXPECT_EQ(out, "");
  EXPECT_TRUE(view.holds());
  view.feed("print_info: n_layer = 8\n", out);
  EXPECT_EQ(out, "");
  EXPECT_FALSE(view.holds());
}

TEST(DefaultView, GivesUpWaitingForWhatIsNoStamp) {
  DefaultView view(ViewedProgram::server);
  std::string out;
  view.feed("10", out);
  EXPECT_EQ(out, "");
  view.rest(out);
  EXPECT_EQ(out, "10");
  view.feed(" files\n", out);
  EXPECT_EQ(out, "10 files\n");
}

TEST(DefaultView, ShowsErrorsAndWarnings) {
  for (const char* line : {"0.00.034.142 E gguf_init_from_file: failed\n",
                           "0.00.034.142 W load: control token is not marked\n"}) {
    EXPECT_EQ(viewed(ViewedProgram::server, line), line);
  }
  EXPECT_EQ(viewed(ViewedProgram::cli, "0.00.034.142 E load: failed\n"),
            "0.00.034.142 E load: failed\n");
  EXPECT_EQ(viewed(ViewedProgram::cli, "0.00.034.142 W load: odd\n"), "");
}

TEST(DefaultView, PassesPlainTextBetweenHiddenLines) {
  EXPECT_EQ(viewed(ViewedProgram::server,
                   "0.00.034.142 I print_info: a\nwarning: no usable GPU found\n"
                   "0.00.034.143 I print_info: b\n\n"),
            "warning: no usable GPU found\n\n");
}

TEST(DefaultView, HidesTheDotsOfALoadAndNothingElse) {
  EXPECT_EQ(viewed(ViewedProgram::server,
                   "0.00.034.142 I load_tensors: x\n......\n...\n"
                   "0.00.034.143 I srv  llama_server: model loaded\n...\n"),
            "...\n0.00.034.143 I srv  llama_server: model loaded\n...\n");
}

TEST(DefaultView, HidesOfATraceOnlyTheLinesThatBelongToIt) {
  const std::string params =
      "0.01.997.271 I slot launch_slot_: id  0 | task -1 | sampler params: \n"
      "\trepeat_last_n = 64\n\ttop_k = 40\n";
  const std::string example =
      "0.00.115.951 I srv          init: init: chat template, example_format: '<|im_start|>system\n"
      "it's\n\nHi there<|im_end|>\n'\n";
  for (const std::string& trace : {params, example}) {
    for (const char* text : {"GGML_ASSERT(x != nullptr) failed\n",
                             "terminate called after throwing\n", "Killed\n", "\n", "'x'\n"}) {
      EXPECT_EQ(viewed(ViewedProgram::server, trace + text), text);
      std::string bytewise;
      DefaultView view(ViewedProgram::server);
      for (const char c : trace + text) view.feed(std::string_view(&c, 1), bytewise);
      view.end(bytewise);
      EXPECT_EQ(bytewise, text);
    }
  }
  for (const char* whole : {"0.00.115.951 I srv          init: init: chat template, "
                            "example_format: 'a'\n",
                            "0.00.115.951 I srv          init: init: chat template, "
                            "example_format: '\nb\n'\n"}) {
    EXPECT_EQ(viewed(ViewedProgram::server, std::string(whole) + "Aborted\n"), "Aborted\n");
  }
}

TEST(ShownByDefault, KnowsWhoSpeaks) {
  struct Case {
    const char* text;
    Shown shown;
  };
  constexpr Case kCases[] = {
      {"srv    load_model: loading model '/models/x.gguf'", Shown::yes},
      {"srv    load_model: local path '/models/x.gguf'", Shown::no},
      {"srv  update_slots: all slots are idle", Shown::no},
      {"slot      release: id  0 | task 0 | stop processing: n_tokens = 5", Shown::yes},
      {"slot   load_model: id  0 | task -1 | new slot, n_ctx = 512", Shown::no},
      {"cmn          init: llama threadpool init, n_threads = 2", Shown::yes},
      {"cmn  common_param: common_params_print_info: verbosity = 4 (adjust",
       Shown::with_default_verbosity},
      {"cmn  common_param: device_info:", Shown::no},
      {"spec common_specu: no implementations specified", Shown::no},
      {"load_tensors: offloaded 9/9 layers to GPU", Shown::no},
      {"~llama_context:        CPU compute buffer size is 7.5 MiB", Shown::no},
      {"  Device 0: NVIDIA GeForce RTX 4090, compute capability 8.9", Shown::no},
      {"common_perf_print:        load time =      44.93 ms", Shown::yes},
      {"sampler seed: 7", Shown::yes},
      {"", Shown::yes},
  };
  for (const Case& each : kCases) {
    EXPECT_EQ(shown_by_default(ViewedProgram::server, 'I', each.text), each.shown) << each.text;
  }
}

}  // namespace
}  // namespace picchio::llama_cpp
