// CommonCrypto, which every macOS has. Untested: written without such a machine.
#include "os/sha256.h"

#include <CommonCrypto/CommonDigest.h>

#include <algorithm>
#include <array>
#include <utility>

namespace picchio::os {

struct Sha256::State {
  CC_SHA256_CTX context{};
};

Sha256::Sha256(std::unique_ptr<State> state) : state_(std::move(state)) {}
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;
Sha256::~Sha256() = default;

Result<Sha256> Sha256::start() {
  auto state = std::make_unique<State>();
  CC_SHA256_Init(&state->context);
  return Sha256(std::move(state));
}

Result<> Sha256::add(std::span<const std::byte> bytes) {
  constexpr std::size_t kMostAtOnce = std::size_t{1} << 30U;  // CC_LONG has 32 bits
  while (!bytes.empty()) {
    const auto piece = bytes.first(std::min(bytes.size(), kMostAtOnce));
    CC_SHA256_Update(&state_->context, piece.data(), static_cast<CC_LONG>(piece.size()));
    bytes = bytes.subspan(piece.size());
  }
  return {};
}

Result<std::string> Sha256::finish() {
  std::array<unsigned char, kSha256Bytes> digest{};
  CC_SHA256_Final(digest.data(), &state_->context);
  return as_hex(digest);
}

}  // namespace picchio::os
