// The text of Apple's program ioreg, for where IOKit's calls cannot be had, and for kept looks of
// another machine.
#pragma once

#include "meters/apple/source.h"

#include <string_view>
#include <vector>

namespace picchio::meters::apple {

/// Accelerators and clients in the order of the text; Client::device is an index into the former.
struct IoregLook {
  std::vector<Accelerator> accelerators;
  std::vector<Statistics> statistics;  // one for each
  std::vector<Client> clients;
};

/// Pure, in one pass, of any part of `ioreg -l`'s output: of the whole registry, of accelerators
/// (`-r -c IOAccelerator`) or of their clients alone.
///
/// An accelerator is an entry with PerformanceStatistics, or whose class is called so; a client one
/// with IOUserClientCreator, of the innermost accelerator around it. Keys come in any order, each
/// counts once and in full. What a cut took the end of (a last line without its end, a list without
/// its bracket, a number with nothing behind it) is not there. At most 64 accelerators and 65536
/// clients are read.
[[nodiscard]] IoregLook parse_ioreg(std::string_view text);

}  // namespace picchio::meters::apple
