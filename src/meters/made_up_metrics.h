// Test support: amdgpu's gpu_metrics as a card's firmware fills them.
#pragma once

#include <cstdint>
#include <string>

namespace picchio::meters {

class MadeUpMetrics {
 public:
  MadeUpMetrics(int format, int content, std::size_t size) : bytes_(size, '\0') {
    put<std::uint16_t>(0, static_cast<std::uint16_t>(size));
    put<std::uint8_t>(2, static_cast<std::uint8_t>(format));
    put<std::uint8_t>(3, static_cast<std::uint8_t>(content));
  }

  template <class Number>
  MadeUpMetrics& put(std::size_t offset, Number value) {
    for (std::size_t i = 0; i < sizeof(Number); ++i) {
      bytes_[offset + i] = static_cast<char>((std::uint64_t{value} >> (8 * i)) & 0xff);
    }
    return *this;
  }

  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

/// v1.3 of a discrete card: sizeof(struct gpu_metrics_v1_3) is 120.
inline MadeUpMetrics metrics_v1_3(std::uint64_t energy, std::uint64_t throttling = 0,
                                  std::uint16_t busy = 50) {
  MadeUpMetrics metrics(1, 3, 120);
  return metrics.put<std::uint16_t>(16, busy)
      .put<std::uint64_t>(24, energy)
      .put<std::uint64_t>(112, throttling);
}

}  // namespace picchio::meters
