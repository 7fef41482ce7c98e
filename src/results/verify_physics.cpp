#include "base/text.h"
#include "results/model_names.h"
#include "results/quantities.h"
#include "results/verify_parts.h"
#include "verdict/bandwidth.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace picchio::results {
namespace {

constexpr double kBitsPerByte = 8;

struct QuantBits {
  std::string_view prefix;
  double bits;
  double least;  // of a file, over `bits`
  double most;   // ditto
};

// Bits per weight of a whole file of some billion parameters, as llama.cpp's quantizer tells them;
// the first that the label begins with. Embeddings and heads are kept finer, which tells most below
// four bits; some that make files by hand keep more of them ("XL").
constexpr std::array kBits = {
    QuantBits{"IQ1", 1.8, 0.75, 1.5},      QuantBits{"TQ1", 1.7, 0.8, 1.5},
    QuantBits{"TQ2", 2.1, 0.8, 1.5},       QuantBits{"IQ2", 2.5, 0.75, 1.4},
    QuantBits{"Q2_K", 3.0, 0.8, 1.35},     QuantBits{"IQ3", 3.5, 0.8, 1.35},
    QuantBits{"Q3_K_S", 3.55, 0.88, 1.3},  QuantBits{"Q3_K_M", 3.95, 0.88, 1.3},
    QuantBits{"Q3_K_L", 4.27, 0.88, 1.3},  QuantBits{"Q3_K", 3.9, 0.8, 1.35},
    QuantBits{"IQ4_XS", 4.36, 0.92, 1.25}, QuantBits{"IQ4", 4.6, 0.88, 1.3},
    QuantBits{"Q4_0", 4.6, 0.92, 1.25},    QuantBits{"Q4_1", 5.1, 0.92, 1.25},
    QuantBits{"Q4_K_S", 4.6, 0.92, 1.25},  QuantBits{"Q4_K_M", 4.85, 0.92, 1.25},
    QuantBits{"Q4", 4.8, 0.8, 1.35},       QuantBits{"MXFP4", 4.5, 0.9, 1.4},
    QuantBits{"NVFP4", 4.6, 0.9, 1.4},     QuantBits{"Q5_0", 5.55, 0.92, 1.25},
    QuantBits{"Q5_1", 6.0, 0.92, 1.25},    QuantBits{"Q5_K_S", 5.55, 0.92, 1.25},
    QuantBits{"Q5_K_M", 5.7, 0.92, 1.25},  QuantBits{"Q5", 5.7, 0.85, 1.35},
    QuantBits{"Q6_K_XL", 7.0, 0.9, 1.35},  QuantBits{"Q6", 6.57, 0.92, 1.25},
    QuantBits{"Q8_K", 10.0, 0.8, 1.35},    QuantBits{"Q8", 8.5, 0.92, 1.25},
    QuantBits{"BF16", 16, 0.92, 1.25},     QuantBits{"F16", 16, 0.92, 1.25},
    QuantBits{"FP16", 16, 0.92, 1.25},     QuantBits{"F32", 32, 0.92, 1.1}};

/// Files whose experts were published in four bits, and stay so under every label.
bool keeps_published_bits(std::string_view name) {
  const std::string core = model_core(name);
  return core.contains("gptoss") || core.contains("kimik2");
}

void check_size(const RunFigures& run, Findings& out) {
  const double parameters = run.parameters.value_or(0);
  if (!run.weight_bytes || parameters <= 0) return;
  const double bits = kBitsPerByte * *run.weight_bytes / parameters;
  const std::string words = fmt::format("{:.2f} GiB of {:.2f} B weights are {:.2f} bits each",
                                        *run.weight_bytes / kGiB, parameters / 1e9, bits);
  constexpr double kFewestBits = 1.4;
  constexpr double kMostBits = 33;
  out.judge("size", bits >= kFewestBits && bits <= kMostBits, words);
  std::string quant = run.quant_label();
  const auto row = std::ranges::find_if(
      kBits, [&](const QuantBits& each) { return quant.starts_with(each.prefix); });
  // Embeddings are kept finer, and are much of a small model.
  constexpr double kLarge = 4e9;
  if (row == kBits.end() || parameters < kLarge || keeps_published_bits(run.model)) return;
  out.judge("size", bits >= row->least * row->bits && bits <= row->most * row->bits,
            fmt::format("{}, of a {}", words, quant));
}

bool is_word(char c) { return is_digit(c) || (c >= 'a' && c <= 'z'); }

struct NamedSize {
  double least = 0;
  double most = 0;
  std::string text;
};

/// What a part of a name, between its punctuation, says of the size: "70b", "8x7b", "e4b".
/// `before`: the part that a dot or an underscore parts it from ("1_6b").
std::optional<NamedSize> named_size(std::string_view part, std::string_view before) {
  constexpr double kApart = 1.6;       // people round, and count or leave out the embedding
  constexpr double kApartSmall = 2.5;  // of small ones it is most
  std::string_view rest = part;
  const bool effective = take_prefix(rest, "e");
  double experts = 1;
  if (const std::size_t times = rest.find('x'); !effective && times != std::string_view::npos) {
    experts = parse_double(rest.substr(0, times)).value_or(0);
    rest = rest.substr(times + 1);
  }
  if (rest.size() < 2 || !is_digit(rest.front()) || experts < 1) return std::nullopt;
  const char unit = rest.back();
  const double factor = unit == 'b' ? 1e9 : unit == 'm' ? 1e6 : 0;
  const auto number = parse_double(rest.substr(0, rest.size() - 1));
  // "1m" is a context.
  if (!number || *number <= 0 || factor == 0 || part == "1m") return std::nullopt;
  const double size = *number * factor;
  NamedSize out{.text = std::string(part)};
  if (effective) {
    // What a device has to hold of it: the per-layer embeddings come on top.
    out.least = size / kApart;
    out.most = size * kApartSmall;
  } else if (experts > 1) {
    // Attention is shared.
    out.least = size * experts / 2;
    out.most = size * experts * 1.3;
  } else {
    const double apart = size < 2e9 ? kApartSmall : kApart;
    out.least = size / apart;
    out.most = size * apart;
  }
  if (const auto whole = parse_int(before); whole && *whole < 10) {
    const double joined = (static_cast<double>(*whole) + *number / 10) * factor;
    out.least = std::min(out.least, joined / kApart);
    out.most = std::max(out.most, joined * kApart);
  }
  return out;
}

/// The sizes in a name; empty where it tells none, or another thing than the number of parameters.
std::vector<NamedSize> sizes_in(std::string_view name) {
  const std::string text = lower(name);
  std::vector<NamedSize> out;
  // Of many experts the size in the name is what a token uses; the language part of a model that
  // sees or hears is one of its parts.
  for (const char* other : {"scout", "maverick", "vl", "vision", "vlm", "audio", "omni", "draft",
                            "mmproj", "reap", "prune", "16e", "128e"}) {
    if (text.contains(other)) return {};
  }
  std::string_view before;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && (is_word(text[end]) ||
                                 (text[end] == '.' && end + 1 < text.size() &&
                                  is_digit(text[end + 1]) && end > i && is_digit(text[end - 1])))) {
      ++end;
    }
    const std::string_view part = std::string_view(text).substr(i, end - i);
    if (auto size = named_size(part, before)) out.push_back(*std::move(size));
    before = end < text.size() && text[end] == '_' ? part : std::string_view();
    i = end + 1;
  }
  return out;
}

void check_named_size(const RunFigures& run, Findings& out) {
  const std::vector<NamedSize> sizes = sizes_in(run.model);
  if (!run.parameters || sizes.empty()) return;
  const double parameters = *run.parameters;
  const bool fits = std::ranges::any_of(sizes, [&](const NamedSize& size) {
    return parameters >= size.least && parameters <= size.most;
  });
  out.judge("size", fits,
            fmt::format("{:.2f} B parameters of a {}", parameters / 1e9, sizes.front().text));
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

/// A part of a device's name: "GeForce GTX 1060" was sold with several memories, each of which has
/// a row. The largest; absent where no row has it, or it names no model.
std::optional<double> largest_peak_named(std::string_view name) {
  if (std::ranges::none_of(name, is_digit)) return std::nullopt;
  std::optional<double> out;
  for (const BandwidthRow& row : bandwidth_table()) {
    for (std::size_t begin = 0; begin < row.words.size(); ++begin) {
      std::string part;
      for (std::size_t i = begin; i < row.words.size(); ++i) {
        part += (i > begin ? " " : "") + row.words[i];
        if (!same_device_name(name, part)) continue;
        out = std::max(out.value_or(0), row.bytes_per_second);
      }
    }
  }
  return out;
}

int cards_of(const RunFigures& run) {
  return std::max({1, run.placement.device_count, run.machine.gpu_count});
}

bool on_cpu(const RunFigures& run) {
  return run.placement.engagement == Engagement::not_engaged ||
         run.state == State::silent_cpu_fallback || run.state == State::cpu_only_machine;
}

/// Where the weights were read from; absent: its bandwidth is not known.
std::optional<Memory> memory_of(const RunFigures& run) {
  const PlacementFigures& place = run.placement;
  if (on_cpu(run)) {
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
  const auto rate = peak ? std::optional(peak->bytes_per_second) : largest_peak_named(name);
  if (!rate) return std::nullopt;
  return Memory{name, *rate * cards_of(run)};
}

// No model that is published uses less than a fiftieth of its weights for a token; of a dense one
// the embedding is not read, a fifth of a small model.
constexpr double kLeastActive = 0.02;
constexpr double kWithoutEmbedding = 0.8;

/// Each weight that a token uses is multiplied and added once.
void check_compute(const RunFigures& run, Findings& out) {
  if (!run.parameters) return;
  // Above what the largest device does in eight bits; 256 cores with matrix units, of a CPU.
  constexpr double kMostOfGpu = 5e15;
  constexpr double kMostOfCpu = 1e15;
  constexpr double kSmall = 1e9;  // where most may be embedding
  const bool dense = surely_dense(run.model);
  const double share = !dense ? kLeastActive : *run.parameters < kSmall ? 0.3 : kWithoutEmbedding;
  const double most = on_cpu(run) ? kMostOfCpu : kMostOfGpu * cards_of(run);
  const LaneFigures& prefill = run.lane(Lane::prefill);
  for (const auto& rate : {prefill.cold.value, prefill.warm.value, prefill.high}) {
    if (!rate) continue;
    const double operations = 2 * share * *run.parameters * *rate;
    out.judge("compute", operations <= most,
              fmt::format("prefill {:.1f} tok/s of {:.2f} B parameters are {:.0f} TFLOP/s at "
                          "least; nothing computes more than {:.0f}",
                          *rate, *run.parameters / 1e9, operations / 1e12, most / 1e12));
  }
}

void check_bandwidth(const RunFigures& run, bool drafts, Findings& out) {
  const auto memory = memory_of(run);
  const LaneFigures& decode = run.lane(Lane::decode);
  if (!memory || !run.weight_bytes || drafts) return;
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

/// The most that one device of this name holds, in GiB: boards are rebuilt with more than the maker
/// gave them.
double most_gib_of(std::string_view device) {
  const std::string name = lower(device);
  constexpr double kLargest = 288;  // HBM of the largest accelerators
  const struct {
    const char* word;
    double gib;
  } kinds[] = {{"laptop", 24},  {"geforce gtx", 12}, {"geforce rtx 50", 96},
               {"geforce", 48}, {"arc", 48},         {"radeon rx", 48}};
  for (const auto& kind : kinds) {
    if (name.contains(kind.word)) return kind.gib;
  }
  return kLargest;
}

/// The GPU's memory cannot have grown by more than there is.
void check_memory_step(const RunFigures& run, Findings& out) {
  const auto& grown = run.meter.memory_bytes;
  if (!grown || on_cpu(run)) return;
  const PlacementFigures& place = run.placement;
  const std::string& device = !place.device.empty() ? place.device : run.machine.gpu;
  const bool apple = run.machine.chip.starts_with("Apple") || device.starts_with("Apple");
  std::optional<double> most;
  if (apple) {
    most = run.machine.ram_gib;
  } else if (!device.empty()) {
    // Of others that share it, what the GPU was given is no longer counted as the machine's.
    most = most_gib_of(device) * cards_of(run);
  }
  if (!most) return;
  out.judge("memory", *grown <= (*most + 0.5) * kGiB,
            fmt::format("the GPU's memory grew by {:.1f} GiB, it has no more than {:.0f}",
                        *grown / kGiB, *most));
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
  check_named_size(run, out);
  check_compute(run, out);
  check_bandwidth(run, drafts, out);
  check_memory_step(run, out);
  check_memory_size(run, out);
}

}  // namespace picchio::results
