// A folder looked through entry by entry: for trees of many thousand files, of which most are ruled
// out by their names and never asked about.
#pragma once

#include "base/result.h"
#include "os/fd.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace picchio::os {

/// `unknown`: not every file system tells it with the name; status() does.
enum class EntryKind { file, folder, link, other, unknown };

struct EntryStatus {
  EntryKind kind = EntryKind::unknown;  // of a link what it leads to, never `link`
  std::int64_t bytes = 0;
  std::uint64_t inode = 0;  // with the device: which file it is, by whatever name
  std::uint64_t device = 0;
};

class Folder {
 public:
  /// Follows links. The error names the path.
  [[nodiscard]] static Result<Folder> open(const std::string& path);

  /// Hands over every entry but "." and "..", in the order of the file system, until `take` says
  /// false. Once only. The name lives as long as the call of `take`, and is untrusted bytes.
  [[nodiscard]] Result<> each(
      const std::function<bool(std::string_view name, EntryKind kind)>& take) const;

  /// Of an entry, links followed. A link that leads nowhere is an error of kind not_found.
  [[nodiscard]] Result<EntryStatus> status(const std::string& name) const;

  /// Of the folder itself.
  [[nodiscard]] Result<EntryStatus> status() const;

 private:
  Folder(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  UniqueFd fd_;
  std::string path_;
};

}  // namespace picchio::os
