// Libraries that are loaded only when something needs them.
#pragma once

#include "base/result.h"

#include <span>
#include <string>
#include <string_view>

namespace picchio::os {

/// A shared library. Once loaded it stays until the process ends: libcurl may have a resolver's
/// thread that outlives its client, drivers start threads of their own, and code that is unmapped
/// under a thread crashes it.
class DynamicLibrary {
 public:
  /// The first of `names` that can be loaded, as the loader finds it. `what` is the library's name
  /// in an error's text, which quotes the loader about the first name.
  [[nodiscard]] static Result<DynamicLibrary> open(std::string_view what,
                                                   std::span<const char* const> names);

  /// Null when the library has no such name.
  [[nodiscard]] void* symbol(const char* name) const;

  /// Fills a pointer to a function, or says which name is missing.
  template <class Function>
  [[nodiscard]] Result<> load(const char* name, Function*& into) const {
    void* const found = symbol(name);
    if (found == nullptr) return fail(ErrorKind::unsupported, "{} lacks '{}'", what_, name);
    into = reinterpret_cast<Function*>(found);
    return {};
  }

 private:
  DynamicLibrary(std::string_view what, void* handle) : what_(what), handle_(handle) {}

  std::string what_;
  void* handle_;
};

}  // namespace picchio::os
