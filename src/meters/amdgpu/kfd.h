// KFD, the part of amdgpu that ROCm computes through. Its time is in no DRM counter, but its memory
// is told for each process, to everybody: /sys/class/kfd/kfd/proc/PID/vram_GPUID.
#pragma once

#include "base/time.h"
#include "meters/attribute.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace picchio::meters::amdgpu {

/// One node of KFD's topology that is a GPU.
struct KfdNode {
  std::string gpu_id;    // KFD's own number, part of file names: digits only
  std::string address;   // "0000:03:00.0"
  bool has_cpu = false;  // the same chip as the processor
};

/// From a node's "gpu_id" and "properties" ("location_id 768\ndomain 0\n..."); nullopt for a
/// processor's node (id 0) and for one that tells no place. Pure.
[[nodiscard]] std::optional<KfdNode> parse_kfd_node(std::string_view gpu_id,
                                                    std::string_view properties);

struct KfdUse {
  int pid = 0;
  std::string address;
  std::int64_t memory_bytes = 0;
};

class Kfd {
 public:
  explicit Kfd(std::string root);

  [[nodiscard]] const std::vector<KfdNode>& nodes() const { return nodes_; }

  /// What `pids` have of each GPU; nothing for those without KFD. Looks for the files of a process
  /// once a second. Tells nothing inside a container with its own process numbers, since KFD's are
  /// the host's.
  [[nodiscard]] std::vector<KfdUse> look(Micros now, std::span<const int> pids);

 private:
  struct File {
    std::string address;
    Attribute vram;
  };
  struct Process {
    Micros looked_at{};
    std::vector<File> files;
  };

  void look_for_files(int pid, Process& process) const;

  std::string root_;
  bool pids_match_ = true;
  std::vector<KfdNode> nodes_;
  std::map<int, Process> processes_;
};

}  // namespace picchio::meters::amdgpu
