// What a server says of itself: where its model lies. Pure.
#pragma once

#include "evidence/run.h"
#include "evidence/verdict.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace picchio {

/// ollama's word, weighed by what its version means with it; abstains of other servers and where
/// it is known to say nothing.
[[nodiscard]] Testimony server_claim_testimony(const Run& run);

/// The model's bytes, as far as anybody tells: its header, the server, its claim.
[[nodiscard]] std::optional<std::int64_t> served_bytes(const Run& run);

/// The context of one request, as the server tells, else as its log does: that counts all slots.
[[nodiscard]] std::optional<std::int64_t> served_context(const Run& run);

/// "0.31.1" as three numbers that compare; absent for what is none, and for the "0.0.0" of a build
/// without a version.
struct ServerVersion {
  int major = 0;
  int minor = 0;
  int patch = 0;
  auto operator<=>(const ServerVersion&) const = default;
};
[[nodiscard]] std::optional<ServerVersion> parse_version(std::string_view text);

}  // namespace picchio
