// The GPUs of Macs. macOS tells of them in three places: the IO registry (load, memory in use, and
// the GPU time of each process), IOReport, a private library (energy and clock), and a notice of
// thermal pressure. None needs rights. The chip's GPU shares the system's memory, so "in use" is
// what its clients hold of that; macOS does not tell how much of it a process holds.
//
// A virtual machine's GPU tells little of this; each figure that is not there is named, with the
// reason.
#pragma once

#include "meters/apple/library.h"
#include "meters/meter.h"

namespace picchio::meters::apple {

/// See Probe. Nothing here depends on the system that it is built for: without Apple's libraries
/// and without the program ioreg it is not_found.
[[nodiscard]] Result<std::unique_ptr<Meter>> probe(const Place& place);

/// Same with libraries that are loaded already, for tests.
[[nodiscard]] Result<std::unique_ptr<Meter>> open(const Place& place, const Functions& functions);

}  // namespace picchio::meters::apple
