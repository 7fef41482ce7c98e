// One model at several context sizes, each filled by its prompt: what every size gave, and what
// depth costs. Made by commands/, its slopes by verdict/, printed by report/.
#pragma once

#include "evidence/figures.h"
#include "evidence/moment.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace picchio {

enum class TierEnd {
  measured,
  earlier,    // taken from the history
  skipped,    // known beforehand not to go
  failed,     // the engine could not
  not_tried,  // a smaller one had failed
};
[[nodiscard]] std::string_view name_of(TierEnd end);  // "measured", "from the history"

/// One context size.
struct SweepTier {
  std::int64_t context = 0;  // tokens, as asked for
  TierEnd end = TierEnd::not_tried;
  std::string why;     // it was not measured; empty otherwise
  RunFigures figures;  // of a tier that has them, and so below
  /// Tokens per second of each pass that counts, in the order of kLanes.
  std::array<std::vector<double>, kLanes.size()> rates;
  std::int64_t id = 0;  // in the history; 0: not there
  Moment at{};
  std::string note;  // what a reader must know, a sentence

  [[nodiscard]] bool has_figures() const {
    return end == TierEnd::measured || end == TierEnd::earlier;
  }
  [[nodiscard]] const std::vector<double>& passes(Lane lane) const {
    return rates[static_cast<std::size_t>(lane)];
  }
};

/// Milliseconds a token as a straight line over depth, by least squares over the passes: attention
/// reads all tokens before, so each further one costs the same.
struct DepthSlope {
  double ms_at_zero = 0;
  double ms_per_thousand = 0;         // that 1,000 tokens of depth add to a token
  std::optional<double> uncertainty;  // half the 95 % interval of it; absent: two points alone
  std::int64_t shallowest = 0;        // tokens
  std::int64_t deepest = 0;
  double rate_shallowest = 0;  // median of its passes, tokens per second
  double rate_deepest = 0;
  std::size_t passes = 0;

  /// Zero lies outside the interval.
  [[nodiscard]] bool certain() const {
    return uncertainty && (ms_per_thousand > *uncertainty || ms_per_thousand < -*uncertainty);
  }
};

/// Bytes of a record, which may have been imported: absent for what no memory has.
[[nodiscard]] std::optional<std::int64_t> whole_bytes(const std::optional<double>& bytes);

struct Sweep {
  std::string model;              // untrusted, like all names here
  std::string engine;             // "llama.cpp b11669"
  std::string arguments;          // of the user's for the engine
  std::string machine;            // as a block's last line tells it
  std::string version;            // of picchio
  int passes = 0;                 // of each tier
  bool context_is_fixed = false;  // a server's: the sizes are depths in it
  std::vector<SweepTier> tiers;   // by context
  std::optional<DepthSlope> decode;
  std::optional<DepthSlope> prefill;  // depth: the prompt's length
  /// Tiers from this context on are placed otherwise than the first, and are in no slope.
  std::optional<std::int64_t> placed_otherwise_from;
};

}  // namespace picchio
