// Which of the conditions that move a tok/s figure a post states, and which it leaves out. Pure.
//
// English, read by word patterns (vet_patterns.cpp): a condition counts where it is stated with its
// value ("ctx 8192", "fully offloaded"), not where its word is dropped, asked for, planned or
// forgotten. Blocks count by their fields.
#pragma once

#include "base/result.h"

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace picchio::results {

/// In the order of printing.
enum class Condition {
  model,
  quant,
  engine,
  build,
  hardware,
  placement,
  context,
  prompt,
  batch,
  kv_type,
  flash_attention,
  threads,
  lane,
  warmth,
  spread,
  power_limit,
  system,
  draft,
  sampling,
};
inline constexpr std::size_t kConditions = 19;

/// Of one condition: what it is called, how it moves the figure, what a post would say.
struct ConditionText {
  Condition condition;
  std::string_view key;      // of JSON: "kv_type"
  std::string_view name;     // "KV cache type"
  std::string_view why;      // one clause
  std::string_view fill_in;  // "f16/f16 or -ctk, -ctv"
};
[[nodiscard]] const std::array<ConditionText, kConditions>& condition_texts();

/// The words that state something. `line` is 1-based, in the text as pasted_lines() reads it.
struct Statement {
  std::string words;  // printable ASCII
  std::size_t line = 0;
};

// A thousand figures are a log.
inline constexpr std::size_t kMostFigures = 1000;

struct Vetting {
  std::vector<Statement> figures;  // each "45.2 tok/s", the first kMostFigures; never empty
  std::size_t figure_count = 0;    // all of them
  std::size_t blocks = 0;
  /// Where each condition is first stated; absent: it is left out.
  std::array<std::optional<Statement>, kConditions> stated;

  [[nodiscard]] const std::optional<Statement>& of(Condition condition) const {
    return stated[static_cast<std::size_t>(condition)];
  }
  [[nodiscard]] std::size_t stated_count() const;
};

/// An error of kind not_found: the text quotes no tok/s figure.
[[nodiscard]] Result<Vetting> vet(std::string_view text);

[[nodiscard]] std::string vetting_text(const Vetting& vetting);

/// Schema "picchio.vet.v1".
[[nodiscard]] std::string vetting_json(const Vetting& vetting);

}  // namespace picchio::results
