// What is measured when nobody named a model: `picchio` alone.
#pragma once

#include "evidence/verdict.h"
#include "os/signals.h"

#include <expected>
#include <string>

namespace picchio {

/// A model of this machine, as a word that picchio takes: the only one there is, or the one picked
/// from a menu when `ask` and there is a terminal for it. Otherwise the code to end with; why, and
/// what could be given, stands on stderr then.
[[nodiscard]] std::expected<std::string, ExitCode> choose_model(bool ask,
                                                                const os::Interrupts& interrupts);

}  // namespace picchio
