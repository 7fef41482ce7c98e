#include "engines/llama_cpp/default_view.h"

#include "base/text.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>

namespace picchio::llama_cpp {
namespace {

// A log line is decided on when it is whole; one that is longer is decided on by its beginning.
constexpr std::size_t kLongestHeld = 4096;
// The chat template's example is the longest message of several lines: some KiB.
constexpr std::size_t kLongestMessage = std::size_t{64} << 10;

// --- the stamp -------------------------------------------------------------------------------
// "0.00.104.955 I text", on a terminal "ESC[34m0.00.104.955ESC[0m ESC[32mI ESC[0mtext" and, for
// what is no information, "ESC[34m0.00.104.955ESC[0m ESC[31mE textESC[0m".

enum class Match { no, partly, yes };

/// Takes one "ESC[...m" off the front, if there is one.
Match take_colour(std::string_view& text) {
  if (text.empty() || text.front() != '\x1b') return Match::yes;
  constexpr std::size_t kLongest = 12;
  for (std::size_t i = 1; i < text.size() && i < kLongest; ++i) {
    const char c = text[i];
    if (i == 1 ? c != '[' : c != ';' && (c < '0' || c > '9') && c != 'm') return Match::no;
    if (i > 1 && c == 'm') {
      text.remove_prefix(i + 1);
      return Match::yes;
    }
  }
  return text.size() < kLongest ? Match::partly : Match::no;
}

Match take_digits(std::string_view& text, std::size_t least, std::size_t most) {
  std::size_t count = 0;
  while (count < text.size() && count < most && text[count] >= '0' && text[count] <= '9') ++count;
  if (count == text.size()) return Match::partly;
  if (count < least) return Match::no;
  text.remove_prefix(count);
  return Match::yes;
}

Match take_char(std::string_view& text, char c) {
  if (text.empty()) return Match::partly;
  if (text.front() != c) return Match::no;
  text.remove_prefix(1);
  return Match::yes;
}

/// Minutes, seconds, milliseconds, microseconds.
Match take_clock(std::string_view& text) {
  constexpr std::size_t kMostMinutes = 8;
  Match match = take_digits(text, 1, kMostMinutes);
  for (const std::size_t width : {2U, 3U, 3U}) {
    if (match == Match::yes) match = take_char(text, '.');
    if (match != Match::yes) return match;
    // The last group may end the bytes: then it is not known to be over.
    match = take_digits(text, width, width);
  }
  return match;
}

struct Stamp {
  char letter = 0;
  std::string_view text;    // what follows; may be cut
  bool clock_done = false;  // of a partial match: the clock is whole, so this is a log line
};

Match read_stamp(std::string_view line, Stamp& stamp) {
  Match match = take_colour(line);
  if (match == Match::yes) match = take_clock(line);
  if (match != Match::yes) return match;
  stamp.clock_done = true;
  match = take_colour(line);
  if (match == Match::yes) match = take_char(line, ' ');
  if (match == Match::yes) match = take_colour(line);
  if (match != Match::yes) return match;
  if (line.empty()) return Match::partly;
  if (std::string_view("IWED").find(line.front()) == std::string_view::npos) return Match::no;
  stamp.letter = line.front();
  line.remove_prefix(1);
  match = take_char(line, ' ');
  if (match == Match::yes) match = take_colour(line);
  stamp.text = line;
  return match;
}

std::string_view without_end(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

// --- who says it -----------------------------------------------------------------------------

// "srv    load_model: loading model '/models/x.gguf'": a tag of five columns, the function cut to
// twelve, the message. Those below are traces; every other message of a tag is shown at 3. All of
// them read out of the calls of build 11669.
constexpr std::string_view kServerTraces[] = {
    "n_parallel is set to auto",
    "running with",  // SSL, or without
    "using ",        // N threads for HTTP server
    "local path '",
    "init: chat template, ",
    "preserve_reasoning kwarg: ",
    "all slots are idle",
    "conv_id=",
    "updating prompt cache",
    "prompt cache ",
    "use `--cache-ram 0`",
    "for more info see https://github.com/ggml-org/llama.cpp/pull/16391",
    "context checkpoints ",
    "idle slots will be saved to prompt cache",
    "speculative decoding ",
    "setting address family",
    "DELETE /v1/stream",
    "Google Cloud Platform compat",
    "[mtmd] estimated worst-case memory usage",
    "api_keys: ",
    "launching slots for parent task",
    "proxying stream resume",
    "set lora adapter",
    " - cache state",
    " - found better prompt",
    " - looking for better prompt",
    " - removing obsolete cached prompt",
    " - saving prompt with length",
    " - prompt is already in the cache",
    "   - prompt ",
};
constexpr std::string_view kSlotTraces[] = {
    "     acc per pos",
    " - checking sim",
    " - copying ",
    " - skipping, ",
    "new slot, n_ctx",
    "cached n_tokens",
    "checking checkpoint",
    "clearing ",
    "created context checkpoint",
    "encoding mtmd batch",
    "erased invalidated context checkpoint",
    "erasing context checkpoint",
    "forcing full prompt re-processing",
    "init sampler, took",
    "keeping cache for alora",
    "new prompt, n_ctx_slot",
    "restored context checkpoint (",
    "reusing chunk with size",
    "sampler chain: ",
    "sampler params: ",
    "superseding context checkpoint",
    "saving idle slot",
};
constexpr std::string_view kCommonTraces[] = {
    "(for bugs during this step",
    "fitting params to device memory",
    "budget exhausted",
    "budget=0",
    "forced into forcing state",
    "the context ",  // does not support, or supports bounded, partial sequence removal
    "warming up the model",
    "activated, budget",
    "re-activated on new start tag",
    "added ",  // a logit bias
};
// Its level-3 lines are fewer than its traces.
constexpr std::string_view kSpecShown[] = {"auto-detected speculative type",
                                           "synthetic acceptance"};

// Lines without a tag: "print_info: n_layer = 8". The name of a function in front says whose they
// are; these are the programs' own, everybody else's are the library's.
constexpr std::string_view kProgramsOwn[] = {
    "llama_completion",
    "llama_server",
    "llama_cli",
    "main",
    "common_perf_print",
    "common_speculative_init_result",
    "common_ngram_map_begin",
    "common_docker_resolve_model",
    "system_info",
    "generate",
    "self-extend",
    "common_speculative_impl_draft_dflash",
};
// What the library prints without a function's name: CUDA's and SYCL's lists of devices.
constexpr std::string_view kLibraryTexts[] = {
    "  Device ",         "Found ",  "Running with Environment Variables",
    "Build with Macros", "  GGML_", "|"};

bool starts_with_any(std::string_view text, std::span<const std::string_view> beginnings) {
  return std::ranges::any_of(beginnings, [&](std::string_view b) { return text.starts_with(b); });
}

struct Tag {
  std::string_view name;
  Shown (*judge)(std::string_view function, std::string_view message);
};

Shown unless(bool trace) { return trace ? Shown::no : Shown::yes; }

Shown of_server(std::string_view, std::string_view message) {
  return unless(starts_with_any(message, kServerTraces));
}

Shown of_slot(std::string_view, std::string_view message) {
  // "id  0 | task -1 | new slot, n_ctx = 512"
  for (int bar = 0; bar < 2; ++bar) {
    const std::size_t at = message.find(" | ");
    if (at == std::string_view::npos) return Shown::yes;
    message.remove_prefix(at + 3);
  }
  return unless(starts_with_any(message, kSlotTraces));
}

Shown of_common(std::string_view function, std::string_view message) {
  if (function == "common_param") {
    return message.starts_with("common_params_print_info: verbosity = ")
               ? Shown::with_default_verbosity
               : Shown::no;
  }
  return unless(starts_with_any(message, kCommonTraces));
}

Shown of_speculation(std::string_view, std::string_view message) {
  return unless(!starts_with_any(message, kSpecShown));
}

constexpr Tag kTags[] = {
    {"srv  ", of_server}, {"slot ", of_slot}, {"cmn  ", of_common}, {"spec ", of_speculation}};

constexpr std::array<bool, 256> kInNames = [] {
  std::array<bool, 256> out{};
  for (const char c : std::string_view("_~:<>()-")) out[static_cast<unsigned char>(c)] = true;
  for (std::size_t c = 'a'; c <= 'z'; ++c) out[c] = true;
  for (std::size_t c = 'A'; c <= 'Z'; ++c) out[c] = true;
  for (std::size_t c = '0'; c <= '9'; ++c) out[c] = true;
  return out;
}();

/// "print_info" of "print_info: n_layer = 8", "~llama_context" of "~llama_context: ...".
std::optional<std::string_view> function_of(std::string_view text) {
  const std::size_t end = text.find(": ");
  std::string_view name = end == std::string_view::npos ? text : text.substr(0, end);
  if (end == std::string_view::npos) {
    if (!name.ends_with(':')) return std::nullopt;
    name.remove_suffix(1);
  }
  const bool fits =
      std::ranges::all_of(name, [](char c) { return kInNames[static_cast<unsigned char>(c)]; });
  if (name.empty() || !fits) return std::nullopt;
  return name;
}

Shown without_tag(std::string_view text) {
  if (const auto function = function_of(text)) {
    return unless(std::ranges::find(kProgramsOwn, *function) == std::end(kProgramsOwn));
  }
  return unless(starts_with_any(text, kLibraryTexts));
}

// Traces of several lines, of which only the first has a stamp. The parameters' further lines are
// indented; the template's example, which can hold any line, ends with its closing quote.
constexpr std::string_view kIndentedMessage = "sampler params: ";
constexpr std::string_view kQuotedMessage = "chat template, example_format: '";

bool may_begin_message(std::string_view text) {
  return text.starts_with("srv  ") || text.starts_with("slot ");
}

/// The level in "verbosity = 4 (adjust with the `-lv N` CLI arg)" as it is without us.
void append_with_default_verbosity(std::string_view line, std::string& out) {
  constexpr std::string_view kKey = "verbosity = ";
  const std::size_t at = line.find(kKey);
  if (at == std::string_view::npos || at + kKey.size() >= line.size()) {
    out += line;
    return;
  }
  out += line.substr(0, at + kKey.size());
  out += '3';
  out += line.substr(at + kKey.size() + 1);
}

}  // namespace

Shown shown_by_default(ViewedProgram program, char letter, std::string_view text) {
  if (letter == 'E') return Shown::yes;
  if (program == ViewedProgram::cli) return Shown::no;
  if (letter == 'W') return Shown::yes;
  if (letter == 'D') return Shown::no;
  constexpr std::size_t kFunctionColumns = 12;
  for (const Tag& tag : kTags) {
    if (!text.starts_with(tag.name)) continue;
    const std::string_view behind = text.substr(tag.name.size());
    const std::size_t colon = behind.find(": ", std::min(behind.size(), kFunctionColumns));
    if (colon != kFunctionColumns) return Shown::yes;
    return tag.judge(trim(behind.substr(0, colon)), behind.substr(colon + 2));
  }
  return without_tag(text);
}

void DefaultView::feed(std::string_view bytes, std::string& out) {
  while (!bytes.empty()) {
    if (mode_ == Mode::line_start) {
      start_line(bytes, out);
      continue;
    }
    const std::size_t end = bytes.find('\n');
    const std::string_view part =
        bytes.substr(0, end == std::string_view::npos ? bytes.size() : end + 1);
    if (mode_ == Mode::passing) {
      out += part;
    } else {
      hide(part);
    }
    bytes.remove_prefix(part.size());
    if (end != std::string_view::npos) end_line();
  }
}

void DefaultView::end_line() {
  mode_ = Mode::line_start;
  if (follows_ == Follows::quoted && last_hidden_ == '\'') follows_ = Follows::plain;
}

void DefaultView::hide(std::string_view part) {
  hidden_message_ += part.size();
  const std::size_t last = part.find_last_not_of("\r\n");
  if (last != std::string_view::npos) last_hidden_ = part[last];
}

/// By its first byte: more of it may not be there yet.
bool DefaultView::belongs_to_message(std::string_view line) const {
  if (hidden_message_ >= kLongestMessage) return false;
  if (follows_ == Follows::indented) return line.front() == ' ' || line.front() == '\t';
  return follows_ == Follows::quoted;
}

/// Holds bytes of one line until something can be said of it.
void DefaultView::start_line(std::string_view& bytes, std::string& out) {
  if (held_.empty() && take_continuation(bytes)) return;
  if (bytes.empty()) return;
  const std::size_t end = bytes.find('\n');
  const std::size_t room = kLongestHeld - held_.size();
  const std::size_t length = std::min(end == std::string_view::npos ? bytes.size() : end + 1, room);
  const std::string_view part = bytes.substr(0, length);
  bytes.remove_prefix(length);
  if (held_.empty() && part.back() == '\n') {
    (void)decide(part, out, true);
    return;
  }
  held_ += part;
  decide_held(out, held_.back() == '\n' || held_.size() >= kLongestHeld);
}

void DefaultView::decide_held(std::string& out, bool complete) {
  if (decide(held_, out, complete)) held_.clear();
}

/// Of what belongs to the hidden line before: progress dots, and the further lines of a message.
/// True: it took some bytes.
bool DefaultView::take_continuation(std::string_view& bytes) {
  if (follows_ != Follows::dots) return false;
  const std::size_t dots = std::min(bytes.find_first_not_of('.'), bytes.size());
  bytes.remove_prefix(dots);
  if (!bytes.empty() && bytes.front() == '\n') {
    // Ends the row of dots; where the model was too small for any it stands alone.
    bytes.remove_prefix(1);
    follows_ = Follows::plain;
    return true;
  }
  return dots > 0;
}

/// True: the line, or what there is of it, was handed on or dropped. `complete`: no more of this
/// line is waited for.
bool DefaultView::decide(std::string_view line, std::string& out, bool complete) {
  Stamp stamp;
  const Match match = read_stamp(line, stamp);
  if (match == Match::partly && !complete) return false;
  bool show = true;
  if (match == Match::yes || (match == Match::partly && stamp.letter != 0)) {
    // An error is shown whatever it says.
    const bool known =
        complete || stamp.letter == 'E' || (stamp.letter == 'W' && program_ != ViewedProgram::cli);
    if (!known) return false;
    const std::string_view text = without_end(stamp.text);
    const Shown shown = shown_by_default(program_, stamp.letter, text);
    show = shown != Shown::no;
    follows_ = Follows::plain;
    if (!show && text.starts_with("load_tensors: ")) follows_ = Follows::dots;
    if (!show) begin_message(text);
    if (shown == Shown::with_default_verbosity) {
      append_with_default_verbosity(line, out);
    } else if (show) {
      out += line;
    }
  } else if (belongs_to_message(line)) {
    last_hidden_ = 0;
    hide(line);
    show = false;
  } else {
    follows_ = Follows::plain;
    out += line;
  }
  const bool whole = line.back() == '\n';
  if (whole) {
    end_line();
  } else {
    mode_ = show ? Mode::passing : Mode::hiding;
  }
  return true;
}

void DefaultView::begin_message(std::string_view text) {
  hidden_message_ = 0;
  if (!may_begin_message(text)) return;
  if (text.contains(kIndentedMessage)) follows_ = Follows::indented;
  const std::size_t quote = text.find(kQuotedMessage);
  if (quote == std::string_view::npos) return;
  follows_ = Follows::quoted;
  // The opening quote closes nothing.
  last_hidden_ = 0;
  hide(text.substr(quote + kQuotedMessage.size()));
}

void DefaultView::rest(std::string& out) {
  if (held_.empty()) return;
  Stamp stamp;
  const Match match = read_stamp(held_, stamp);
  // A whole clock is followed by the rest of its line, however long that takes.
  if (match == Match::partly && stamp.clock_done) return;
  // So is the text of a line whose beginning does not yet tell.
  if (match == Match::yes && stamp.text.empty()) return;
  decide_held(out, true);
}

void DefaultView::end(std::string& out) {
  if (!held_.empty()) decide_held(out, true);
}

}  // namespace picchio::llama_cpp
