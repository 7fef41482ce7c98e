// Pipes that no program we start can inherit by accident.
#pragma once

#include "base/result.h"
#include "os/fd.h"

namespace picchio::os {

struct Pipe {
  UniqueFd read_end;
  UniqueFd write_end;
};

/// Both ends are close-on-exec and numbered 3 or higher, also when we were started with a closed
/// stdin: a child that puts its pipes on 0, 1 and 2 must not step on one of its own.
[[nodiscard]] Result<Pipe> make_pipe();

void set_nonblocking(int fd);

/// Asks for a buffer of 1 MiB, the most that Linux gives to anybody, so that an engine with much to
/// say need not wait for us. Without effect where the system has no such call.
void widen_pipe(int fd);

}  // namespace picchio::os
