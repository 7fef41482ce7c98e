#include "verdict/decode_estimate.h"

#include <algorithm>

namespace picchio {

std::optional<DecodeRate> decode_rate(const std::vector<ReadMemory>& memories, std::int64_t depth) {
  double longest = 0;  // seconds for a token
  double shortest = 0;
  bool on_gpu = false;
  DecodeRate out;
  for (const ReadMemory& memory : memories) {
    if (memory.bytes_per_token <= 0) continue;
    if (!memory.peak_bytes_per_second || *memory.peak_bytes_per_second <= 0) return std::nullopt;
    const double at_peak =
        static_cast<double>(memory.bytes_per_token) / *memory.peak_bytes_per_second;
    longest += at_peak / (memory.host ? kLeastOfSum : kLeastOfPeak);
    shortest += at_peak / (memory.host ? kMostOfSum : kMostOfPeak);
    out.bytes_per_token += memory.bytes_per_token;
    on_gpu = on_gpu || !memory.host;
  }
  if (shortest <= 0) return std::nullopt;
  if (on_gpu) {
    shortest = std::max(shortest, kLeastLaunch);
    longest = std::max(longest, kMostLaunch);
  }
  out.least = 1 / longest;
  out.most = 1 / shortest;
  out.depth = depth;
  return out;
}

}  // namespace picchio
