#include "gguf/model.h"

#include "base/text.h"
#include "gguf/checked.h"
#include "gguf/header_bytes.h"
#include "gguf/types.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace picchio::gguf {
namespace {

constexpr std::int64_t kMaxShards = 65535;  // split.count is a u16
constexpr std::int64_t kMaxBlocks = 512;    // llama.cpp's LLAMA_MAX_LAYERS

// Kept in host memory whatever is offloaded (measured on 17 architectures, llama.cpp 0.7.0). Those
// that are looked up give one row a token; the norm is computed with.
struct HostTensor {
  std::string_view name;
  bool looked_up;
};
constexpr HostTensor kAlwaysHost[] = {
    {"token_embd", true},  {"token_embd_norm", false},     {"position_embd", true},
    {"token_types", true}, {"per_layer_token_embd", true},
};

std::string_view without_role(std::string_view name) {
  for (const std::string_view role : {".weight", ".bias"}) {
    if (name.ends_with(role)) return name.substr(0, name.size() - role.size());
  }
  return name;
}

const HostTensor* host_tensor(std::string_view name) {
  const auto* row = std::ranges::find(kAlwaysHost, without_role(name), &HostTensor::name);
  return row != std::end(kAlwaysHost) ? row : nullptr;
}

int block_of(std::string_view name) {
  if (!take_prefix(name, "blk.")) return -1;
  const auto point = name.find('.');
  if (point == std::string_view::npos || name.empty() || name.front() < '0' || name.front() > '9') {
    return -1;
  }
  const auto number = parse_int(name.substr(0, point));
  if (!number || *number > std::numeric_limits<int>::max()) return -1;
  return static_cast<int>(*number);
}

bool is_number(std::string_view digits) {
  return digits.size() == 5 &&
         std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
}

// --- checks across shards

Result<> check_place(const Header& shard, std::size_t index, std::size_t count,
                     const std::string& path) {
  const std::int64_t claimed = shard.split_count.value_or(0);
  const auto shards = static_cast<std::int64_t>(count);
  if (claimed <= 1 && shards == 1) return {};
  if (claimed <= 1)
    return fail(ErrorKind::malformed, "'{}' is not a shard of a split model", plain(path));
  const std::int64_t number = shard.split_no.value_or(0);
  if (number >= claimed) {
    return fail(ErrorKind::malformed, "'{}' calls itself shard {} of {}", plain(path), number + 1,
                claimed);
  }
  if (claimed != shards) {
    return fail(ErrorKind::malformed, "'{}' is one of {} shards, {} {} given", plain(path), claimed,
                shards, shards == 1 ? "was" : "were");
  }
  if (number != static_cast<std::int64_t>(index)) {
    return fail(ErrorKind::malformed, "'{}' is shard {} of {} where shard {} is due", plain(path),
                number + 1, claimed, index + 1);
  }
  return {};
}

Result<> check_tensor_counts(const std::vector<Header>& shards,
                             const std::vector<std::string>& paths) {
  if (shards.size() == 1) return {};
  std::int64_t tensors = 0;
  for (const Header& shard : shards) tensors += static_cast<std::int64_t>(shard.tensors.size());
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const auto claimed = shards[i].split_tensors_count;
    if (i == 0 && !claimed) {
      return fail(ErrorKind::malformed, "'{}' does not say how many tensors the shards hold",
                  plain(paths[i]));
    }
    if (claimed && *claimed != tensors) {
      return fail(ErrorKind::malformed, "'{}' says that the shards hold {} tensors, they hold {}",
                  plain(paths[i]), *claimed, tensors);
    }
  }
  return {};
}

Result<> check_names(const std::vector<Header>& shards, const std::vector<std::string>& paths) {
  if (shards.size() == 1) return {};  // within one file the reader saw to it
  std::map<std::string_view, std::size_t> first_in;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    for (const HeaderTensor& tensor : shards[i].tensors) {
      const auto [found, is_new] = first_in.try_emplace(tensor.name, i);
      if (is_new) continue;
      return fail(ErrorKind::malformed, "tensor '{}' is in '{}' and again in '{}'",
                  shown(tensor.name), plain(paths[found->second]), plain(paths[i]));
    }
  }
  return {};
}

Result<> check_values(const Header& first) {
  if (!first.architecture) {
    return fail(ErrorKind::malformed, "the header has no general.architecture");
  }
  const std::string arch = shown(*first.architecture);
  const std::int64_t blocks = first.block_count.value_or(0);
  if (blocks > kMaxBlocks) {
    return fail(ErrorKind::malformed, "{}.block_count is {}, engines take {}", arch, blocks,
                kMaxBlocks);
  }
  const std::int64_t nextn = first.nextn_predict_layers.value_or(0);
  if (nextn > 0 && nextn >= blocks) {
    return fail(ErrorKind::malformed, "{}.nextn_predict_layers is {} of {} blocks", arch, nextn,
                blocks);
  }
  const std::int64_t experts = first.expert_count.value_or(0);
  if (experts > std::numeric_limits<std::int32_t>::max()) {
    return fail(ErrorKind::malformed, "{}.expert_count is {}", arch, experts);
  }
  const std::int64_t used = first.expert_used_count.value_or(experts);
  if (used > experts || (experts > 0 && used == 0)) {
    return fail(ErrorKind::malformed, "{}.expert_used_count is {} of {} experts", arch, used,
                experts);
  }
  return {};
}

Result<> check(const std::vector<Header>& shards, const std::vector<std::string>& paths) {
  if (shards.empty() || shards.size() != paths.size()) {
    return fail(ErrorKind::failed, "{} headers with {} paths make no model", shards.size(),
                paths.size());
  }
  for (std::size_t i = 0; i < shards.size(); ++i) {
    if (auto ok = check_place(shards[i], i, shards.size(), paths[i]); !ok) return ok;
  }
  if (auto ok = check_tensor_counts(shards, paths); !ok) return ok;
  if (auto ok = check_names(shards, paths); !ok) return ok;
  return check_values(shards.front());
}

// --- prices

/// The share of a tensor's bytes that one token reads, were it not an embedding.
std::int64_t bytes_in_use(const HeaderTensor& tensor, const Header& first) {
  const std::int64_t experts = first.expert_count.value_or(0);
  if (experts == 0 || tensor.name.find("_exps") == std::string::npos) return tensor.bytes;
  const std::int64_t used = first.expert_used_count.value_or(experts);
  // Experts are equal parts; the remainder (below 2^31, as `used` is) only stands in odd files.
  return tensor.bytes / experts * used + tensor.bytes % experts * used / experts;
}

std::int64_t row_bytes(const HeaderTensor& tensor) {
  return tensor.elements == 0 ? 0 : tensor.bytes / (tensor.elements / tensor.ne[0]);
}

/// Adds one tensor to the sums. False past 2^63.
bool add_tensor(ModelFile& model, const HeaderTensor& tensor, const Header& first) {
  if (!add_to(model.tensor_bytes, tensor.bytes)) return false;
  if (!add_to(model.parameters, tensor.elements)) return false;
  // All that follows is a part of tensor_bytes, so it cannot overflow.
  const int block = block_of(tensor.name);
  const std::int64_t nextn = first.nextn_predict_layers.value_or(0);
  const bool skipped = nextn > 0 && block >= first.block_count.value_or(0) - nextn;
  const HostTensor* host = host_tensor(tensor.name);
  if (tensor.name == "token_embd.weight") model.token_embd_bytes = tensor.bytes;
  if (host != nullptr) model.always_host_bytes += tensor.bytes;
  if (skipped) {
    model.skipped_bytes += tensor.bytes;
  } else if (host != nullptr && host->looked_up) {
    const bool whole = model.tied_output && tensor.name == "token_embd.weight";
    model.bytes_per_token += whole ? tensor.bytes : row_bytes(tensor);
  } else {
    model.bytes_per_token += bytes_in_use(tensor, first);
  }
  model.tensors.push_back(
      {tensor.name, std::string(tensor.type), tensor.elements, tensor.bytes, block});
  return true;
}

bool has_tensor(const std::vector<Header>& shards, std::string_view name) {
  return std::ranges::any_of(shards, [&](const Header& shard) {
    return std::ranges::find(shard.tensors, name, &HeaderTensor::name) != shard.tensors.end();
  });
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

std::optional<ShardName> shard_name(std::string_view path) {
  constexpr std::string_view kEnd = "-00001-of-00001.gguf";
  if (path.size() <= kEnd.size()) return std::nullopt;
  const std::string_view end = path.substr(path.size() - kEnd.size());
  const std::string_view number = end.substr(1, 5);
  const std::string_view count = end.substr(10, 5);
  if (end.front() != '-' || end.substr(6, 4) != "-of-" || end.substr(15) != ".gguf" ||
      !is_number(number) || !is_number(count)) {
    return std::nullopt;
  }
  ShardName name{std::string(path.substr(0, path.size() - kEnd.size())),
                 parse_int(number).value_or(0), parse_int(count).value_or(0)};
  if (name.number < 1 || name.number > name.count) return std::nullopt;
  return name;
}

Result<std::vector<std::string>> shard_paths(std::string_view path, std::int64_t split_count) {
  if (split_count <= 1) return std::vector<std::string>{std::string(path)};
  if (split_count > kMaxShards) {
    return fail(ErrorKind::malformed, "'{}' claims {} shards, the format has room for {}",
                plain(path), split_count, kMaxShards);
  }
  const auto name = shard_name(path);
  const std::string pattern = fmt::format("-00001-of-{:05}.gguf", split_count);
  if (!name) {
    return with_hint(
        fail(ErrorKind::malformed,
             "'{}' is one of {} shards, but its name does not end in '-NNNNN-of-{:05}.gguf', "
             "by which engines find the others",
             plain(path), split_count, split_count),
        "give the shards their first names back");
  }
  if (name->count != split_count) {
    return fail(ErrorKind::malformed, "'{}' is one of {} shards by its name, of {} by its header",
                plain(path), name->count, split_count);
  }
  if (name->number != 1) {
    return with_hint(
        fail(ErrorKind::unsupported, "'{}' is shard {} of {}, and engines start from the first",
             plain(path), name->number, split_count),
        fmt::format("give '{}{}'", plain(name->prefix), pattern));
  }
  std::vector<std::string> paths;
  for (std::int64_t i = 1; i <= split_count; ++i) {
    paths.push_back(fmt::format("{}-{:05}-of-{:05}.gguf", name->prefix, i, split_count));
  }
  return paths;
}

Result<std::vector<std::string>> shard_paths(std::string_view path, const Header& header) {
  auto paths = shard_paths(path, header.split_count.value_or(0));
  // A renamed shard: the pattern says first, the header knows better.
  const std::int64_t number = header.split_no.value_or(0);
  if (paths && paths->size() > 1 && number != 0) {
    return fail(ErrorKind::malformed, "'{}' is the first shard by its name, shard {} by its header",
                plain(path), number + 1);
  }
  return paths;
}

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
  model.tied_output = has_tensor(shards, "token_embd.weight") &&
                      !has_tensor(shards, "output.weight") && first.causal_attention.value_or(true);
  for (const Header& shard : shards) {
    bool fits = add_to(model.file_bytes, shard.file_bytes);
    for (const HeaderTensor& tensor : shard.tensors)
      fits = fits && add_tensor(model, tensor, first);
    if (!fits)
      return fail(ErrorKind::malformed, "the shards claim more than 2^63 bytes or elements");
  }
  model.shards = std::move(paths);
  return model;
}

}  // namespace picchio::gguf
