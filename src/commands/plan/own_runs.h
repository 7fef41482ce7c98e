// The runs of this machine's history that an estimate may rest on.
#pragma once

#include "evidence/machine.h"
#include "verdict/own_runs.h"

#include <map>
#include <string>
#include <vector>

namespace picchio {

/// By the memory that the weights lay in: the name of a GPU, empty for the CPU's.
using RunsByMemory = std::map<std::string, std::vector<OwnRun>>;

/// Newest first, of this machine (by its name and its CPU). A run counts whose model file is still
/// there and weighs what it did: what a token reads is taken from its header. Without a history, or
/// with one that cannot be read, none; what was wrong stands on stderr and is no failure.
[[nodiscard]] RunsByMemory own_runs(const Machine& machine);

}  // namespace picchio
