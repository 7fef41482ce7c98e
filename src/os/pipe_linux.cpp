#include "os/pipe.h"

#include <fcntl.h>

namespace picchio::os {

void widen_pipe(int fd) {
  // Refused beyond /proc/sys/fs/pipe-max-size or the user's share of pipe pages: then 64 KiB do.
  (void)::fcntl(fd, F_SETPIPE_SZ, 1 << 20);
}

}  // namespace picchio::os
