#include "evidence/card.h"
#include "results/model_names.h"
#include "results/quantities.h"
#include "results/verify_parts.h"
#include "verdict/bandwidth.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

namespace picchio::results {
namespace {

constexpr double kBitsPerByte = 8;

struct QuantBits {
  std::string_view prefix;
  double bits;
};

// Bits per weight of a whole file of some billion parameters, as llama.cpp's quantizer tells them.
constexpr std::array kBits = {
    QuantBits{"IQ1", 1.8},  QuantBits{"TQ1", 1.7},   QuantBits{"TQ2", 2.1},   QuantBits{"IQ2", 2.5},
    QuantBits{"Q2_K", 3.0}, QuantBits{"IQ3", 3.5},   QuantBits{"Q3_K", 3.9},  QuantBits{"IQ4", 4.5},
    QuantBits{"Q4", 4.8},   QuantBits{"MXFP4", 4.5}, QuantBits{"NVFP4", 4.6}, QuantBits{"Q5", 5.6},
    QuantBits{"Q6", 6.6},   QuantBits{"Q8", 8.5},    QuantBits{"BF16", 16},   QuantBits{"F16", 16},
    QuantBits{"FP16", 16},  QuantBits{"F32", 32}};

void check_size(const RunFigures& run, Findings& out) {
  const double parameters = run.parameters.value_or(0);
  if (!run.weight_bytes || parameters <= 0) return;
  const double bits = kBitsPerByte * *run.weight_bytes / parameters;
  const std::string words = fmt::format("{:.2f} GiB of {:.2f} B weights are {:.2f} bits each",
                                        *run.weight_bytes / kGiB, parameters / 1e9, bits);
  constexpr double kFewestBits = 1.4;
  constexpr double kMostBits = 33;
  out.judge("size", bits >= kFewestBits && bits <= kMostBits, words);
  std::string quant = run.quant.empty() ? label_in_name(run.model) : run.quant;
  const auto row = std::ranges::find_if(
      kBits, [&](const QuantBits& each) { return quant.starts_with(each.prefix); });
  // Embeddings are kept finer, and are much of a small model.
  constexpr double kLarge = 4e9;
  if (row == kBits.end() || parameters < kLarge) return;
  out.judge("size", bits >= 0.75 * row->bits && bits <= 1.35 * row->bits,
            fmt::format("{}, of a {}", words, quant));
}

/// Families whose every weight is read for each token; others may use a part of their experts.
bool surely_dense(std::string_view name) {
  const std::string core = model_core(name);
  // "a3b", "e4b": what a token uses is told beside the whole.
  for (std::size_t i = 0; i + 2 < core.size(); ++i) {
    const bool active = core[i] == 'a' || core[i] == 'e';
    if (!active || core[i + 1] < '0' || core[i + 1] > '9') continue;
    const std::size_t end = core.find_first_not_of("0123456789", i + 1);
    if (end != std::string::npos && core[end] == 'b' && (i == 0 || core[i - 1] == 'b'))
      return false;
  }
  for (const char* sparse : {"moe", "mixtral", "next", "coder480", "maverick", "scout", "235b"}) {
    if (core.contains(sparse)) return false;
  }
  return std::ranges::any_of(
      std::array{"llama2", "llama3", "llama31", "qwen2", "qwen3", "gemma2", "gemma3", "mistral7b",
                 "mistralnemo", "phi3", "phi4", "codellama", "falcon", "yi", "smollm", "tinyllama"},
      [&](const char* family) { return core.starts_with(family); });
}

struct Memory {
  std::string name;
  double bytes_per_second = 0;
};

/// Where the weights were read from; absent: its bandwidth is not known.
std::optional<Memory> memory_of(const RunFigures& run) {
  const PlacementFigures& place = run.placement;
  const bool on_cpu = place.engagement == Engagement::not_engaged ||
                      run.state == State::silent_cpu_fallback ||
                      run.state == State::cpu_only_machine;
  if (on_cpu) {
    if (const auto peak = find_peak(run.machine.chip)) {
      return Memory{run.machine.chip, peak->bytes_per_second};
    }
    // Twelve channels of DDR5-6400 on two sockets are 1229 GB/s; nothing that is sold reads faster.
    constexpr double kFastestHost = 1.3e12;
    return Memory{"the fastest host memory", kFastestHost};
  }
  const std::string name = !place.device.empty()      ? place.device
                           : !run.machine.gpu.empty() ? run.machine.gpu
                                                      : run.machine.chip;
  const auto peak = find_peak(name);
  if (!peak) return std::nullopt;
  const int cards = std::max({1, place.device_count, run.machine.gpu_count});
  return Memory{name, peak->bytes_per_second * cards};
}

void check_bandwidth(const RunFigures& run, bool drafts, Findings& out) {
  const auto memory = memory_of(run);
  const LaneFigures& decode = run.lane(Lane::decode);
  if (!memory || !run.weight_bytes || drafts) return;
  // No model that is published uses less than a fiftieth of its weights for a token; of a dense one
  // the embedding is not read, a fifth of a small model.
  constexpr double kLeastActive = 0.02;
  constexpr double kWithoutEmbedding = 0.8;
  const bool dense = surely_dense(run.model);
  const double bytes = *run.weight_bytes * (dense ? kWithoutEmbedding : kLeastActive);
  // Weights of two places are read one after the other: the faster place alone is a bound.
  for (const auto& rate : {decode.cold.value, decode.warm.value, decode.high}) {
    if (!rate) continue;
    out.judge("bandwidth", *rate * bytes <= memory->bytes_per_second,
              fmt::format("{:.1f} tok/s of {} {:.2f} GiB are {:.0f} GB/s; {} reads {:.0f}", *rate,
                          dense ? "most of" : "a fiftieth of", *run.weight_bytes / kGiB,
                          *rate * bytes / 1e9, memory->name, memory->bytes_per_second / 1e9));
  }
}

void check_memory_size(const RunFigures& run, Findings& out) {
  if (!run.weight_bytes || !run.machine.ram_gib) return;
  // Only where the GPU has no memory of its own is the machine's what holds the weights.
  const bool unified =
      run.machine.chip.starts_with("Apple") && run.placement.engagement == Engagement::engaged;
  if (!unified) return;
  out.judge("memory", *run.weight_bytes <= (*run.machine.ram_gib + 0.5) * kGiB,
            fmt::format("{:.2f} GiB of weights on the GPU of a machine with {:.0f} GB",
                        *run.weight_bytes / kGiB, *run.machine.ram_gib));
}

}  // namespace

void check_physics(const RunFigures& run, bool drafts, Findings& out) {
  check_size(run, out);
  check_bandwidth(run, drafts, out);
  check_memory_size(run, out);
}

}  // namespace picchio::results
