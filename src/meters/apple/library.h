// Apple's system libraries, loaded when they are asked for, and owners of what they hand out.
#pragma once

#include "meters/apple/abi.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace picchio::meters::apple {

/// Each is null where its library, or the name in it, is not there.
struct Functions {
  using Type = abi::TypeId();

  // CoreFoundation
  void (*release)(abi::Cf) = nullptr;
  abi::TypeId (*type_of)(abi::Cf) = nullptr;
  Type* string_type = nullptr;
  Type* number_type = nullptr;
  Type* dictionary_type = nullptr;
  Type* array_type = nullptr;
  Type* data_type = nullptr;
  abi::Cf (*string_create)(abi::Cf allocator, const char*, std::uint32_t encoding) = nullptr;
  abi::Flag (*string_bytes)(abi::Cf, char*, abi::Index room, std::uint32_t encoding) = nullptr;
  abi::Flag (*number_value)(abi::Cf, abi::Index type, void*) = nullptr;
  abi::Cf (*dictionary_value)(abi::Cf, abi::Cf key) = nullptr;
  abi::Index (*array_count)(abi::Cf) = nullptr;
  abi::Cf (*array_value)(abi::Cf, abi::Index) = nullptr;
  abi::Index (*data_length)(abi::Cf) = nullptr;
  const unsigned char* (*data_bytes)(abi::Cf) = nullptr;

  // IOKit
  abi::Cf (*matching)(const char* io_class) = nullptr;
  /// Takes over the reference to `matching`, also when it fails.
  abi::Kernel (*matching_services)(abi::Io port, abi::Cf matching, abi::Io* iterator) = nullptr;
  abi::Io (*iterator_next)(abi::Io) = nullptr;
  abi::Flag (*iterator_valid)(abi::Io) = nullptr;
  void (*iterator_reset)(abi::Io) = nullptr;
  abi::Kernel (*io_release)(abi::Io) = nullptr;
  abi::Kernel (*class_of)(abi::Io, char* name) = nullptr;
  abi::Kernel (*name_of)(abi::Io, char* name) = nullptr;
  abi::Kernel (*id_of)(abi::Io, std::uint64_t*) = nullptr;
  abi::Kernel (*children)(abi::Io, const char* plane, abi::Io* iterator) = nullptr;
  abi::Cf (*property)(abi::Io, abi::Cf key, abi::Cf allocator, std::uint32_t options) = nullptr;

  // IOReport. A channel is a dictionary in the array of a sample.
  abi::Cf (*channels_in_group)(abi::Cf group, abi::Cf subgroup, std::uint64_t, std::uint64_t,
                               std::uint64_t) = nullptr;
  abi::Cf (*subscribe)(void*, abi::Cf channels, abi::Cf* subscribed, std::uint64_t,
                       abi::Cf) = nullptr;
  abi::Cf (*samples)(abi::Cf subscription, abi::Cf subscribed, abi::Cf) = nullptr;
  abi::Cf (*samples_delta)(abi::Cf earlier, abi::Cf later, abi::Cf) = nullptr;
  abi::Cf (*channel_name)(abi::Cf channel) = nullptr;
  abi::Cf (*channel_unit)(abi::Cf channel) = nullptr;
  std::int64_t (*integer_value)(abi::Cf channel, std::int32_t* error) = nullptr;
  std::int32_t (*state_count)(abi::Cf channel) = nullptr;
  abi::Cf (*state_name)(abi::Cf channel, std::int32_t) = nullptr;
  std::int64_t (*state_residency)(abi::Cf channel, std::int32_t) = nullptr;

  // libSystem
  int (*sysctl)(const char* name, void* old, std::size_t* size, void*, std::size_t) = nullptr;
  std::uint32_t (*notify_register)(const char* name, int* token) = nullptr;
  std::uint32_t (*notify_state)(int token, std::uint64_t*) = nullptr;
  std::uint32_t (*notify_cancel)(int token) = nullptr;
  int (*process_info)(int pid, int flavor, std::uint64_t, void*, int size) = nullptr;

  [[nodiscard]] bool reads_values() const;    // all that CoreFoundation (below) needs
  [[nodiscard]] bool reads_registry() const;  // and what a list of accelerators needs
  [[nodiscard]] bool reads_reports() const;   // and what a sample of IOReport needs
};

/// From a folder that holds libraries by their own names, or the system's where `folder` is empty:
/// those are found by the loader alone, since they are no files any more. `without` is a name that
/// is left out, for tests.
[[nodiscard]] Functions load_functions(const std::string& folder, std::string_view without = {});

/// Every name that is looked for.
[[nodiscard]] std::vector<std::string_view> function_names();

/// One reference to a CoreFoundation object.
class Owned {
 public:
  Owned() = default;
  Owned(const Functions& functions, abi::Cf object)
      : release_(functions.release), object_(object) {}
  Owned(Owned&& other) noexcept
      : release_(other.release_), object_(std::exchange(other.object_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(release_, other.release_);
    std::swap(object_, other.object_);
    return *this;
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    // CFRelease ends the process at a null pointer.
    if (object_ != nullptr) release_(object_);
  }

  [[nodiscard]] abi::Cf get() const { return object_; }
  [[nodiscard]] explicit operator bool() const { return object_ != nullptr; }

 private:
  void (*release_)(abi::Cf) = nullptr;
  abi::Cf object_ = nullptr;
};

/// One reference to an entry of the IO registry or an iterator.
class IoObject {
 public:
  IoObject() = default;
  IoObject(const Functions& functions, abi::Io object)
      : release_(functions.io_release), object_(object) {}
  IoObject(IoObject&& other) noexcept
      : release_(other.release_), object_(std::exchange(other.object_, 0)) {}
  IoObject& operator=(IoObject&& other) noexcept {
    std::swap(release_, other.release_);
    std::swap(object_, other.object_);
    return *this;
  }
  IoObject(const IoObject&) = delete;
  IoObject& operator=(const IoObject&) = delete;
  ~IoObject() {
    // A port that is already dead gives an error, and nothing is left to do about it.
    if (object_ != 0) (void)release_(object_);
  }

  [[nodiscard]] abi::Io get() const { return object_; }
  [[nodiscard]] explicit operator bool() const { return object_ != 0; }

 private:
  abi::Kernel (*release_)(abi::Io) = nullptr;
  abi::Io object_ = 0;
};

/// Reads values whose types are checked first: what is no number is absent, never garbage. Only
/// with Functions that read values, which must live as long as this.
class CoreFoundation {
 public:
  explicit CoreFoundation(const Functions& functions) : f_(&functions) {}

  [[nodiscard]] Owned own(abi::Cf object) const { return {*f_, object}; }
  [[nodiscard]] Owned string(const char* text) const;

  [[nodiscard]] std::optional<std::string> text_of(abi::Cf object) const;  // to 255 bytes
  [[nodiscard]] std::optional<std::int64_t> number_of(abi::Cf object) const;

  /// Lives as long as the dictionary; null: no such key, or no dictionary.
  [[nodiscard]] abi::Cf value_of(abi::Cf dictionary, const Owned& key) const;

  /// Elements live as long as the array; none where it is no array.
  [[nodiscard]] std::vector<abi::Cf> elements_of(abi::Cf array) const;
  /// One of them; null: there are not so many.
  [[nodiscard]] abi::Cf element_of(abi::Cf array, std::size_t at) const;

  [[nodiscard]] std::span<const unsigned char> bytes_of(abi::Cf data) const;

 private:
  const Functions* f_;
};

}  // namespace picchio::meters::apple
