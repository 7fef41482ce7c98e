// The lines of a file or of standard input, a few at a time.
#pragma once

#include "history/history.h"
#include "os/signals.h"

#include <string>

namespace picchio {

/// `source` is a regular file's name, or "-". A line of more than `most_bytes` is an error.
/// `interrupts` must outlive it.
[[nodiscard]] history::LineSource lines_of(const std::string& source, std::size_t most_bytes,
                                           const os::Interrupts& interrupts);

}  // namespace picchio
