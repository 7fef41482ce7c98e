// A small file that is read over and over: an attribute in sysfs, a process's fdinfo.
#pragma once

#include "base/result.h"
#include "os/fd.h"

#include <span>
#include <string>
#include <string_view>

namespace picchio::os {

/// Kept open, so that a look costs one system call and no path lookup. What the kernel made the
/// file for can vanish (device unplugged, process ended): then each read is an error.
class KeptFile {
 public:
  /// Opening alone asks nothing of a driver and wakes no device; reading may.
  [[nodiscard]] static Result<KeptFile> open(const std::string& path);

  /// As it is now, from its start; what does not fit into `space` is cut off. The view lies in
  /// `space`. Nothing in it is an error too: no attribute of the kernel's is empty by intent.
  [[nodiscard]] Result<std::string_view> read(std::span<char> space) const;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  KeptFile(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  std::string path_;
  UniqueFd fd_;
};

}  // namespace picchio::os
