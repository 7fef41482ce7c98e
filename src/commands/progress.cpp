#include "commands/progress.h"

#include "base/text.h"
#include "commands/terminal.h"
#include "os/file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace picchio {
namespace {

constexpr std::array<std::string_view, 4> kFrames = {"|", "/", "-", "\\"};

}  // namespace

ByteProgress::ByteProgress(std::string what, std::optional<std::int64_t> total)
    : what_(std::move(what)),
      total_(total),
      live_(stderr_is_terminal()),
      began_(std::chrono::steady_clock::now()),
      shown_(began_) {}

ByteProgress::~ByteProgress() { clear_line(); }

void ByteProgress::clear_line() {
  if (line_shown_) print_stderr("\r\x1b[K");
  line_shown_ = false;
}

void ByteProgress::note(std::string_view text) {
  clear_line();
  print_stderr(fmt::format("picchio: {}\n", text));
}

void ByteProgress::update(std::int64_t done) {
  if (!live_) return;
  const auto now = std::chrono::steady_clock::now();
  // Ten lines a second; what is over sooner shows none at all.
  if (now - shown_ < std::chrono::milliseconds(100)) return;
  shown_ = now;
  const double seconds = std::chrono::duration<double>(now - began_).count();
  const double rate = static_cast<double>(done) / seconds;
  std::string line = fmt::format("{}: {}", what_, format_bytes(done));
  if (total_ && *total_ > 0) {
    line += fmt::format(" of {} ({:.0f}%)", format_bytes(*total_),
                        100 * static_cast<double>(done) / static_cast<double>(*total_));
  }
  line += fmt::format(", {}/s", format_bytes(static_cast<std::int64_t>(rate)));
  if (total_ && rate > 0) {
    line +=
        fmt::format(", {:.0f} s left; Ctrl-C skips it", static_cast<double>(*total_ - done) / rate);
  }
  // A line that wraps could not be taken back.
  const int columns = os::terminal_width(2).value_or(80);
  line = fit("picchio: " + line, static_cast<std::size_t>(std::max(columns - 1, 20)));
  print_stderr("\r\x1b[K" + line);
  line_shown_ = true;
}

Progress::Progress() : Progress(stderr_is_terminal()) {}

Progress::Progress(bool live) : live_(live) {}

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
