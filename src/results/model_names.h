// Whether two names are of one model. Pure.
#pragma once

#include <string>
#include <string_view>

namespace picchio::results {

/// What two names of one model have in common: lower case letters and digits, without folder,
/// ending, shard number and quant; a '.' where digits would meet, so that 1.7B is not 17B.
/// "qwen3.5:9b" is as "Qwen3.5-9B-Q4_K_M.gguf": "qwen3.5.9b". Empty for names that are none
/// ("model.gguf", a blob).
[[nodiscard]] std::string model_core(std::string_view name);

/// One core holds the other: "Meta-Llama-3.1-8B" and "Llama-3.1-8B", "qwen3" and "qwen3:8b". Only
/// with the same number of parameters they are one model.
[[nodiscard]] bool names_are_related(std::string_view a, std::string_view b);

}  // namespace picchio::results
