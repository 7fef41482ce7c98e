// Words by which a text denies, wishes, plans, quotes of others or gives up what it names. Pure.
// Private to vet*.cpp.
#pragma once

#include "results/post_words.h"
#include "results/vet.h"

#include <cstddef>

namespace picchio::results {

/// Marks the cues in `unsays` of the post's words, which know_words() has read.
void mark_cues(Post& post);

/// Compiles the table of cues; before know_words().
void prepare_cues();

/// Whether what [begin, end) names is said of this run: stated, not asked for, denied, planned,
/// somebody's, beyond reach or not known.
[[nodiscard]] bool is_stated(const Post& post, std::size_t begin, std::size_t end,
                             Condition condition);

}  // namespace picchio::results
