#include "os/library.h"

#include <dlfcn.h>

namespace picchio::os {

Result<DynamicLibrary> DynamicLibrary::open(std::string_view what,
                                            std::span<const char* const> names) {
  std::string reason;
  for (const char* name : names) {
    void* const handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle != nullptr) return DynamicLibrary(what, handle);
    const char* const said = ::dlerror();
    if (reason.empty() && said != nullptr) reason = said;
  }
  return fail(ErrorKind::not_found, "cannot load {}: {}", what, reason);
}

void* DynamicLibrary::symbol(const char* name) const { return ::dlsym(handle_, name); }

}  // namespace picchio::os
