// The chain from the card to the engine as it was judged. Made by verdict/doctor, printed by
// report/.
#pragma once

#include "evidence/verdict.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace picchio {

enum class LinkState {
  ok,
  warning,
  broken,
  skipped,  // cannot be judged, or is not needed here
};
[[nodiscard]] std::string_view name_of(LinkState state);

struct CheckedLink {
  std::string id;  // "device-nodes"
  LinkState state = LinkState::skipped;
  std::string found;   // what was seen, in one or two sentences
  std::string remedy;  // empty: nothing to change, or none is known
  std::string cause;   // of the catalogue; empty: none
};

struct Examination {
  std::vector<CheckedLink> links;           // in the chain's order
  std::optional<std::size_t> first_broken;  // index into links
  std::string summary;                      // one sentence

  /// 0 also of a machine without a GPU; 3: warnings; 4: an engine here cannot use the GPU here.
  [[nodiscard]] ExitCode exit_code() const;
};

}  // namespace picchio
