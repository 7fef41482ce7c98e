// The speed of this machine's RAM: recalled, else measured once.
#pragma once

#include "base/result.h"
#include "commands/progress.h"
#include "evidence/machine.h"
#include "os/signals.h"

namespace picchio {

/// Fills machine.ram_bytes_per_second where an earlier run measured it.
void recall_ram_speed(Machine& machine);

/// Fills machine.ram_bytes_per_second; it stays absent where it cannot be measured, with a note.
/// The one error is of kind interrupted.
[[nodiscard]] Result<> learn_ram_speed(Machine& machine, os::Interrupts& interrupts,
                                       Progress& progress);

}  // namespace picchio
