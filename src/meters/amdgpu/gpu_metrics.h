// amdgpu's binary attribute "gpu_metrics": what the card's firmware measured, in a layout for each
// generation of cards (kgd_pp_interface.h in the kernel). Only what no other attribute tells is
// read. Pure.
#pragma once

#include "evidence/gpu_reading.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace picchio::meters::amdgpu {

/// Joules in one step of the energy accumulator: 2^-16, which AMD's documents round to 15.259 uJ.
inline constexpr double kJoulesPerStep = 1.0 / 65536;

struct GpuMetrics {
  int format = 0;                                   // 1: discrete cards, 2 and 3: APUs
  int content = 0;                                  // "v1.3" is format 1, content 3
  std::optional<double> busy_percent;               // v1.1 to v1.3
  std::optional<std::uint64_t> energy_accumulator;  // v1.1 to v1.4; frozen on some cards
  std::optional<Throttling> throttling;             // v1.3, of reasons told alike for all cards
};

/// nullopt: shorter than it says, or no header. A value of all ones means "not supported".
[[nodiscard]] std::optional<GpuMetrics> parse_gpu_metrics(std::string_view bytes);

}  // namespace picchio::meters::amdgpu
