// Kernel values of macOS. Untested: written without such a machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace picchio::os {

[[nodiscard]] std::optional<std::string> sysctl_text(const char* name);
[[nodiscard]] std::optional<std::int64_t> sysctl_number(const char* name);  // of 4 or 8 bytes

}  // namespace picchio::os
