#include "evidence/sweep.h"

namespace picchio {

std::string_view name_of(TierEnd end) {
  switch (end) {
    case TierEnd::measured:
      return "measured";
    case TierEnd::earlier:
      return "from the history";
    case TierEnd::skipped:
      return "skipped";
    case TierEnd::failed:
      return "failed";
    case TierEnd::not_tried:
      break;
  }
  return "not tried";
}

}  // namespace picchio
