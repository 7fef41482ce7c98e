#include "gguf/token_use.h"

#include "base/text.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace picchio::gguf {
namespace {

constexpr std::string_view kEmbedding = "token_embd.weight";

// Measured on 17 architectures, llama.cpp 0.7.0. Those that are looked up give one row a token; the
// norm is computed with.
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

bool has_tensor(const std::vector<Header>& shards, std::string_view name) {
  return std::ranges::any_of(shards, [&](const Header& shard) {
    return std::ranges::find(shard.tensors, name, &HeaderTensor::name) != shard.tensors.end();
  });
}

/// Runs once for a picture, a sound or the prompt, and not for each token that is generated.
bool reads_no_text(std::string_view name) {
  for (const std::string_view encoder : {"v.", "a.", "mm.", "enc."}) {
    if (name.starts_with(encoder)) return true;
  }
  return false;
}

}  // namespace

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

bool always_on_host(std::string_view name) { return host_tensor(name) != nullptr; }

bool has_tied_output(const std::vector<Header>& shards) {
  return has_tensor(shards, kEmbedding) && !has_tensor(shards, "output.weight") &&
         shards.front().causal_attention.value_or(true);
}

TokenUse::TokenUse(const Header& first, bool tied_output)
    : first_skipped_(std::numeric_limits<std::int64_t>::max()), tied_output_(tied_output) {
  const std::int64_t experts = first.expert_count.value_or(0);
  const std::int64_t used = first.expert_used_count.value_or(experts);
  adds_up_ = used <= experts && (used > 0 || experts == 0) &&
             experts <= std::numeric_limits<std::int32_t>::max();
  if (adds_up_) {
    experts_ = experts;
    used_ = used;
  }
  const std::int64_t blocks = first.block_count.value_or(0);
  const std::int64_t nextn = first.nextn_predict_layers.value_or(0);
  if (nextn > 0 && nextn < blocks) first_skipped_ = blocks - nextn;
}

bool TokenUse::skips(int block) const { return block >= first_skipped_; }

std::int64_t TokenUse::share(const HeaderTensor& tensor, std::int64_t whole) const {
  if (experts_ == 0 || tensor.name.find("_exps") == std::string::npos) return whole;
  // Experts are equal parts; the remainder (below 2^31, as `used_` is) only stands in odd files.
  return whole / experts_ * used_ + whole % experts_ * used_ / experts_;
}

std::int64_t TokenUse::parameters(const HeaderTensor& tensor) const {
  if (skips(block_of(tensor.name)) || reads_no_text(tensor.name)) return 0;
  return share(tensor, tensor.elements);
}

std::int64_t TokenUse::bytes(const HeaderTensor& tensor) const {
  const std::int64_t whole = tensor.bytes.value_or(0);
  if (whole == 0 || skips(block_of(tensor.name)) || reads_no_text(tensor.name)) return 0;
  const HostTensor* host = host_tensor(tensor.name);
  if (host == nullptr || !host->looked_up) return share(tensor, whole);
  if (tied_output_ && tensor.name == kEmbedding) return whole;
  return whole / (tensor.elements / tensor.ne[0]);  // a row; not empty, since it weighs something
}

}  // namespace picchio::gguf
