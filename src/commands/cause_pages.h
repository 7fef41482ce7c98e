// The catalogue of causes as text, JSON and the page docs/causes.md. Pure.
#pragma once

#include "verdict/causes/catalogue.h"

#include <span>
#include <string>

namespace picchio {

/// One line a cause.
[[nodiscard]] std::string cause_list(std::span<const CauseEntry> entries);
/// All of one: what it is, its evidence, each remedy with where it holds, the reference.
[[nodiscard]] std::string cause_text(const CauseEntry& entry);
[[nodiscard]] std::string causes_as_json(std::span<const CauseEntry> entries);
/// docs/causes.md, whole.
[[nodiscard]] std::string causes_as_markdown(std::span<const CauseEntry> entries);

}  // namespace picchio
