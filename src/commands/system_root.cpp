#include "commands/system_root.h"

#include "os/file.h"

namespace picchio {

std::string system_root() {
  const std::string named = os::env("PICCHIO_SYSTEM_ROOT").value_or("");
  return named.empty() ? "/" : named;
}

}  // namespace picchio
