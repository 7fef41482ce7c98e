// ggml's tensor types and llama.cpp's file types: numbers of the format, in words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace picchio::gguf {

/// A row of a tensor is a whole number of blocks, each of `block` elements in `block_bytes` bytes.
struct TensorType {
  std::uint32_t id = 0;
  std::string_view name;   // as the engine prints it: "q4_K"
  std::int64_t block = 0;  // 0: no file ever held it, and nothing says what it weighs
  std::int64_t block_bytes = 0;
  std::optional<std::int64_t> file_type = std::nullopt;  // of a file mostly of this type
  bool removed = false;  // taken out of the format; engines refuse it
};

/// nullptr for an id that is not in the table. The table stands at ggml 0.27.0.
[[nodiscard]] const TensorType* tensor_type(std::uint32_t id);
/// By its name, in whatever case: ollama writes "Q4_K". nullptr for one that is not in the table.
[[nodiscard]] const TensorType* tensor_type(std::string_view name);

/// general.file_type as llama.cpp prints it: "Q4_K - Medium", "all F32"; "(guessed) " in front when
/// the number says so, "unknown, may not work" for a number without a name. A label, not a fact:
/// the tensor table says what the file really holds.
[[nodiscard]] std::string file_type_words(std::int64_t file_type);

/// The file type that the engine assumes for a file without one, mostly of tensors of this type (by
/// name). nullopt for types that no file type stands for.
[[nodiscard]] std::optional<std::int64_t> file_type_guess(std::string_view type);

/// The bit of general.file_type that marks it as guessed.
inline constexpr std::int64_t kGuessedFileType = 1024;

}  // namespace picchio::gguf
