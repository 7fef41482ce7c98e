#include "meters/nvml/pids.h"

#include "base/text.h"
#include "os/file.h"
#include "os/proc.h"

#include <string_view>
#include <vector>

namespace picchio::meters::nvml {
namespace {

constexpr std::int64_t kMaxStatus = 64 << 10;

// The machine's own pid namespace has this inode on every Linux (PROC_PID_INIT_INO).
constexpr std::string_view kMachine = "pid:[4026531836]";

// "NSpid:\t4242\t7": the process's numbers from the namespace that this /proc was mounted in down
// to its own. Kernels before 4.1 have no such line.
std::vector<int> numbers_of(const std::string& root, const std::string& process) {
  std::vector<int> numbers;
  const auto text = os::read_file(root + "/proc/" + process + "/status", kMaxStatus);
  if (!text) return numbers;
  for (std::string_view line : split_lines(*text)) {
    if (!take_prefix(line, "NSpid:")) continue;
    for (const std::string_view word : split_blanks(line)) {
      numbers.push_back(static_cast<int>(parse_int(word).value_or(0)));
    }
  }
  return numbers;
}

std::string name_space_of(const std::string& root, const std::string& process) {
  return os::read_link(root + "/proc/" + process + "/ns/pid").value_or(std::string());
}

}  // namespace

Result<Pids> Pids::look(const std::string& root) {
  const std::string ours = name_space_of(root, "self");
  if (ours == kMachine) return Pids(root, ours, 0);
  if (ours.empty()) {
    return fail(ErrorKind::unsupported,
                "NVML names processes by the machine's pids, and /proc does not tell whether ours "
                "are those");
  }
  const auto numbers = numbers_of(root, "self");
  // Process 2 of the machine is the kernel's own; no other namespace has it.
  if (numbers.size() < 2 || os::comm_of(root, 2) != "kthreadd") {
    return fail(ErrorKind::unsupported,
                "NVML names processes by the machine's pids, and this container's /proc does not "
                "show them");
  }
  return Pids(root, ours, numbers.size() - 1);
}

std::map<int, int> Pids::of_driver(std::span<const int> pids) const {
  std::map<int, int> ours_by_driver;
  if (depth_ == 0) {
    for (const int pid : pids) ours_by_driver[pid] = pid;
    return ours_by_driver;
  }
  std::map<int, int> wanted;
  for (const int pid : pids) wanted[pid] = pid;
  for (const int outer : os::all_processes(root_).value_or(std::vector<int>())) {
    const std::string process = std::to_string(outer);
    const auto numbers = numbers_of(root_, process);
    if (numbers.size() != depth_ + 1 || !wanted.contains(numbers.back())) continue;
    // Another container has the same numbers at the same depth.
    if (name_space_of(root_, process) == name_space_) ours_by_driver[outer] = numbers.back();
  }
  return ours_by_driver;
}

}  // namespace picchio::meters::nvml
