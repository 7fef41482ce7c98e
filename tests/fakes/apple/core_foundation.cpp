// CoreFoundation, as far as a meter calls it.
#include "objects.h"
#include "scenario.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unordered_map>
#include <utility>

namespace abi = picchio::meters::apple::abi;

namespace fake {
namespace {

std::unordered_map<Cf, CfObject>& objects() {
  static std::unordered_map<Cf, CfObject> all;
  return all;
}

[[noreturn]] void misuse(const char* what) {
  std::fprintf(stderr, "fake Mac: %s\n", what);
  std::abort();
}

CfObject& checked(Cf object) {
  const auto found = objects().find(object);
  if (found == objects().end()) misuse("an object is used that is null or released");
  return found->second;
}

CfObject& checked(Cf object, Type type) {
  CfObject& found = checked(object);
  if (found.type != type) misuse("an object is read as another type");
  return found;
}

}  // namespace

Cf make(CfObject object) {
  // Addresses are never given twice, so that one that was released stays known as such.
  static std::uintptr_t next = 0x1000;
  const Cf handle = reinterpret_cast<Cf>(next += 16);
  objects().emplace(handle, std::move(object));
  ++live();
  return handle;
}

Cf make_text(std::string text) {
  CfObject object;
  object.type = kString;
  object.text = std::move(text);
  return make(std::move(object));
}

Cf constant_text(const std::string& text) {
  static std::unordered_map<std::string, Cf> all;
  const auto [found, is_new] = all.try_emplace(text, nullptr);
  if (!is_new) return found->second;
  found->second = make_text(text);
  checked(found->second).constant = true;
  --live();
  return found->second;
}

Cf make_number(std::int64_t value) {
  CfObject object;
  object.type = kNumber;
  object.number = value;
  return make(std::move(object));
}

const CfObject& look_at(Cf object, Type type) { return checked(object, type); }

void release(Cf object) {
  CfObject& found = checked(object);
  if (found.constant || --found.references > 0) return;
  const CfObject gone = std::move(found);
  objects().erase(object);
  --live();
  for (const auto& [key, value] : gone.entries) release(value);
  for (const Cf element : gone.elements) release(element);
}

}  // namespace fake

using fake::checked;

FAKE_APPLE void CFRelease(abi::Cf object) { fake::release(object); }
FAKE_APPLE abi::TypeId CFGetTypeID(abi::Cf object) { return checked(object).type; }
FAKE_APPLE abi::TypeId CFStringGetTypeID() { return fake::kString; }
FAKE_APPLE abi::TypeId CFNumberGetTypeID() { return fake::kNumber; }
FAKE_APPLE abi::TypeId CFDictionaryGetTypeID() { return fake::kDictionary; }
FAKE_APPLE abi::TypeId CFArrayGetTypeID() { return fake::kArray; }
FAKE_APPLE abi::TypeId CFDataGetTypeID() { return fake::kData; }

FAKE_APPLE abi::Cf CFStringCreateWithCString(abi::Cf, const char* text, std::uint32_t encoding) {
  return encoding == abi::kUtf8 ? fake::make_text(text) : nullptr;
}

FAKE_APPLE abi::Flag CFStringGetCString(abi::Cf object, char* into, abi::Index room,
                                        std::uint32_t encoding) {
  const std::string& text = checked(object, fake::kString).text;
  if (encoding != abi::kUtf8 || static_cast<abi::Index>(text.size()) >= room) return 0;
  std::memcpy(into, text.c_str(), text.size() + 1);
  return 1;
}

FAKE_APPLE abi::Flag CFNumberGetValue(abi::Cf object, abi::Index type, void* into) {
  const std::int64_t value = checked(object, fake::kNumber).number;
  if (type != abi::kSInt64) return 0;
  std::memcpy(into, &value, sizeof value);
  return 1;
}

FAKE_APPLE abi::Cf CFDictionaryGetValue(abi::Cf object, abi::Cf key) {
  const auto& entries = checked(object, fake::kDictionary).entries;
  const auto found = entries.find(checked(key, fake::kString).text);
  return found == entries.end() ? nullptr : found->second;
}

FAKE_APPLE abi::Index CFArrayGetCount(abi::Cf object) {
  return static_cast<abi::Index>(checked(object, fake::kArray).elements.size());
}

FAKE_APPLE abi::Cf CFArrayGetValueAtIndex(abi::Cf object, abi::Index at) {
  return checked(object, fake::kArray).elements.at(static_cast<std::size_t>(at));
}

FAKE_APPLE abi::Index CFDataGetLength(abi::Cf object) {
  return static_cast<abi::Index>(checked(object, fake::kData).bytes.size());
}

FAKE_APPLE const unsigned char* CFDataGetBytePtr(abi::Cf object) {
  return checked(object, fake::kData).bytes.data();
}
