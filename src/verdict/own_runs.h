// How fast a memory of this machine was when models ran from it: what `picchio plan` fits to the
// runs in the history, for models that were not run yet. Pure.
//
// On a CPU a decoded token costs its bytes, which are read, and its weights, each of which is
// unpacked and multiplied. Few cores spend long on the arithmetic: a Q4 model is not twice as fast
// there as a Q8 one. And it costs the products of attention with what is in the cache. On a GPU the
// arithmetic hides behind the reading, and what a token costs besides is the launch of its kernels.
// How much that second part is, is sought near what is usual, since two runs that are alike cannot
// tell the parts apart.
#pragma once

#include "evidence/figures.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace picchio {

/// Where all weights of a run lay that tells of a memory's speed: the name of its one GPU, empty
/// for the CPU. Absent: they lay in several memories, in a software device or another machine; the
/// run was disturbed (throttled, short of its cores, passes apart), is in doubt, or had arguments
/// that change the speed.
[[nodiscard]] std::optional<std::string> only_memory(const RunFigures& figures);

/// A run from one memory.
struct OwnRun {
  std::string model;                    // the key that runs of one model share
  std::int64_t bytes_per_token = 0;     // read in decode, at the run's mean depth
  std::int64_t weights_per_token = 0;   // multiplied in decode
  std::int64_t products_per_token = 0;  // of attention with the cache
  std::int64_t prompt_weights = 0;  // the same for a token of a prompt: without the output layer
  std::string main_type = {};       // of most of these weights: "q4_K"
  std::optional<double> decode = std::nullopt;   // tokens per second
  std::optional<double> prefill = std::nullopt;  // ditto
};

enum class MemoryKind { cpu, gpu };

/// Seconds of a token, fitted.
struct FittedSpeed {
  double seconds_per_byte = 0;
  double seconds_per_weight = 0;
  double seconds_per_product = 0;
  double seconds_besides = 0;
  /// What a forecast may be off by, of itself: 0.15 is 15 %.
  double error = 0;
  std::size_t models = 0;
  std::size_t runs = 0;

  [[nodiscard]] double seconds(std::int64_t bytes, std::int64_t weights,
                               std::int64_t products = 0) const {
    return seconds_per_byte * static_cast<double>(bytes) +
           seconds_per_weight * static_cast<double>(weights) +
           seconds_per_product * static_cast<double>(products) + seconds_besides;
  }
};

/// The error where fewer than three models tell. 3 models after 2 others, of other sizes and
/// quants, were off by up to 11 % on one CPU: docs/plan-accuracy.md.
inline constexpr double kUsualError = 0.15;
/// The same of a prompt. There models of one type, but of other widths, were up to 30 % apart.
inline constexpr double kUsualPromptError = 0.3;
/// No fit is better than the repetition of a run.
inline constexpr double kLeastError = 0.08;

/// Absent: no run tells.
[[nodiscard]] std::optional<FittedSpeed> fit_decode(std::span<const OwnRun> runs, MemoryKind kind);

/// A prompt is computed in batches, which read each weight once for hundreds of tokens: by the
/// weights alone. Runs of models of another type tell nothing, since engines have faster and slower
/// ways to multiply each type, five times apart on one CPU.
[[nodiscard]] std::optional<FittedSpeed> fit_prefill(std::span<const OwnRun> runs,
                                                     const std::string& main_type);

}  // namespace picchio
