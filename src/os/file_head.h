// The beginning of a file, mapped: headers of many MiB are looked at without a copy.
#pragma once

#include "base/result.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace picchio::os {

/// At most kMostBytes of a regular file. Somebody may cut the file meanwhile (a download that
/// starts anew): a look at what is gone reads zeros then, and was_cut() says so. An empty file, a
/// folder, a pipe or a device is an error. Eight of them at a time in a process.
class FileHead {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{256} << 20U;

  [[nodiscard]] static Result<FileHead> open(const std::string& path);

  FileHead(FileHead&& other) noexcept;
  FileHead& operator=(FileHead&& other) noexcept;
  FileHead(const FileHead&) = delete;
  FileHead& operator=(const FileHead&) = delete;
  ~FileHead();

  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
  /// Of the whole file, when it was opened.
  [[nodiscard]] std::int64_t file_bytes() const { return file_bytes_; }
  [[nodiscard]] bool was_cut() const;

 private:
  FileHead(std::span<const std::byte> bytes, std::int64_t file_bytes, std::size_t guard)
      : bytes_(bytes), file_bytes_(file_bytes), guard_(guard) {}

  std::span<const std::byte> bytes_;
  std::int64_t file_bytes_ = 0;
  std::size_t guard_ = 0;  // which place of the table of guarded ranges
};

}  // namespace picchio::os
