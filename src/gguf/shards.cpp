#include "gguf/shards.h"

#include "base/text.h"
#include "gguf/header_bytes.h"

#include <algorithm>
#include <limits>
#include <map>

namespace picchio::gguf {
namespace {

constexpr std::int64_t kMaxShards = 65535;  // split.count is a u16
constexpr std::int64_t kMaxBlocks = 512;    // llama.cpp's LLAMA_MAX_LAYERS

/// The name of one of `count` shards, which its path must spell.
Result<ShardName> name_in_set(std::string_view path, std::int64_t count) {
  if (count > kMaxShards) {
    return fail(ErrorKind::malformed, "'{}' claims {} shards, the format has room for {}",
                plain(path), count, kMaxShards);
  }
  const auto name = shard_name(path);
  if (!name) {
    return with_hint(
        fail(ErrorKind::malformed,
             "'{}' is one of {} shards, but its name does not end in '-NNNNN-of-{:05}.gguf', "
             "by which engines find the others",
             plain(path), count, count),
        "give the shards their first names back");
  }
  if (name->count != count) {
    return fail(ErrorKind::malformed, "'{}' is one of {} shards by its name, of {} by its header",
                plain(path), name->count, count);
  }
  return *name;
}

/// From 1, for people; a header can claim any.
std::string shard_number(const Header& header) {
  return fmt::format("{}", static_cast<std::uint64_t>(header.split_no.value_or(0)) + 1);
}

std::vector<std::string> all_paths(const ShardName& name) {
  std::vector<std::string> paths;
  for (std::int64_t i = 1; i <= name.count; ++i) {
    paths.push_back(fmt::format("{}-{:05}-of-{:05}.gguf", name.prefix, i, name.count));
  }
  return paths;
}

Result<> check_place(const Header& shard, std::size_t index, std::size_t count,
                     const std::string& path) {
  const std::int64_t claimed = shard.split_count.value_or(0);
  const auto shards = static_cast<std::int64_t>(count);
  if (claimed <= 1 && shards == 1) return {};
  if (claimed <= 1)
    return fail(ErrorKind::malformed, "'{}' is not a shard of a split model", plain(path));
  const std::int64_t number = shard.split_no.value_or(0);
  if (number >= claimed) {
    return fail(ErrorKind::malformed, "'{}' calls itself shard {} of {}", plain(path),
                shard_number(shard), claimed);
  }
  if (claimed != shards) {
    return fail(ErrorKind::malformed, "'{}' is one of {} shards, {} {} given", plain(path), claimed,
                shards, shards == 1 ? "was" : "were");
  }
  if (number != static_cast<std::int64_t>(index)) {
    return fail(ErrorKind::malformed, "'{}' is shard {} of {} where shard {} is due", plain(path),
                shard_number(shard), claimed, index + 1);
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

Result<> check_architecture(const Header& first) {
  if (first.architecture) return {};
  return fail(ErrorKind::malformed, "the header has no general.architecture");
}

Result<> check_blocks(const Header& first) {
  const std::int64_t blocks = first.block_count.value_or(0);
  if (blocks <= kMaxBlocks) return {};
  return fail(ErrorKind::malformed, "{}.block_count is {}, engines take {}",
              shown(first.architecture.value_or("")), blocks, kMaxBlocks);
}

Result<> check_next_token(const Header& first) {
  const std::int64_t blocks = first.block_count.value_or(0);
  const std::int64_t nextn = first.nextn_predict_layers.value_or(0);
  if (nextn == 0 || nextn < blocks) return {};
  return fail(ErrorKind::malformed, "{}.nextn_predict_layers is {} of {} blocks",
              shown(first.architecture.value_or("")), nextn, blocks);
}

Result<> check_experts(const Header& first) {
  const std::string arch = shown(first.architecture.value_or(""));
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

struct ValueRule {
  Objection kind;
  Result<> (*check)(const Header& first);
};
constexpr ValueRule kValueRules[] = {
    {Objection::architecture, check_architecture},
    {Objection::counts, check_blocks},
    {Objection::counts, check_next_token},
    {Objection::counts, check_experts},
};

}  // namespace

Result<std::vector<std::string>> shard_paths(std::string_view path, std::int64_t split_count) {
  if (split_count <= 1) return std::vector<std::string>{std::string(path)};
  const auto name = name_in_set(path, split_count);
  if (!name) return std::unexpected(name.error());
  if (name->number != 1) {
    return with_hint(
        fail(ErrorKind::unsupported, "'{}' is shard {} of {}, and engines start from the first",
             plain(path), name->number, split_count),
        fmt::format("give '{}'", plain(all_paths(*name).front())));
  }
  return all_paths(*name);
}

Result<std::vector<std::string>> shard_paths(std::string_view path, const Header& header) {
  auto paths = shard_paths(path, header.split_count.value_or(0));
  // A renamed shard: the pattern says first, the header knows better.
  const std::int64_t number = header.split_no.value_or(0);
  if (paths && paths->size() > 1 && number != 0) {
    return fail(ErrorKind::malformed, "'{}' is the first shard by its name, shard {} by its header",
                plain(path), shard_number(header));
  }
  return paths;
}

Result<std::vector<std::string>> shard_set_paths(std::string_view path, const Header& header) {
  const std::int64_t count = header.split_count.value_or(0);
  if (count <= 1) return std::vector<std::string>{std::string(path)};
  const auto name = name_in_set(path, count);
  if (!name) return std::unexpected(name.error());
  if (header.split_no && *header.split_no != name->number - 1) {
    return fail(ErrorKind::malformed, "'{}' is shard {} by its name, shard {} by its header",
                plain(path), name->number, shard_number(header));
  }
  return all_paths(*name);
}

namespace {

/// Shards after the first say nothing of the model; one that does has to say the same.
Result<> check_kin(const Header& first, const Header& shard, const std::string& path) {
  if (shard.architecture && shard.architecture != first.architecture) {
    return fail(ErrorKind::malformed, "'{}' is a shard of another model: its architecture is {}",
                plain(path), shown(*shard.architecture));
  }
  if (shard.big_endian != first.big_endian) {
    return fail(ErrorKind::malformed, "'{}' has another byte order than the first shard",
                plain(path));
  }
  return {};
}

}  // namespace

Result<> check_set(const std::vector<Header>& shards, const std::vector<std::string>& paths) {
  if (shards.empty() || shards.size() != paths.size()) {
    return fail(ErrorKind::failed, "{} headers with {} paths make no model", shards.size(),
                paths.size());
  }
  for (std::size_t i = 0; i < shards.size(); ++i) {
    if (auto ok = check_place(shards[i], i, shards.size(), paths[i]); !ok) return ok;
  }
  for (std::size_t i = 1; i < shards.size(); ++i) {
    if (auto ok = check_kin(shards.front(), shards[i], paths[i]); !ok) return ok;
  }
  if (auto ok = check_tensor_counts(shards, paths); !ok) return ok;
  return check_names(shards, paths);
}

Result<> check_values(const Header& first, Objections& objections) {
  for (const ValueRule& rule : kValueRules) {
    const auto fault = rule.check(first);
    if (fault) continue;
    if (auto ok = objections.raise(rule.kind, std::unexpected(fault.error())); !ok) return ok;
  }
  return {};
}

}  // namespace picchio::gguf
