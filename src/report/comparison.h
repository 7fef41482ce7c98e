// A comparison as people and scripts read it.
#pragma once

#include "evidence/comparison.h"

#include <string>
#include <string_view>

namespace picchio {

/// What the two sides are called: file names, ids.
struct ComparedNames {
  std::string a;
  std::string b;
};

[[nodiscard]] std::string comparison_text(const Comparison& comparison, const ComparedNames& names);
[[nodiscard]] std::string comparison_markdown(const Comparison& comparison,
                                              const ComparedNames& names);
/// Schema "picchio.compare.v1".
[[nodiscard]] std::string comparison_json(const Comparison& comparison, const ComparedNames& names);
/// JUnit's XML: a test case for each lane and one for the placement.
[[nodiscard]] std::string comparison_junit(const Comparison& comparison,
                                           const ComparedNames& names);
/// "SUSPECT: placement. A: ..., B: ...", or why there is none. One paragraph.
[[nodiscard]] std::string comparison_outcome(const Comparison& comparison);

}  // namespace picchio
