#include "evidence/verdict.h"

namespace picchio {

std::string_view name_of(Witness witness) {
  switch (witness) {
    case Witness::claim:
      return "claim";
    case Witness::allocation:
      return "allocation";
    case Witness::device:
      return "device";
    case Witness::schedule:
      return "schedule";
    case Witness::process:
      return "process";
    case Witness::gpu_meter:
      return "gpu meter";
    case Witness::cpu_meter:
      return "cpu meter";
    case Witness::timing:
      return "timing";
  }
  return "witness";
}

std::string_view name_of(Word word) {
  switch (word) {
    case Word::gpu:
      return "gpu";
    case Word::partial:
      return "partial";
    case Word::cpu:
      return "cpu";
  }
  return "cpu";
}

std::string_view name_of(State state) {
  switch (state) {
    case State::healthy:
      return "HEALTHY";
    case State::cpu_only_machine:
      return "CPU ONLY MACHINE";
    case State::no_placement_evidence:
      return "NO PLACEMENT EVIDENCE";
    case State::partial_offload:
      return "PARTIAL OFFLOAD";
    case State::silent_cpu_fallback:
      return "SILENT CPU FALLBACK";
    case State::conflicting_evidence:
      return "CONFLICTING EVIDENCE";
    case State::no_timing_evidence:
      return "NO TIMING EVIDENCE";
  }
  return "NO PLACEMENT EVIDENCE";
}

std::optional<State> state_named(std::string_view name) {
  for (const State state : {State::healthy, State::cpu_only_machine, State::no_placement_evidence,
                            State::partial_offload, State::silent_cpu_fallback,
                            State::conflicting_evidence, State::no_timing_evidence}) {
    if (name == name_of(state)) return state;
  }
  return std::nullopt;
}

ExitCode exit_code_of(State state, bool strict) {
  switch (state) {
    case State::healthy:
    case State::cpu_only_machine:
      return ExitCode::ok;
    case State::no_placement_evidence:
      return strict ? ExitCode::no_timing_evidence : ExitCode::ok;
    case State::partial_offload:
      return ExitCode::partial_offload;
    case State::silent_cpu_fallback:
      return ExitCode::silent_cpu_fallback;
    case State::conflicting_evidence:
      return ExitCode::conflicting_evidence;
    case State::no_timing_evidence:
      return ExitCode::no_timing_evidence;
  }
  return ExitCode::failure;
}

}  // namespace picchio
