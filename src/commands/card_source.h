// From what a user named (a file, one of its shards, a tag, a URL, standard input) to its card.
#pragma once

#include "base/result.h"
#include "evidence/card.h"
#include "os/signals.h"

#include <string>

namespace picchio {

enum class HashWish {
  known,    // only a digest that costs nothing: remembered, or a blob's name
  compute,  // what is not known is computed, and a blob's name is checked
  wait,     // what is not known is computed, a blob's name is believed
  none,
};

/// Errors say what to do: no such file, not GGUF, cut off, a shard missing, no such tag, a server
/// that sends whole files only. `interrupts` stops a download and a long hash.
[[nodiscard]] Result<Card> read_card(const std::string& what, HashWish hash,
                                     os::Interrupts& interrupts);

}  // namespace picchio
