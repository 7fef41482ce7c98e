#include "os/system_error.h"

#include <cctype>
#include <cerrno>
#include <system_error>

namespace picchio::os {

ErrorKind errno_kind(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
    case ESRCH:
      return ErrorKind::not_found;
    case EACCES:
    case EPERM:
    case EROFS:
      return ErrorKind::denied;
    case EINTR:
      return ErrorKind::interrupted;
    case ETIMEDOUT:
      return ErrorKind::timed_out;
    case ENOEXEC:
    case ENOSYS:
    case EISDIR:
      return ErrorKind::unsupported;
    default:
      return ErrorKind::failed;
  }
}

std::string errno_text(int error) {
  std::string text = std::generic_category().message(error);
  // "Input/output error" becomes lower case, "RFS specific error" stays.
  if (text.size() > 1 && std::islower(static_cast<unsigned char>(text[1])) != 0) {
    text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  }
  return text;
}

}  // namespace picchio::os
