// Finds the GPU files that processes have open, and reads what the kernel tells of each.
#pragma once

#include "base/result.h"
#include "meters/drm/clients.h"
#include "meters/drm/devices.h"
#include "meters/meter.h"
#include "os/kept_file.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace picchio::meters::drm {

struct ProcessLook {
  std::vector<GpuProcessUse> use;
  std::vector<int> denied;  // whose open files we may not see
};

/// `use`, unless what was denied leaves nothing to tell: processes of somebody else's that show no
/// use may well have some.
[[nodiscard]] Result<std::vector<GpuProcessUse>> told(ProcessLook look);

/// Looks through a process's descriptors once a second and when it is new, since an engine opens
/// its GPU once; between that only the files found are read again. Client counters are kept for the
/// processes that were asked about the last time.
class ClientWatch {
 public:
  struct Watched {
    Device device;
    bool unified = false;
  };

  /// `devices` in the meter's order; files of other devices are left alone.
  ClientWatch(Place place, std::vector<Watched> devices);

  [[nodiscard]] ProcessLook look(std::span<const int> pids);

  /// Whether it had /dev/kfd open when last looked through: then it computes through ROCm, which
  /// DRM's time counters do not see.
  [[nodiscard]] bool uses_rocm(int pid) const;

 private:
  struct OpenGpu {
    std::string node;  // "/dev/dri/renderD128"
    os::KeptFile fdinfo;
  };
  struct Process {
    std::int64_t start_ticks = 0;
    Micros looked_through{};
    bool denied = false;
    bool rocm = false;
    std::map<std::string, OpenGpu> gpus;  // by the descriptor's name
  };

  [[nodiscard]] std::string at(int pid, std::string_view name) const;
  void drop_others(std::span<const int> pids);
  void look_through(int pid, Process& process);
  void keep_gpu(int pid, Process& process, const std::string& fd, std::string node,
                std::map<std::string, OpenGpu>& found);
  void read_clients(int pid, Process& process, std::vector<Sighting>& sightings) const;
  [[nodiscard]] int device_of(const Client& client, std::string_view node) const;

  Place place_;
  std::vector<Watched> devices_;
  std::map<int, Process> processes_;
  ClientBook book_;
};

}  // namespace picchio::meters::drm
