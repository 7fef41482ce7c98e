// What a file's name says about it, before anything is asked of the file. Pure.
//
// GGUF is a container for more than models, and the people and tools that make the others name them
// by custom: mmproj-*.gguf (picture encoders), imatrix*.gguf, *-lora-f16.gguf, ggml-vocab-*.gguf.
#pragma once

#include <optional>
#include <string_view>

namespace picchio::models {

enum class NamedAs {
  model,
  no_gguf,     // another kind of file, hidden ones and "x.gguf.part" among them
  unfinished,  // "x.part.gguf"
  projector,
  importance_matrix,
  adapter,  // LoRA, control vectors
  vocabulary,
};

/// `name` without its folder. A quantization in it speaks for a model where a word alone would be
/// ambiguous: "x-imatrix-Q4_K_M.gguf" was made with an importance matrix and is none.
[[nodiscard]] NamedAs named_as(std::string_view name);

/// Of a file that a downloader keeps beside its unfinished "x.gguf" and removes in the end, such as
/// "x.gguf.aria2": "x.gguf". nullopt for others.
[[nodiscard]] std::optional<std::string_view> unfinished_by(std::string_view name);

}  // namespace picchio::models
