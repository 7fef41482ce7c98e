// A file that only grows, for as long as somebody watches something: a log.
#pragma once

#include "base/result.h"
#include "os/fd.h"

#include <string>
#include <string_view>

namespace picchio::os {

class AppendFile {
 public:
  /// Made with mode 0600 where there is none; what it holds stays.
  [[nodiscard]] static Result<AppendFile> open(std::string path);

  /// All of it, at the file's end, whoever else appends. After an error it may hold a part.
  [[nodiscard]] Result<> append(std::string_view bytes);

  /// The file of that name as it is now: whoever rotates logs moves the old one away.
  [[nodiscard]] Result<> reopen();

 private:
  AppendFile(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  std::string path_;
  UniqueFd fd_;
};

}  // namespace picchio::os
