// Whether a model fits, where its layers go and how fast it could be: estimates from its header,
// which never enter a block. Made by commands/, printed by report/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace picchio {

enum class Fit {
  fits,   // and leaves the margin free
  tight,  // it goes in, with less than the margin left
  not_fitting,
  not_judged,  // nobody knows what is free
};
[[nodiscard]] std::string_view name_of(Fit fit);  // "fits", "tight", "does not fit", "not judged"

/// The worse of two.
[[nodiscard]] Fit worse(Fit a, Fit b);

/// One device, or the host. Bytes.
struct PlannedMemory {
  std::string name;  // "RTX 4090"; of the host "host"
  std::int64_t weights = 0;
  std::int64_t kv_cache = 0;
  std::int64_t recurrent_state = 0;
  std::int64_t compute_buffer = 0;
  std::int64_t output_buffer = 0;
  std::optional<std::int64_t> free;  // absent: nobody knows
  Fit fit = Fit::not_judged;

  [[nodiscard]] std::int64_t total() const {
    return weights + kv_cache + recurrent_state + compute_buffer + output_buffer;
  }
};

/// One way to run it.
struct PlannedSetting {
  std::int64_t n_ctx = 0;           // as the engine rounds it, of all sequences together
  std::int64_t n_ctx_sequence = 0;  // what one of them may use of it
  std::int64_t sequences = 1;
  std::int64_t n_ubatch = 0;
  std::int64_t n_gpu_layers = 0;  // with the output layer, which engines count as one
  std::int64_t n_cpu_moe = 0;
  bool op_offload = true;  // the GPU computes large batches of the host's layers
  std::string cache_type_k;
  std::string cache_type_v;
  bool flash_attention = true;
  std::vector<PlannedMemory> devices;
  PlannedMemory host;
  Fit fit = Fit::not_judged;

  [[nodiscard]] std::int64_t total() const;
};

/// Tokens per second of one sequence, with so many tokens in the cache.
struct DecodeRate {
  double least = 0;
  double most = 0;
  std::int64_t depth = 0;
  std::int64_t bytes_per_token = 0;  // that are read, from all memories together
};

/// What this machine's own runs tell of one memory.
struct OwnSpeed {
  std::string memory;                                     // the GPU's name; empty: the CPU's
  std::size_t runs = 0;                                   // that it rests on
  std::size_t models = 0;                                 // of so many models
  std::optional<double> bytes_per_second = std::nullopt;  // absent: not told apart, as of a prompt
  std::optional<double> weights_per_second =
      std::nullopt;            // multiplied; absent: no time shows that it takes
  double seconds_besides = 0;  // of a token, whatever it reads
  double error = 0;            // of the estimate, to either side: 0.15 is 15 %
};

struct DecodeEstimate {
  DecodeRate empty;                // the first tokens
  DecodeRate full;                 // the last ones that the context holds
  std::string from;                // what the speeds rest on, in words
  std::vector<OwnSpeed> own = {};  // of each memory whose speed its own runs told
};

/// Of a prompt of some hundred tokens; from own runs alone.
struct PrefillEstimate {
  double least = 0;  // tokens per second
  double most = 0;
  OwnSpeed own;
};

enum class ExtraRole { mmproj, draft };
[[nodiscard]] std::string_view name_of(ExtraRole role);  // "mmproj", "draft"

/// A model that is loaded beside. What it takes is no longer free for the one that is planned.
struct PlannedExtra {
  ExtraRole role = ExtraRole::draft;
  std::string model;  // untrusted
  std::vector<PlannedMemory> devices;
  PlannedMemory host;
};

struct Plan {
  std::string model;  // as it was asked for, untrusted
  std::string architecture;
  std::int64_t tensor_bytes = 0;
  std::optional<std::int64_t> trained_context;
  std::int64_t layers = 0;  // with the output layer
  bool has_experts = false;
  std::int64_t margin = 0;                      // bytes to leave free on each device
  std::string room_from;                        // "free now, by nvml", "as given"; of the devices
  PlannedSetting asked;                         // what was not asked for as engines do without
  std::optional<PlannedSetting> best;           // absent: nothing fits
  std::optional<PlannedSetting> small_cache;    // as asked, with a quantized cache; that fits
  std::optional<std::int64_t> longest_context;  // of `best`
  std::optional<DecodeEstimate> decode;         // of `asked` if it goes in, else of `best`
  std::string no_decode;                        // why there is none
  std::optional<PrefillEstimate> prefill;       // of the same; absent: no run tells
  std::vector<PlannedExtra> extras;             // loaded before it
  std::vector<std::string> notes;               // what is a guess, and what is not in it
};

}  // namespace picchio
