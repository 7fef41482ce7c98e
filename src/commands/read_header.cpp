#include "commands/read_header.h"

#include "base/text.h"
#include "os/file.h"

#include <fmt/format.h>

#include <algorithm>

namespace picchio {

Result<gguf::Header> read_file_header(const std::string& path, gguf::Accept accept) {
  Result<os::FileHead> file = os::FileHead::open(path);
  if (!file) return std::unexpected(file.error());
  for (;;) {
    std::int64_t needed = 0;
    Result<gguf::Header> header =
        gguf::read_header(file->bytes(), file->file_bytes(), accept, &needed);
    if (header) return header;
    if (header.error().kind != ErrorKind::failed) {
      Error error = header.error();
      error.message = fmt::format("cannot use model '{}': {}", plain(path), error.message);
      return std::unexpected(std::move(error));
    }
    // A quarter more each time, where the reader does not know how far it goes.
    const std::size_t have = file->bytes().size();
    const auto whole = static_cast<std::size_t>(
        std::min<std::int64_t>(file->file_bytes(), os::FileHead::kMostBytes));
    const std::size_t wanted =
        std::max({static_cast<std::size_t>(needed), have + have / 4, have + 1});
    if (const Result<> grown = file->grow(std::min(wanted, whole)); !grown) {
      return std::unexpected(grown.error());
    }
  }
}

}  // namespace picchio
