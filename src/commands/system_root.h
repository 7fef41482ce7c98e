// Where /proc, /sys, /dev and /etc are looked at.
#pragma once

#include <string>

namespace picchio {

/// "/", or the folder that PICCHIO_SYSTEM_ROOT names in its place: for tests of machines that are
/// not there.
[[nodiscard]] std::string system_root();

}  // namespace picchio
