// Any bytes as a model file: read as a whole file, as the beginning of a huge one (so that sizes
// past the input can be priced), and as a shard. Besides crashing, an answer that breaks its
// contract counts.
#include "base/text.h"
#include "gguf/header.h"
#include "gguf/model.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <span>
#include <string>

namespace {

using picchio::Error;
using picchio::ModelFile;
using picchio::Result;
using picchio::gguf::Header;

void require(bool holds) {
  if (!holds) std::abort();
}

void check(const Error& error) {
  require(!error.message.empty());
  require(error.message == picchio::plain(error.message));  // fit for a terminal as it is: one line
  require(error.hint == picchio::plain(error.hint));
}

void check(const Header& header, std::size_t size) {
  require(header.version == 2 || header.version == 3);
  require(header.tensors.size() <= size / 24);
  std::int64_t last_end = header.data_offset;
  for (const auto& tensor : header.tensors) {
    require(tensor.elements >= 0 && tensor.bytes >= 0 && !tensor.type.empty());
    require(tensor.offset % header.alignment == 0);
    require(header.data_offset + tensor.offset >= last_end);
    last_end = header.data_offset + tensor.offset + tensor.bytes;
    require(last_end <= header.file_bytes);
  }
}

void check(const ModelFile& model) {
  require(model.tensor_bytes >= 0 && model.tensor_bytes <= model.file_bytes);
  require(model.parameters >= 0);
  for (const std::int64_t part : {model.always_host_bytes, model.skipped_bytes,
                                  model.token_embd_bytes, model.bytes_per_token}) {
    require(part >= 0 && part <= model.tensor_bytes);
  }
}

void read(std::span<const std::byte> bytes, std::int64_t file_bytes) {
  Result<Header> header = picchio::gguf::read_header(bytes, file_bytes);
  if (!header) return check(header.error());
  check(*header, bytes.size());
  const std::string path = "m-00001-of-00002.gguf";
  const auto paths = picchio::gguf::shard_paths(path, *header);
  if (!paths) check(paths.error());
  const auto pair = picchio::gguf::price({*header, *header}, {path, path});
  if (pair) {
    check(*pair);
  } else {
    check(pair.error());
  }
  const auto model = picchio::gguf::price({*std::move(header)}, {path});
  if (model) return check(*model);
  check(model.error());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  read(bytes, static_cast<std::int64_t>(size));
  read(bytes, std::numeric_limits<std::int64_t>::max());
  if (size > 0) read(bytes.first(size - 1), static_cast<std::int64_t>(size));
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto paths = picchio::gguf::shard_paths(text, 3);
  if (!paths) check(paths.error());
  return 0;
}
