#include "os/pipe.h"
#include "os/system_error.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace picchio::os {
namespace {

// pipe2() would set close-on-exec at once, but macOS has none, and the move above 2 needs a second
// call anyway. Between the two a program started by another thread could inherit the pipe; all that
// start programs here close what they did not ask for.
bool move_up(UniqueFd& fd) {
  UniqueFd moved(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 3));
  fd = std::move(moved);
  return static_cast<bool>(fd);
}

}  // namespace

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) {
    return fail(errno_kind(errno), "cannot make a pipe: {}", errno_text(errno));
  }
  Pipe pipe{.read_end = UniqueFd(ends[0]), .write_end = UniqueFd(ends[1])};
  if (!move_up(pipe.read_end) || !move_up(pipe.write_end)) {
    return fail(errno_kind(errno), "cannot make a pipe: {}", errno_text(errno));
  }
  return pipe;
}

void set_nonblocking(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags >= 0) ::fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

}  // namespace picchio::os
