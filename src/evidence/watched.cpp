#include "evidence/watched.h"

namespace picchio {

std::string_view name_of(Activity activity) {
  switch (activity) {
    case Activity::busy:
      return "GPU BUSY";
    case Activity::idle:
      return "GPU IDLE";
    case Activity::not_sure:
      return "NOT SURE";
  }
  return "NOT SURE";
}

}  // namespace picchio
