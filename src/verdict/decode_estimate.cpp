#include "verdict/decode_estimate.h"

#include <algorithm>

namespace picchio {

namespace {

/// Seconds.
struct Span {
  double shortest = 0;
  double longest = 0;
};

std::optional<Span> span_of(const ReadMemory& memory) {
  if (memory.own) {
    const double seconds = memory.own->seconds(memory.bytes_per_token, memory.weights_per_token,
                                               memory.products_per_token);
    return Span{seconds / (1 + memory.own->error), seconds * (1 + memory.own->error)};
  }
  if (!memory.peak_bytes_per_second || *memory.peak_bytes_per_second <= 0) return std::nullopt;
  const double at_peak =
      static_cast<double>(memory.bytes_per_token) / *memory.peak_bytes_per_second;
  if (memory.host) return Span{at_peak / kMostOfSum, at_peak / kLeastOfSum};
  return Span{at_peak / kMostOfPeak, at_peak / kLeastOfPeak};
}

}  // namespace

std::optional<DecodeRate> decode_rate(const std::vector<ReadMemory>& memories, std::int64_t depth) {
  Span sum;
  bool by_peak_of_gpu = false;
  DecodeRate out;
  for (const ReadMemory& memory : memories) {
    if (memory.bytes_per_token <= 0) continue;
    const std::optional<Span> span = span_of(memory);
    if (!span) return std::nullopt;
    sum.shortest += span->shortest;
    sum.longest += span->longest;
    out.bytes_per_token += memory.bytes_per_token;
    by_peak_of_gpu = by_peak_of_gpu || (!memory.host && !memory.own);
  }
  if (sum.shortest <= 0) return std::nullopt;
  if (by_peak_of_gpu) {
    sum.shortest = std::max(sum.shortest, kLeastLaunch);
    sum.longest = std::max(sum.longest, kMostLaunch);
  }
  out.least = 1 / sum.longest;
  out.most = 1 / sum.shortest;
  out.depth = depth;
  return out;
}

}  // namespace picchio
