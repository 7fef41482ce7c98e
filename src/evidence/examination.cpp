#include "evidence/examination.h"

#include <algorithm>

namespace picchio {

std::string_view name_of(LinkState state) {
  switch (state) {
    case LinkState::ok:
      return "ok";
    case LinkState::warning:
      return "warning";
    case LinkState::broken:
      return "broken";
    case LinkState::skipped:
      return "skipped";
  }
  return "";
}

ExitCode Examination::exit_code() const {
  if (first_broken) return ExitCode::silent_cpu_fallback;
  const bool warned = std::ranges::any_of(
      links, [](const CheckedLink& link) { return link.state == LinkState::warning; });
  return warned ? ExitCode::partial_offload : ExitCode::ok;
}

}  // namespace picchio
