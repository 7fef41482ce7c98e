#include "commands/open_model.h"

#include "base/text.h"
#include "commands/read_header.h"
#include "gguf/header.h"
#include "gguf/model.h"

#include <fmt/format.h>

#include <vector>

namespace picchio {
namespace {

// "cannot use model 'x.gguf': WHY", the reader's hint kept.
std::unexpected<Error> about(const std::string& path, Error error) {
  error.message = fmt::format("cannot use model '{}': {}", plain(path), error.message);
  return std::unexpected(std::move(error));
}

}  // namespace

Result<ModelFile> open_model(const std::string& path) {
  Result<gguf::Header> first = read_file_header(path, gguf::Accept::loadable);
  if (!first) return std::unexpected(first.error());
  Result<std::vector<std::string>> paths = gguf::shard_paths(path, *first);
  if (!paths) return about(path, paths.error());
  std::vector<gguf::Header> headers;
  headers.push_back(*std::move(first));
  for (std::size_t i = 1; i < paths->size(); ++i) {
    Result<gguf::Header> shard = read_file_header((*paths)[i], gguf::Accept::loadable);
    if (!shard) return std::unexpected(shard.error());
    headers.push_back(*std::move(shard));
  }
  Result<ModelFile> model = gguf::price(std::move(headers), *std::move(paths));
  if (!model) return about(path, model.error());
  return model;
}

}  // namespace picchio
