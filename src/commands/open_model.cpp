#include "commands/open_model.h"

#include "base/text.h"
#include "gguf/header.h"
#include "gguf/model.h"
#include "os/file.h"

#include <fmt/format.h>

#include <vector>

namespace picchio {
namespace {

// "cannot use model 'x.gguf': WHY", the reader's hint kept.
std::unexpected<Error> about(const std::string& path, Error error) {
  error.message = fmt::format("cannot use model '{}': {}", plain(path), error.message);
  return std::unexpected(std::move(error));
}

Result<gguf::Header> read_shard(const std::string& path) {
  const Result<os::MappedFile> file = os::MappedFile::open(path);
  if (!file) return std::unexpected(file.error());
  Result<gguf::Header> header = gguf::read_header(file->bytes(), file->size());
  if (!header) return about(path, header.error());
  return header;
}

}  // namespace

Result<ModelFile> open_model(const std::string& path) {
  Result<gguf::Header> first = read_shard(path);
  if (!first) return std::unexpected(first.error());
  Result<std::vector<std::string>> paths = gguf::shard_paths(path, *first);
  if (!paths) return about(path, paths.error());
  std::vector<gguf::Header> headers;
  headers.push_back(*std::move(first));
  for (std::size_t i = 1; i < paths->size(); ++i) {
    Result<gguf::Header> shard = read_shard((*paths)[i]);
    if (!shard) return std::unexpected(shard.error());
    headers.push_back(*std::move(shard));
  }
  Result<ModelFile> model = gguf::price(std::move(headers), *std::move(paths));
  if (!model) return about(path, model.error());
  return model;
}

}  // namespace picchio
