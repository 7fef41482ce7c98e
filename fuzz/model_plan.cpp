// Any bytes as the header of a model that is planned for: whatever the file claims, a forecast is
// made in bounded time or refused in one line, and what is recommended fits.
#include "base/text.h"
#include "gguf/header.h"
#include "gguf/memory/fit.h"
#include "gguf/memory/token_reads.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

using picchio::Fit;
using picchio::plain;
using picchio::gguf::Accept;
using picchio::gguf::Choice;
using picchio::gguf::Header;
using picchio::gguf::Room;
using picchio::gguf::Wish;

void require(bool holds) {
  if (!holds) std::abort();
}

// More than any input claims for certain: sizes past it are priced too.
constexpr std::int64_t kFile = std::int64_t{1} << 50;

/// Settings and room from the first bytes.
struct Case {
  Wish wish;
  Room room;
};

Case case_of(std::span<const std::uint8_t> bytes) {
  Case out;
  out.room.margin = 0;
  out.room.host = std::int64_t{bytes[0]} << 24;
  for (int i = 0; i < bytes[1] % 3; ++i) {
    const std::int64_t free = std::int64_t{bytes[2]} << (12 + bytes[3] % 24);
    out.wish.placement.devices.push_back({.name = "GPU", .free_bytes = free});
    out.room.devices.push_back(free);
  }
  out.wish.context.n_ctx = std::int64_t{bytes[4]} << (bytes[5] % 24);
  out.wish.context_fixed = out.wish.context.n_ctx > 0;
  out.wish.context.n_ubatch = 1 + (std::int64_t{bytes[6]} << 4);
  if ((bytes[7] & 1U) != 0) out.wish.context.program = picchio::gguf::Program::server;
  if ((bytes[7] & 2U) != 0) out.wish.context.cache_type_k = "q8_0";
  if ((bytes[7] & 4U) != 0) out.wish.context.flash_attention = picchio::gguf::FlashAttention::off;
  if ((bytes[7] & 8U) != 0) out.wish.context.n_parallel = 3;
  return out;
}

void check(const Choice& choice, const Room& room) {
  require(choice.fit == Fit::fits || choice.fit == Fit::not_judged);
  for (std::size_t i = 0; i < choice.need.devices.size(); ++i) {
    require(choice.need.devices[i].total() <= room.devices[i]);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kSettings = 8;
  if (size < kSettings) return 0;
  const std::span<const std::uint8_t> bytes(data, size);
  const Case asked = case_of(bytes);
  auto header =
      picchio::gguf::read_header(std::as_bytes(bytes.subspan(kSettings)), kFile, Accept::loadable);
  if (!header) return 0;
  std::vector<Header> shards;
  shards.push_back(*std::move(header));
  const auto advice = picchio::gguf::advise(shards, asked.wish, asked.room);
  if (!advice) {
    require(advice.error().message == plain(advice.error().message));
    return 0;
  }
  if (const auto& best = advice->best) check(*best, asked.room);
  const auto reads =
      picchio::gguf::token_reads(shards, asked.wish.context, asked.wish.placement, 1000);
  if (reads) require(reads->host.bytes >= 0 && reads->host.weights >= reads->host.head_weights);
  return 0;
}
