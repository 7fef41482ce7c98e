// What the word behind `picchio` means: a model file, a server's address, a model of ollama's.
#pragma once

#include "base/result.h"

#include <string>
#include <string_view>

namespace picchio {

enum class TargetKind { file, server, ollama };

struct Target {
  TargetKind kind = TargetKind::file;
  std::string word;  // the path; the base URL; ollama's tag
};

/// Something of that name that is there is a file, whatever it looks like. Else: a URL and an
/// address ("localhost:8080", ":8080") are a server's; what looks like a path ("./x", "~/x", an
/// ending ".gguf", a slash at either end) stays one and is never tried as a tag; what ollama could
/// call a model is a tag. An error for a file on another machine, and for what is none of the
/// three.
[[nodiscard]] Result<Target> resolve_target(const std::string& word);

/// The same without looking at the disk. Pure.
[[nodiscard]] Result<Target> target_of_name(std::string_view word);

}  // namespace picchio
