#include "gguf/model.h"

#include "base/text.h"
#include "gguf/checked.h"
#include "gguf/header_bytes.h"
#include "gguf/token_use.h"
#include "gguf/types.h"

#include <cstddef>
#include <map>
#include <string_view>
#include <utility>

namespace picchio::gguf {
namespace {

Result<> check(const std::vector<Header>& shards, const std::vector<std::string>& paths) {
  if (auto ok = check_set(shards, paths); !ok) return ok;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const Header& shard = shards[i];
    if (!shard.file_bytes) {
      return fail(ErrorKind::failed, "the size of '{}' is not known", plain(paths[i]));
    }
    for (const auto* refusals : {&shard.objections, &shard.audit.faults}) {
      if (!refusals->empty()) return fail(ErrorKind::unsupported, "{}", refusals->front());
    }
  }
  Objections none(Accept::loadable);
  return check_values(shards.front(), none);
}

/// Adds one tensor to the sums. False past 2^63.
bool add_tensor(ModelFile& model, const HeaderTensor& tensor, const TokenUse& use) {
  const std::int64_t bytes = tensor.bytes.value_or(0);  // present: check() saw to it
  if (!add_to(model.tensor_bytes, bytes)) return false;
  if (!add_to(model.parameters, tensor.elements)) return false;
  // All that follows is a part of tensor_bytes, so it cannot overflow.
  const int block = block_of(tensor.name);
  if (tensor.name == "token_embd.weight") model.token_embd_bytes = bytes;
  if (always_on_host(tensor.name)) model.always_host_bytes += bytes;
  if (use.skips(block)) model.skipped_bytes += bytes;
  model.bytes_per_token += use.bytes(tensor);
  model.tensors.push_back({tensor.name, tensor.type, tensor.elements, bytes, block});
  return true;
}

std::string file_type_of(const std::vector<Header>& shards) {
  const std::optional<std::int64_t> number = shards.front().file_type;
  if (number) return file_type_words(*number);
  std::map<std::string_view, std::int64_t> census;
  std::string_view most;
  for (const Header& shard : shards) {
    for (const HeaderTensor& tensor : shard.tensors) {
      if (++census[tensor.type] > (most.empty() ? 0 : census[most])) most = tensor.type;
    }
  }
  const auto guess = file_type_guess(most);
  return guess ? file_type_words(*guess | kGuessedFileType) : "";
}

}  // namespace

Result<ModelFile> price(std::vector<Header> shards, std::vector<std::string> paths) {
  if (auto ok = check(shards, paths); !ok) return std::unexpected(std::move(ok).error());
  const Header& first = shards.front();
  ModelFile model;
  model.path = paths.front();
  model.name = first.name.value_or("");
  model.architecture = first.architecture.value_or("");  // present: check() saw to it
  model.file_type = file_type_of(shards);
  model.block_count = first.block_count;
  model.context_length = first.context_length;
  model.expert_count = first.expert_count;
  model.expert_used_count = first.expert_used_count;
  model.nextn_predict_layers = first.nextn_predict_layers;
  model.tied_output = has_tied_output(shards);
  const TokenUse use(first, model.tied_output);
  for (const Header& shard : shards) {
    bool fits = add_to(model.file_bytes, shard.file_bytes.value_or(0));
    for (const HeaderTensor& tensor : shard.tensors) fits = fits && add_tensor(model, tensor, use);
    if (!fits)
      return fail(ErrorKind::malformed, "the shards claim more than 2^63 bytes or elements");
  }
  model.shards = std::move(paths);
  return model;
}

}  // namespace picchio::gguf
