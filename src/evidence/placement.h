// The account of bytes: what lies where, after spans were trimmed and copies left out.
#pragma once

#include "evidence/device.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace picchio {

/// Bytes of one device. Absent: the log has no line of that use at all.
struct DeviceAccount {
  std::string name;  // "CUDA0"; "CPU" for the host
  std::string description;
  DeviceKind kind = DeviceKind::host;
  std::optional<std::int64_t> weights_bytes;
  std::optional<std::int64_t> kv_bytes;  // attention cache and recurrent state
  std::optional<std::int64_t> compute_bytes;
  std::optional<std::int64_t> output_bytes;
  std::optional<std::int64_t> total_bytes;  // of the device
  std::optional<std::int64_t> free_bytes;   // before the load
};

enum class Shape { gpu, partial, cpu, software_device, remote, unknown };

[[nodiscard]] std::string_view name_of(
    Shape shape);  // "gpu", "software-device", ...: the JSON words

enum class KvPlace { gpu, cpu, mixed };
[[nodiscard]] std::string_view name_of(KvPlace place);

/// The account and what follows from it alone.
struct Placement {
  Shape shape = Shape::unknown;
  std::string reason;                  // one sentence: which numbers decided, or why nothing can
  std::vector<DeviceAccount> devices;  // devices first, the host last
  std::optional<int> layers_on_gpu;    // on hardware GPUs, whatever the engine claims
  std::optional<int> layers_total;
  std::optional<int> layers_claimed;              // n of "offloaded n/N"
  std::optional<double> weights_on_gpu_fraction;  // hardware GPU / all weights; 0 to 1
  std::optional<KvPlace> kv_on;
  std::optional<std::int64_t> host_by_design_bytes;  // input embedding and kin, from the header
  std::optional<std::int64_t> missing_bytes;  // weights beyond those that are not on a hardware GPU
};

}  // namespace picchio
