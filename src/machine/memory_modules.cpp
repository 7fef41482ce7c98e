#include "machine/memory_modules.h"

#include <cstdint>

namespace picchio {
namespace {

// A structure is a header (type, length, handle), its formatted part of `length` bytes in all, and
// strings that end in two zero bytes. Offsets of type 17 are from the DMTF's DSP0134, 7.18.
constexpr std::uint8_t kMemoryDevice = 17;
constexpr std::uint8_t kEndOfTable = 127;
constexpr std::size_t kSize = 0x0C;        // word, in MiB or KiB; 0: the socket is empty
constexpr std::size_t kFormFactor = 0x0E;  // byte
constexpr std::uint8_t kDimm = 0x09;
constexpr std::uint8_t kSoDimm = 0x0D;

std::uint8_t byte_at(std::string_view table, std::size_t at) {
  return static_cast<std::uint8_t>(table[at]);
}

}  // namespace

std::optional<MemoryModules> read_memory_modules(std::string_view table) {
  constexpr std::size_t kHeader = 4;
  MemoryModules out;
  while (table.size() >= kHeader) {
    const std::uint8_t type = byte_at(table, 0);
    const std::size_t length = byte_at(table, 1);
    if (length < kHeader || length > table.size()) return std::nullopt;
    if (type == kEndOfTable) break;
    if (type == kMemoryDevice && length > kFormFactor) {
      const std::uint8_t form = byte_at(table, kFormFactor);
      if (form == kDimm || form == kSoDimm) {
        ++out.slots;
        if (byte_at(table, kSize) != 0 || byte_at(table, kSize + 1) != 0) ++out.filled;
      }
    }
    const std::size_t end = table.find(std::string_view("\0\0", 2), length);
    if (end == std::string_view::npos) return std::nullopt;
    table.remove_prefix(end + 2);
  }
  return out.slots > 0 ? std::optional(out) : std::nullopt;
}

}  // namespace picchio
