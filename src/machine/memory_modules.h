// The memory modules of this machine, from the firmware's table (SMBIOS 3, type 17). Pure.
#pragma once

#include "evidence/machine.h"

#include <optional>
#include <string_view>

namespace picchio {

/// `table` is /sys/firmware/dmi/tables/DMI. Sockets for modules only: soldered memory has none.
/// Nullopt: no such socket is listed, or the table is cut off or no table.
[[nodiscard]] std::optional<MemoryModules> read_memory_modules(std::string_view table);

}  // namespace picchio
