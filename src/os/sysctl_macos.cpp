#include "os/sysctl_macos.h"

#include <sys/sysctl.h>
#include <sys/types.h>

#include <cstring>

namespace picchio::os {

std::optional<std::string> sysctl_text(const char* name) {
  std::size_t size = 0;
  if (::sysctlbyname(name, nullptr, &size, nullptr, 0) != 0 || size == 0) return std::nullopt;
  std::string text(size, '\0');
  if (::sysctlbyname(name, text.data(), &size, nullptr, 0) != 0) return std::nullopt;
  text.resize(std::strlen(text.c_str()));
  return text;
}

std::optional<std::int64_t> sysctl_number(const char* name) {
  std::int64_t value = 0;
  std::size_t size = sizeof value;
  if (::sysctlbyname(name, &value, &size, nullptr, 0) != 0) return std::nullopt;
  if (size == sizeof(std::int32_t)) {
    std::int32_t narrow = 0;
    std::memcpy(&narrow, &value, sizeof narrow);
    return narrow;
  }
  return value;
}

}  // namespace picchio::os
