// What a server's log said of its loads: it says it once, and every later probe rests on it. Pure.
#pragma once

#include <cstddef>
#include <string>

namespace picchio {

class LoadLog {
 public:
  /// As much as is read of a server's log at once (kMostServerLog). Of more the end is kept: what
  /// lies there now is what was loaded last.
  static constexpr std::size_t kMost = std::size_t{4} << 20;

  /// The log to judge a probe by. `text`: what the log said since the probe before; `another`:
  /// another process computes, and no load from before counts any more.
  [[nodiscard]] std::string of_probe(const std::string& text, bool another);

  /// The text of the latest probe told of a load.
  [[nodiscard]] bool loaded() const { return loaded_; }

 private:
  std::string known_;
  bool loaded_ = false;
};

}  // namespace picchio
