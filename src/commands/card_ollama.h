// The card of a model that ollama has installed.
#pragma once

#include "base/result.h"
#include "evidence/card.h"
#include "os/signals.h"

#include <string>

namespace picchio {

/// From the store's blob; where no store may be read, from what the server tells of the tensors
/// (then there is no offset audit, and the card says so). `text` is the tag as the user wrote it.
[[nodiscard]] Result<Card> card_of_tag(const std::string& text, const os::Interrupts& interrupts);

}  // namespace picchio
