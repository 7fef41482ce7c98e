// What `picchio watch` shows: the live frame, a line a second, the summary, JSON.
#pragma once

#include "evidence/watched.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace picchio {

struct FrameStyle {
  int columns = 80;
  int rows = 24;      // the frame is never higher
  bool utf8 = false;  // blocks for bars and sparklines, else ASCII
  bool colour = false;
};

/// The live view, lines without an end, each at most columns - 1 wide so that none wraps.
/// `record` need hold no more than the last minute of telemetry; `length` is the time so far.
[[nodiscard]] std::vector<std::string> watch_frame(const WatchRecord& record,
                                                   const FrameStyle& style);

/// One line about the time from `from` to `to`, plain ASCII, no LF. With a target "own" is what its
/// tree has of a GPU.
[[nodiscard]] std::string watch_line(const WatchRecord& record, Micros from, Micros to);

/// At most 66 columns, plain ASCII, lines ending in LF; the verdict stands last.
[[nodiscard]] std::string watch_summary(const WatchRecord& record, const WatchVerdict& verdict);

/// Schema "picchio.watch.v1"; text rules as of run_json(). `every`: the spacing of "timeline",
/// whose rows are at most some thousand, so that a long watch has a coarser one.
[[nodiscard]] std::string watch_json(const WatchRecord& record, const WatchVerdict& verdict,
                                     Micros every, int exit_code);

}  // namespace picchio
