// CoreFoundation objects of the fakes. Counted: releasing one that is gone ends the process, as it
// would, or worse, on a Mac.
#pragma once

#include "meters/apple/abi.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace picchio::meters::apple::abi {

struct CfObject {
  TypeId type = 0;
  int references = 1;
  bool constant = false;
  std::string text;
  std::int64_t number = 0;
  std::map<std::string, Cf> entries;
  std::vector<Cf> elements;
  std::vector<unsigned char> bytes;
};

}  // namespace picchio::meters::apple::abi

namespace fake {

using picchio::meters::apple::abi::Cf;
using picchio::meters::apple::abi::CfObject;

enum Type : unsigned long {
  kString = 7,
  kNumber = 22,
  kDictionary = 18,
  kArray = 19,
  kData = 20,
  kOther = 99
};

/// A new object with one reference, which is the caller's. What it holds is taken over.
[[nodiscard]] Cf make(CfObject object);
[[nodiscard]] Cf make_text(std::string text);
/// Always the same object, which releasing does not end: as names in a system's tables.
[[nodiscard]] Cf constant_text(const std::string& text);
[[nodiscard]] Cf make_number(std::int64_t value);
void release(Cf object);
/// What is behind it; ends the process where it is null, released or of another type.
[[nodiscard]] const CfObject& look_at(Cf object, Type type);

}  // namespace fake
