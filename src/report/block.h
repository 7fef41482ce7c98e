// The block: the result as a person pastes it into a forum.
#pragma once

#include "evidence/run.h"
#include "evidence/verdict.h"

#include <cstddef>
#include <string>

namespace picchio {

inline constexpr std::size_t kBlockColumns = 66;  // all lines but the model line and the footer
inline constexpr std::size_t kBlockRows = 20;
inline constexpr std::size_t kWideColumns = 160;  // the model line and the footer

/// At most kBlockRows lines of plain ASCII, each ending in LF. The labels and columns are those of
/// the established tool of this kind, whose readers find their fields in it; `bytes`, `cpu` and FIX
/// are lines of our own.
///
/// What does not fit is left out in this order: remarks and trailing sentences of the verdict, its
/// trailing clauses, the second row of WHY, the rest of the verdict down to one row, the second row
/// of FIX. A cut ends in "..". WHY and FIX themselves are never left out.
///
/// The percentage of the bytes line is hardware GPU over all weights, except that a load with
/// nothing missing reads 100%: what the engine keeps on the host by design is not missing.
[[nodiscard]] std::string block(const Run& run, const Verdict& verdict);

}  // namespace picchio
