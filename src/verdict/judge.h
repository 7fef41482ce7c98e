// The judge: an ordered table of named rules from testimonies to one verdict. Pure.
#pragma once

#include "evidence/run.h"
#include "evidence/verdict.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace picchio {

/// What the rules look at. `measured` is false for a log that somebody pasted: then there is no
/// stopwatch to miss and no machine to know.
struct Hearing {
  const Run& run;
  bool measured = true;
  bool timed = true;  // false: only the load is to be judged, and no rates are missed
  std::vector<Testimony> testimonies;

  [[nodiscard]] const Testimony& of(Witness witness) const;
  [[nodiscard]] bool says(Witness witness, Word word) const;
};

struct Finding {
  State state = State::no_placement_evidence;
  std::string sentence;
};

struct JudgeRule {
  std::string_view name;
  std::optional<Finding> (*find)(const Hearing&);
};

/// First match wins. What convicts stands before what acquits, and the last row always matches.
[[nodiscard]] std::span<const JudgeRule> judge_rules();

[[nodiscard]] Verdict judge(const Run& run);

/// The same of a model that was just loaded: where it lies, before it has generated anything.
[[nodiscard]] Verdict judge_load(const Run& run);

/// The same rules on a pasted log. Nobody knows the machine, so everything on the CPU is a fallback
/// until somebody shows that there was no GPU.
[[nodiscard]] Verdict judge_log(const EngineLog& log, const Placement& placement);

}  // namespace picchio
