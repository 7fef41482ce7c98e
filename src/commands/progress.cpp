#include "commands/progress.h"

#include "commands/terminal.h"

#include <fmt/format.h>

#include <array>

namespace picchio {
namespace {

constexpr std::array<std::string_view, 4> kFrames = {"|", "/", "-", "\\"};

}  // namespace

Progress::Progress() : live_(stderr_is_terminal()) {}

Progress::~Progress() { clear_line(); }

void Progress::clear_line() {
  if (line_shown_) print_stderr("\r\x1b[K");
  line_shown_ = false;
}

void Progress::note(std::string_view text) {
  clear_line();
  print_stderr(fmt::format("picchio: {}\n", text));
}

void Progress::begin_pass(int pass, int passes) {
  pass_ = pass;
  passes_ = passes;
  generating_ = false;
  tick(Micros{0});
}

void Progress::token_arrived() { generating_ = true; }

void Progress::tick(Micros elapsed) {
  if (!live_) return;
  const auto frame = static_cast<std::size_t>(frame_++) % kFrames.size();
  print_stderr(fmt::format("\r\x1b[Kpicchio: pass {}/{} {} {:.0f} s, {}", pass_, passes_,
                           kFrames.at(frame), seconds(elapsed),
                           generating_ ? "generating" : "loading and reading the prompt"));
  line_shown_ = true;
}

void Progress::end_pass(std::string_view summary) {
  note(fmt::format("pass {}/{}: {}", pass_, passes_, summary));
}

}  // namespace picchio
