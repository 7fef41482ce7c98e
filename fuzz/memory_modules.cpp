// Any bytes must read as the firmware's table: no crash, and no more modules than sockets.
#include "machine/memory_modules.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view table(reinterpret_cast<const char*>(data), size);
  const auto modules = picchio::read_memory_modules(table);
  if (modules && (modules->slots <= 0 || modules->filled > modules->slots)) std::abort();
  if (modules && static_cast<std::size_t>(modules->slots) > size / 4) std::abort();
  return 0;
}
