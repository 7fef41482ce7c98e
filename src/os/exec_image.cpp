#include "os/exec_image.h"

#include "os/file.h"
#include "os/system_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace picchio::os {
namespace {

bool names(std::string_view entry, std::string_view name) {
  return entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=';
}

bool replaced(const SpawnOptions& options, std::string_view entry) {
  return std::ranges::any_of(options.unset_env, [&](const auto& n) { return names(entry, n); }) ||
         std::ranges::any_of(options.set_env, [&](const auto& p) { return names(entry, p.first); });
}

}  // namespace

ExecImage::ExecImage(const SpawnOptions& options) : words_(options.argv) {
  const std::size_t arguments = words_.size();
  for (std::string& entry : environment()) {
    if (!replaced(options, entry)) words_.push_back(std::move(entry));
  }
  for (const auto& [name, value] : options.set_env)
    words_.push_back(fmt::format("{}={}", name, value));
  // Pointers only now: the words move no more.
  for (std::size_t i = 0; i < words_.size(); ++i) {
    (i < arguments ? argv_ : envp_).push_back(words_[i].data());
  }
  argv_.push_back(nullptr);
  envp_.push_back(nullptr);
}

std::unexpected<Error> exec_failure(const std::string& path, int error) {
  // The kernel says "no such file" of a file that is there when its interpreter or loader is not.
  if (error == ENOENT && exists(path)) {
    return fail(ErrorKind::unsupported,
                "cannot run '{}': the interpreter or loader that it names does not exist", path);
  }
  if (error == ENOEXEC) {
    return fail(ErrorKind::unsupported, "cannot run '{}': it is not a program for this machine",
                path);
  }
  return fail(errno_kind(error), "cannot run '{}': {}", path, errno_text(error));
}

}  // namespace picchio::os
