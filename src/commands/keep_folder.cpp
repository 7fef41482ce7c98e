#include "commands/keep_folder.h"

#include "base/text.h"
#include "os/file.h"

namespace picchio {

Result<> prepare_keep_folder(const std::string& folder) {
  if (folder.empty()) return {};
  if (const Result<> made = os::make_dirs(folder); !made) return made;
  const auto names = os::list_dir(folder);
  if (!names) return std::unexpected(names.error());
  if (!names->empty()) {
    return with_hint(fail(ErrorKind::unsupported, "folder '{}' is not empty", plain(folder)),
                     "each kept run wants a folder of its own");
  }
  return {};
}

}  // namespace picchio
