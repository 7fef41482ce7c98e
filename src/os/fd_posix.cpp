#include "os/fd.h"

#include <unistd.h>

namespace picchio::os {

void UniqueFd::reset(int fd) {
  // No retry on EINTR: Linux has freed the number by then, and a second close could hit another's.
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
}

}  // namespace picchio::os
