// Any bytes must read as amdgpu's gpu_metrics, and never past the size that they state.
#include "meters/amdgpu/gpu_metrics.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // A copy of just this size, so that the sanitizer sees a read behind it.
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const auto metrics = picchio::meters::amdgpu::parse_gpu_metrics(bytes);
  if (!metrics) return 0;
  if (size < 4) std::abort();
  if (metrics->busy_percent && !(*metrics->busy_percent >= 0 && *metrics->busy_percent <= 100)) {
    std::abort();
  }
  const std::size_t stated = data[0] + std::size_t{256} * data[1];
  if (stated > size || (metrics->energy_accumulator && stated < 32) ||
      (metrics->throttling && stated < 120)) {
    std::abort();
  }
  return 0;
}
