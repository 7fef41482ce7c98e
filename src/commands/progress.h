// What a user sees on stderr while passes run: a line per pass, and on a terminal a live line.
#pragma once

#include "base/time.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace picchio {

/// Bytes of a long read: share, rate and the time that is left, on a terminal only.
class ByteProgress {
 public:
  /// `total` absent: only the bytes so far are shown.
  ByteProgress(std::string what, std::optional<std::int64_t> total);
  ~ByteProgress();
  ByteProgress(const ByteProgress&) = delete;
  ByteProgress& operator=(const ByteProgress&) = delete;

  void update(std::int64_t done);  // may be called as often as one likes
  void note(std::string_view text);

 private:
  void clear_line();

  std::string what_;
  std::optional<std::int64_t> total_;
  bool live_ = false;
  bool line_shown_ = false;
  std::chrono::steady_clock::time_point began_;
  std::chrono::steady_clock::time_point shown_;
};

class Progress {
 public:
  Progress();
  explicit Progress(bool live);  // false: notes alone
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void note(std::string_view text);  // "picchio: TEXT" on a line of its own
  void begin_pass(int pass, int passes);
  void token_arrived();       // the model is generating from now on
  void tick(Micros elapsed);  // moves the live line; nothing off a terminal
  void end_pass(std::string_view summary);

 private:
  void clear_line();

  bool live_ = false;
  bool line_shown_ = false;
  bool generating_ = false;
  int pass_ = 0;
  int passes_ = 0;
  int frame_ = 0;
};

}  // namespace picchio
