// What only the whole log can tell.
#pragma once

#include "engines/log_state.h"

namespace picchio {

/// Settles roles of loads, kinds of devices and buffers, copies, failures; drops what turned out to
/// say nothing. Called once, after the last line.
void finish_log(LogState& state);

}  // namespace picchio
