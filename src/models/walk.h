// The model files below one folder.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace picchio::models {

/// Device and inode.
using FileKey = std::pair<std::uint64_t, std::uint64_t>;

struct WalkedFile {
  std::string path;        // relative to the root; of a split model the first part
  std::int64_t bytes = 0;  // of all parts
  int parts = 1;
  FileKey key = {};  // of the first part
  bool link = false;
};

struct WalkLimits {
  int depth = 0;  // folders below the root that are entered, one inside the other
  /// Names that are looked at; counted down, so that several walks can share them.
  std::int64_t* names = nullptr;
};

struct Walk {
  std::vector<WalkedFile> files;  // in no order
  std::vector<Error> refused;     // folders that could not be read
  bool cut = false;               // more names than the limit
};

/// Links are followed, each folder is entered once, hidden ones (".git") never. The nearest folders
/// come first, so that a limit takes the far ones. Left out: what file_names.h says is no model,
/// empty files, those of an unfinished download, split models with a part missing, and what stands
/// in place of a file (a pointer of git-lfs, a web page that says why). A root that does not exist
/// is an empty walk.
[[nodiscard]] Walk walk_models(const std::string& root, WalkLimits limits);

}  // namespace picchio::models
