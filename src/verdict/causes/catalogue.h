// What is known of the reasons why a GPU did not do the work, as data: a sentence, the evidence
// that names it, what to change, and where it was seen. docs/causes.md is printed from it. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace picchio {

/// What a cause does to a run.
enum class Effect {
  cpu,      // nothing of the model is computed on a GPU
  partial,  // some of it is not
  slow,     // placed as it should be, or as it was asked to, and yet below what the machine can
  untold,   // it cannot be told where the model ran
  none,     // looks like a fault and is none
};
[[nodiscard]] std::string_view name_of(Effect effect);  // "on the CPU", "partly on the CPU", ...

/// One change that mends it. The first row whose conditions all hold is the FIX; an empty condition
/// always holds, and one of which nothing is known does not.
struct Remedy {
  std::string_view text;         // a command or a setting that exists; at most kRemedyColumns
  std::string_view engine = {};  // as EngineLog::engine: "ollama", "koboldcpp", "LM Studio"
  std::string_view place = {};   // "container", "wsl", "windows", "macos", "linux", "debian"
  std::string_view vendor = {};  // of the machine's GPU: "NVIDIA", "AMD", "Intel"
};

/// A block is 66 columns wide, and "FIX: " takes five of them.
constexpr std::size_t kRemedyColumns = 66 - 5;

struct CauseEntry {
  std::string_view id;
  Effect effect = Effect::cpu;
  std::string_view sentence;         // what happened, in general
  std::string_view evidence;         // what a run or a log must hold for it to be named
  std::span<const Remedy> remedies;  // empty: nothing is to be changed
  std::string_view reference;        // a public report or source that shows it; empty: none
};

[[nodiscard]] std::span<const CauseEntry> cause_catalogue();
/// Null: no such cause.
[[nodiscard]] const CauseEntry* find_cause_entry(std::string_view id);

/// Where a remedy is to be applied, as far as the run or the log tells.
struct RemedySituation {
  std::string_view engine;
  std::span<const std::string_view> places;
  std::string_view vendor;
};
/// Empty: nothing is to be changed, or nothing is known that would help there.
[[nodiscard]] std::string_view remedy_for(const CauseEntry& entry,
                                          const RemedySituation& situation);

}  // namespace picchio
