// Arithmetic on numbers that a file claims: a sum or product that passes 2^63 stays "too large"
// whatever is done to it, so that a whole formula is checked once, at its end.
#pragma once

#include "gguf/checked.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace picchio::gguf {

/// Zero or more.
class Size {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): formulas mix both
  constexpr Size(std::int64_t value = 0) : value_(value), fits_(value >= 0) {}

  [[nodiscard]] bool fits() const { return fits_; }
  /// nullopt for what is too large.
  [[nodiscard]] std::optional<std::int64_t> value() const {
    if (!fits_) return std::nullopt;
    return value_;
  }
  /// 0 for what is too large, for a caller who has asked fits().
  [[nodiscard]] std::int64_t value_or_zero() const { return fits_ ? value_ : 0; }

  Size& operator+=(Size other) {
    fits_ = fits_ && other.fits_ && add_to(value_, other.value_);
    return *this;
  }
  Size& operator*=(Size other) {
    fits_ = fits_ && other.fits_ && multiply_by(value_, other.value_);
    return *this;
  }
  /// `divisor` is more than 0.
  Size& operator/=(std::int64_t divisor) {
    value_ /= divisor;
    return *this;
  }
  /// Not below 0.
  [[nodiscard]] Size less(Size other) const {
    if (!fits_ || !other.fits_) return too_large();
    return std::max<std::int64_t>(value_ - other.value_, 0);
  }
  [[nodiscard]] Size rounded_up(std::int64_t alignment) const {
    Size out = *this;
    out.fits_ = out.fits_ && round_up(out.value_, alignment);
    return out;
  }

  friend Size operator+(Size a, Size b) { return a += b; }
  friend Size operator*(Size a, Size b) { return a *= b; }
  friend Size operator/(Size a, std::int64_t divisor) { return a /= divisor; }

  static Size larger(Size a, Size b) {
    if (!a.fits_ || !b.fits_) return too_large();
    return std::max(a.value_, b.value_);
  }
  static Size smaller(Size a, Size b) {
    if (!a.fits_ || !b.fits_) return too_large();
    return std::min(a.value_, b.value_);
  }
  static Size too_large() { return {-1}; }

 private:
  std::int64_t value_ = 0;
  bool fits_ = true;
};

}  // namespace picchio::gguf
