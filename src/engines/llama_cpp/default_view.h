// What a llama.cpp program would have written to stderr at its default verbosity, out of what it
// writes at 4.
//
// Since mid 2026 the lines that tell the placement are printed at verbosity 4 ("trace") only, and
// the default is 3 (llama-cli: 1). A line does not say which of the two it belongs to: both carry
// the letter I. What tells them apart is who prints it. The library's own information is never
// shown at 3; the programs' is, but for the messages listed in default_view.cpp, which were read
// out of the compiled calls of build 11669. Warnings and errors are shown at both.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace picchio::llama_cpp {

/// Programs whose stderr at the two verbosities was compared. Others are left alone.
enum class ViewedProgram { server, completion, cli };

/// What becomes of one log line.
enum class Shown { yes, no, with_default_verbosity };

/// Of a line's letter and text, without its stamp, colours and line end. Pure.
[[nodiscard]] Shown shown_by_default(ViewedProgram program, char letter, std::string_view text);

/// Filters a stream of bytes, cut anywhere. What is no log line of the engine is handed on at once;
/// of one only as much is held back as may still have to be hidden.
class DefaultView {
 public:
  explicit DefaultView(ViewedProgram program) : program_(program) {}

  /// Appends to `out` what of `bytes`, and of what was held, is to be handed on.
  void feed(std::string_view bytes, std::string& out);

  /// Nothing came for a while: decides on what can be no beginning of a stamp any more, and about
  /// the text that is there.
  void rest(std::string& out);

  /// The end: everything that is held and was not to be hidden.
  void end(std::string& out);

  /// Something is held back, so that rest() is worth a call.
  [[nodiscard]] bool holds() const { return !held_.empty(); }

 private:
  enum class Mode { line_start, passing, hiding };
  /// What unstamped lines after a hidden line are.
  enum class Follows { plain, dots, indented, quoted };

  void start_line(std::string_view& bytes, std::string& out);
  bool take_continuation(std::string_view& bytes);
  [[nodiscard]] bool belongs_to_message(std::string_view line) const;
  void begin_message(std::string_view text);
  void hide(std::string_view part);
  bool decide(std::string_view line, std::string& out, bool complete);
  void decide_held(std::string& out, bool complete);
  void end_line();

  ViewedProgram program_;
  Mode mode_ = Mode::line_start;
  Follows follows_ = Follows::plain;
  std::size_t hidden_message_ = 0;  // bytes of the message under way that were hidden
  char last_hidden_ = 0;            // of a quoted message's line, its end aside
  std::string held_;
};

}  // namespace picchio::llama_cpp
