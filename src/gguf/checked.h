// Arithmetic on numbers that a file claims. Each returns false instead of passing 2^63.
#pragma once

#include <cstdint>

namespace picchio::gguf {

[[nodiscard]] inline bool add_to(std::int64_t& sum, std::int64_t value) {
  return !__builtin_add_overflow(sum, value, &sum);
}

[[nodiscard]] inline bool multiply_by(std::int64_t& product, std::int64_t factor) {
  return !__builtin_mul_overflow(product, factor, &product);
}

/// `value` is not negative, `alignment` a power of two.
[[nodiscard]] inline bool round_up(std::int64_t& value, std::int64_t alignment) {
  if (!add_to(value, alignment - 1)) return false;
  value &= ~(alignment - 1);
  return true;
}

}  // namespace picchio::gguf
