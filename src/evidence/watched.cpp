#include "evidence/watched.h"

#include <algorithm>

namespace picchio {
namespace {

// The tree is looked at once a second.
constexpr Micros kBetweenLooks{2'000'000};

}  // namespace

bool was_in_tree(const WatchRecord& record, int pid, Micros at) {
  return std::ranges::any_of(record.processes, [&](const WatchedProcess& process) {
    return process.in_tree && process.pid == pid && at >= process.first - kBetweenLooks &&
           at <= process.last + kBetweenLooks;
  });
}

std::string process_name(const WatchRecord& record, int pid) {
  std::string name;
  for (const WatchedProcess& process : record.processes) {
    if (process.pid == pid && !process.name.empty()) name = process.name;
  }
  return name;
}

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
