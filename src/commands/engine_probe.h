// Finds the llama.cpp program to run and learns what it is, once per binary.
#pragma once

#include "base/result.h"
#include "engines/llama_cpp/program.h"
#include "evidence/run.h"
#include "os/signals.h"

#include <string>

namespace picchio {

struct ProbedEngine {
  EngineProgram program;
  llama_cpp::Abilities abilities;
};

/// `wanted`: --bin, a path or a name on PATH; empty: llama-completion, else llama-cli on PATH. What
/// a binary said of itself is kept in the cache by path, size and time stamp; an unwritable cache
/// is no failure, the binary is asked again next time. A chat-only program is refused here, before
/// it runs.
[[nodiscard]] Result<ProbedEngine> find_engine(const std::string& wanted,
                                               os::Interrupts& interrupts);

}  // namespace picchio
