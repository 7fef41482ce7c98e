// Lines on the terminal that are drawn over and over in the same place.
#pragma once

#include <string>
#include <vector>

namespace picchio {

/// On stderr. The cursor is never hidden and nothing else of the terminal is changed, so that there
/// is nothing to bring back, however the process ends.
class LiveView {
 public:
  LiveView() = default;
  LiveView(const LiveView&) = delete;
  LiveView& operator=(const LiveView&) = delete;
  ~LiveView() { clear(); }

  /// Replaces what was drawn before. No line may be wider than the terminal, and there must be
  /// fewer than it has rows: what scrolled away could not be drawn over.
  void draw(const std::vector<std::string>& lines, int columns);

  /// Takes away what was drawn.
  void clear();

 private:
  std::size_t drawn_ = 0;
  int columns_ = 0;
};

}  // namespace picchio
