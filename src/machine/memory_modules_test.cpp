#include "machine/memory_modules.h"

#include <gtest/gtest.h>

#include <string>

namespace picchio {
namespace {

using namespace std::string_literals;

/// A memory device with a socket of `form`, `size` in MiB.
std::string device(int size, int form) {
  std::string out(0x28, '\0');
  out[0] = 17;
  out[1] = 0x28;
  out[0x0C] = static_cast<char>(size & 0xFF);
  out[0x0D] = static_cast<char>(size >> 8);
  out[0x0E] = static_cast<char>(form);
  return out + "DIMM_A1\0BANK 0\0\0"s;
}

const std::string kBios = "\x00\x05\x00\x00\x07Vendor\0\0"s;
const std::string kEnd = "\x7F\x04\x00\x00\0\0"s;

struct Case {
  const char* name;
  std::string table;
  int slots;  // 0: nothing is told
  int filled;
};

TEST(MemoryModules, AreCountedByTheirSockets) {
  const std::vector<Case> cases = {
      {"two of four",
       kBios + device(16384, 9) + device(0, 9) + device(16384, 9) + device(0, 9) + kEnd, 4, 2},
      {"one of two in a laptop", device(8192, 13) + device(0, 13) + kEnd, 2, 1},
      {"of 32 GiB and more the word is all ones", device(0x7FFF, 9) + device(0, 9) + kEnd, 2, 1},
      {"soldered", device(8192, 0x0B) + device(8192, 0x0B) + kEnd, 0, 0},
      {"no end of the table", device(16384, 9), 1, 1},
      {"nothing", "", 0, 0},
      {"a length that is none", "\x11\x02\x00\x00\0\0"s, 0, 0},
      {"a length beyond the end", "\x11\xF0\x00\x00\0\0"s, 0, 0},
      {"strings without an end", device(16384, 9).substr(0, 0x2A), 0, 0},
      {"too short for a form", "\x11\x08\0\0\0\0\0\0\0\0"s + kEnd, 0, 0},
  };
  for (const Case& c : cases) {
    const auto found = read_memory_modules(c.table);
    EXPECT_EQ(found ? found->slots : 0, c.slots) << c.name;
    EXPECT_EQ(found ? found->filled : 0, c.filled) << c.name;
  }
}

}  // namespace
}  // namespace picchio
