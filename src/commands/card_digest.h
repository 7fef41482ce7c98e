// The SHA-256 of a card's files, without making anyone wait for one that is known.
#pragma once

#include "base/result.h"
#include "evidence/card.h"
#include "os/signals.h"

namespace picchio {

enum class HashWish {
  none,
  known,    // only what costs nothing: remembered, or a blob's name
  wait,     // what is not known is computed with a progress line, a blob's name is believed
  compute,  // read now, whatever is known, and a blob's name is held against it
};

/// Fills CardFile::digest of local files. A user who stops a long computation gets the card without
/// the digests that are missing then: no error.
[[nodiscard]] Result<> fill_digests(Card& card, HashWish wish, const os::Interrupts& interrupts);

}  // namespace picchio
