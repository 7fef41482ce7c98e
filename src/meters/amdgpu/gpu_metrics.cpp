#include "meters/amdgpu/gpu_metrics.h"

#include <concepts>
#include <limits>

namespace picchio::meters::amdgpu {
namespace {

// The kernel runs on the same machine, and every one with such a card is little-endian; put
// together by hand it does not matter which one replays it.
template <std::unsigned_integral Number>
std::optional<Number> field(std::string_view bytes, std::size_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(Number)) return std::nullopt;
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    value |= std::uint64_t{static_cast<unsigned char>(bytes[offset + i])} << (8 * i);
  }
  const auto number = static_cast<Number>(value);
  if (number == std::numeric_limits<Number>::max()) return std::nullopt;
  return number;
}

// struct gpu_metrics_v1_1 to v1_4. Behind the header v1_1 to v1_3 have six temperatures, three
// activities and the socket's power of two bytes each; v1_4 has as many bytes of others.
constexpr std::size_t kBusy = 16;
constexpr std::size_t kEnergy = 24;
constexpr std::size_t kThrottling = 112;  // v1_3's last member, indep_throttle_status

// SMU_THROTTLER_*_BIT in amdgpu_smu.h: limits of power from 0 on, of current from 16 on,
// temperatures (the voltage regulators' too) from 32 on, then the board's own PROCHOT signals.
constexpr std::uint64_t kPowerBits = 0x0000'0000'00ff'00ff;
constexpr std::uint64_t kThermalBits = 0x0000'3fff'0000'0000;
constexpr std::uint64_t kHardwareBits = 0x0000'c000'0000'0000;

}  // namespace

std::optional<GpuMetrics> parse_gpu_metrics(std::string_view bytes) {
  const auto size = field<std::uint16_t>(bytes, 0);
  if (!size || *size < 4 || *size > bytes.size()) return std::nullopt;
  bytes = bytes.substr(0, *size);
  GpuMetrics metrics;
  metrics.format = static_cast<unsigned char>(bytes[2]);
  metrics.content = static_cast<unsigned char>(bytes[3]);
  if (metrics.format != 1 || metrics.content < 1 || metrics.content > 4) return metrics;
  metrics.energy_accumulator = field<std::uint64_t>(bytes, kEnergy);
  if (metrics.content > 3) return metrics;
  if (const auto busy = field<std::uint16_t>(bytes, kBusy); busy && *busy <= 100) {
    metrics.busy_percent = *busy;
  }
  if (metrics.content < 3) return metrics;
  if (const auto bits = field<std::uint64_t>(bytes, kThrottling)) {
    metrics.throttling = Throttling{.power_cap = (*bits & kPowerBits) != 0,
                                    .thermal = (*bits & kThermalBits) != 0,
                                    .hardware = (*bits & kHardwareBits) != 0};
  }
  return metrics;
}

}  // namespace picchio::meters::amdgpu
