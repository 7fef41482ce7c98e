// From what a user named (a file, one of its shards, a tag, a URL, standard input) to its card.
#pragma once

#include "base/result.h"
#include "evidence/card.h"
#include "os/signals.h"

#include <string>

namespace picchio {

/// Errors say what to do: no such file, not GGUF, cut off, a shard missing, no such tag, a server
/// that sends whole files only. `interrupts` stops a download. Digests are left to
/// fill_digests(), but for the one that a server names.
[[nodiscard]] Result<Card> read_card(const std::string& what, os::Interrupts& interrupts);

/// The same of a file for certain: any shard of a set stands for all of it.
[[nodiscard]] Result<Card> card_of_file(const std::string& path);

}  // namespace picchio
