// Whether a tree of processes runs a model at all, and what it could run it on.
#pragma once

#include "evidence/run.h"

#include <string>

namespace picchio {

struct EngineLook {
  /// Some process of the tree is an engine: it has ggml's or llama.cpp's libraries mapped, is one
  /// of the programs built on them, or has a model open. False for a client of an engine elsewhere
  /// (docker, ssh), and where nothing may be looked at.
  bool engine = false;
  bool model_open = false;  // a GGUF file is mapped or open
  ProcessFacts facts;
};

/// Of the tree below `pid`.
[[nodiscard]] EngineLook look_for_engine(const std::string& root, int pid);

}  // namespace picchio
