// What verify found, as people and scripts read it.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace picchio {

struct VerifiedBlock {
  std::string label;  // "model.gguf, line 12"
  std::vector<std::string> held;
  std::vector<std::pair<std::string, std::string>> contradictions;  // check, arithmetic
  std::vector<std::string> unread;                                  // lines, as they stand there
};

[[nodiscard]] std::string verification_text(const std::vector<VerifiedBlock>& blocks);
/// Schema "picchio.verify.v1".
[[nodiscard]] std::string verification_json(const std::vector<VerifiedBlock>& blocks);

}  // namespace picchio
