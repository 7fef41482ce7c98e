// Gathers what a checkup needs beyond the files of the machine: meters, engines, ollama.
#pragma once

#include "base/result.h"
#include "evidence/checkup.h"
#include "os/signals.h"

#include <string>

namespace picchio {

/// Runs the engines on PATH, and `bin` where it is not empty, with --version and --list-devices,
/// each with a limit of its own. An error: `bin` cannot be run, or an interrupt.
[[nodiscard]] Result<Checkup> gather_checkup(const std::string& bin, os::Interrupts& interrupts);

/// The machine's own links alone, of files, in some milliseconds; no card is woken. For a run.
[[nodiscard]] Checkup gather_machine(const Machine& machine);

}  // namespace picchio
