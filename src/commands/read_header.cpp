#include "commands/read_header.h"

#include "base/text.h"
#include "os/file_head.h"

#include <fmt/format.h>

#include <utility>

namespace picchio {

Result<gguf::Header> read_file_header(const std::string& path, gguf::Accept accept) {
  const Result<os::FileHead> file = os::FileHead::open(path);
  if (!file) return std::unexpected(file.error());
  Result<gguf::Header> header = gguf::read_header(file->bytes(), file->file_bytes(), accept);
  if (file->was_cut()) {
    return fail(ErrorKind::malformed, "'{}' was cut while it was read", plain(path));
  }
  if (header) return header;
  Error error = header.error();
  error.message = fmt::format("cannot use model '{}': {}", plain(path), error.message);
  return std::unexpected(std::move(error));
}

}  // namespace picchio
