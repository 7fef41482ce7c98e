// SHA-256 with the CPU's own instructions, from the library that the system has for it. Private to
// os/.
#pragma once

#include "base/result.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace picchio::os {

class Sha256 {
 public:
  [[nodiscard]] static Result<Sha256> start();

  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  ~Sha256();

  [[nodiscard]] Result<> add(std::span<const std::byte> bytes);

  /// 64 lower-case hex digits. Once, nothing is added afterwards.
  [[nodiscard]] Result<std::string> finish();

 private:
  struct State;
  explicit Sha256(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

inline constexpr std::size_t kSha256Bytes = 32;
[[nodiscard]] std::string as_hex(std::span<const unsigned char, kSha256Bytes> digest);

}  // namespace picchio::os
