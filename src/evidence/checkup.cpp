#include "evidence/checkup.h"

namespace picchio {

std::string_view name_of(NodeAccess access) {
  switch (access) {
    case NodeAccess::opened:
      return "opened";
    case NodeAccess::missing:
      return "missing";
    case NodeAccess::no_permission:
      return "no permission";
    case NodeAccess::refused:
      return "refused";
    case NodeAccess::no_device:
      return "no device";
    case NodeAccess::failed:
      return "failed";
  }
  return "";
}

}  // namespace picchio
