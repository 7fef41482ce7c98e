// How fast memory lets a model decode, against how fast it did. Every decoded token reads all the
// weights that it uses and its part of the KV cache once, so nothing decodes faster than the memory
// that holds them can be read. Made by verdict/, printed by report/. GB are 10^9 bytes here, as
// vendors count bandwidth.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace picchio {

/// One GPU's part in a decoded token.
struct RooflineDevice {
  std::string device;  // the engine's name: "CUDA0"
  std::string label;   // what is printed: "RTX 4090"
  std::optional<std::int64_t>
      bytes_per_token;  // absent: what each expert weighs where is not known
  std::optional<double> peak_bytes_per_second;  // absent: nobody knows its memory
  std::string peak_from;             // "its clocks", "the table's RTX 4090"; empty: absent
  bool peak_is_upper_bound = false;  // several models have this name: the fastest one's is taken
  std::optional<bool> own_memory;    // false: it shares the system's; absent: not told
};

struct Roofline {
  double tokens_per_second = 0;             // the decode rate that is tested
  std::int64_t weight_bytes = 0;            // that one token reads
  std::optional<std::int64_t> cache_bytes;  // the same of the cache, at the mean depth of decode;
                                            // absent: how much of it is read is not certain
  std::optional<std::int64_t> depth;        // tokens in the cache on average
  std::string bytes_uncertain;  // why what a token reads is not known after all (speculative
                                // decoding); then nothing is tested
  std::vector<RooflineDevice> devices;  // hardware GPUs that hold weights

  /// No faster than this, by the peaks of `devices`. Absent: `device_untested` says why.
  std::optional<double> device_limit;  // tokens per second
  bool limit_is_upper_bound = false;  // the true limit may be lower: a peak or a split is uncertain
  std::string device_untested;

  /// The CPU with this machine's memory decodes no faster than this. Absent: `host_untested` says
  /// why.
  std::optional<double> host_limit;  // tokens per second
  std::string host_untested;

  [[nodiscard]] std::int64_t bytes_per_token() const {
    return weight_bytes + cache_bytes.value_or(0);
  }
  [[nodiscard]] double bytes_per_second() const {
    return tokens_per_second * static_cast<double>(bytes_per_token());
  }
  /// Of what the devices' memory can do; 0.82 is usual for a big model on a card.
  [[nodiscard]] std::optional<double> share() const {
    if (!device_limit) return std::nullopt;
    return tokens_per_second / *device_limit;
  }
  [[nodiscard]] bool beyond_host() const { return host_limit && tokens_per_second > *host_limit; }
};

}  // namespace picchio
