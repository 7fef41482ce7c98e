#include "os/device_node.h"
#include "os/fd.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace picchio::os {
NodeStatus try_node(const std::string& path, NodeTrial trial) {
  NodeStatus out;
  struct stat status{};
  if (::stat(path.c_str(), &status) == 0) {
    out.mode = static_cast<unsigned>(status.st_mode & 07777);
    out.gid = status.st_gid;
  }
  if (trial == NodeTrial::ask) {
    if (::faccessat(AT_FDCWD, path.c_str(), R_OK | W_OK, AT_EACCESS) != 0) out.error = errno;
    return out;
  }
  const UniqueFd node(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!node) out.error = errno;
  return out;
}

std::vector<unsigned> own_groups() {
  std::vector<unsigned> out = {::getegid()};
  const int count = ::getgroups(0, nullptr);
  if (count <= 0) return out;
  std::vector<gid_t> groups(static_cast<std::size_t>(count));
  const int got = ::getgroups(count, groups.data());
  for (int i = 0; i < got; ++i) out.push_back(groups[static_cast<std::size_t>(i)]);
  return out;
}

int own_uid() { return static_cast<int>(::geteuid()); }

}  // namespace picchio::os
