// Testimonies and the verdict. Made by verdict/, rendered by report/.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace picchio {

enum class Witness { claim, allocation, device, schedule, process, gpu_meter, cpu_meter, timing };

enum class Word { gpu, partial, cpu };

/// What one witness says. No word: it abstains, and `sentence` is the reason.
struct Testimony {
  Witness witness = Witness::claim;
  std::optional<Word> word;
  std::string sentence;  // one line with its numbers
};

enum class State {
  healthy,
  cpu_only_machine,
  no_placement_evidence,
  partial_offload,
  silent_cpu_fallback,
  conflicting_evidence,
  no_timing_evidence,
};

/// Exit codes that users script against. 6 is kept free on purpose: another tool of this kind uses
/// it.
enum class ExitCode {
  ok = 0,
  failure = 1,        // internal error
  differs = 1,        // of `compare`
  not_fitting = 1,    // of `plan`
  could_not_run = 2,  // also usage errors
  partial_offload = 3,
  silent_cpu_fallback = 4,
  conflicting_evidence = 5,
  no_timing_evidence = 7,
  interrupted = 130,
};

/// Why, and the one thing to change. `fix` is empty where nothing should be changed or none is
/// known.
struct Cause {
  std::string id;  // "device_none", "vram_too_small": docs/causes.md lists them
  std::string why;
  std::string fix;
  std::string proof = {};  // what of this run proves it: "line 12: ...", "the flag -ngl 0"
  // Of the catalogue, whose texts live as long as the program.
  std::string_view sentence = {};   // what this cause is, in general
  std::string_view effect = {};     // "on the CPU", "slower than it could be", ...
  std::string_view reference = {};  // a public report; empty: none
};

struct Verdict {
  State state = State::no_placement_evidence;
  std::string rule;                   // name of the rule that fired
  std::string sentence;               // one or two sentences for the block
  std::optional<Cause> cause;         // the strongest; absent: unknown, or nothing to explain
  std::vector<Cause> further_causes;  // weaker ones that have evidence too
  std::string suspicion;              // what an unknown cause might be; empty: nothing to say
  std::vector<Testimony> testimonies;
};

[[nodiscard]] std::string_view name_of(Witness witness);
[[nodiscard]] std::string_view name_of(Word word);
[[nodiscard]] std::string_view name_of(State state);  // "SILENT CPU FALLBACK"
[[nodiscard]] std::optional<State> state_named(std::string_view name);
/// `strict`: NO PLACEMENT EVIDENCE becomes 7, for gates that want proof.
[[nodiscard]] ExitCode exit_code_of(State state, bool strict);

}  // namespace picchio
