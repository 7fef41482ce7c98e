// Devices and what they really are. A backend's word "GPU" is not enough: llvmpipe, the SYCL CPU
// device and an RPC worker all call themselves one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace picchio {

enum class DeviceKind {
  hardware_gpu,  // a card, an integrated GPU or an NPU of this machine
  software,  // a "GPU" that is this machine's CPU: llvmpipe, SwiftShader, PoCL, SYCL's cpu device
  remote,    // behind RPC; what it is cannot be seen from here
  host,      // CPU, BLAS, pinned host memory
};

[[nodiscard]] std::string_view name_of(DeviceKind kind);  // "hardware gpu", "software device", ...

/// One device as the engine enumerated it.
struct Device {
  std::string name;         // the engine's: "CUDA0", "Vulkan0", "MTL0", "RPC0"
  std::string description;  // "NVIDIA GeForce RTX 4090", "llvmpipe (LLVM 22.1.8, 256 bits)"
  DeviceKind kind = DeviceKind::hardware_gpu;
  std::string kind_reason;         // why it is software or remote: the telling words of the log
  std::optional<bool> integrated;  // "uma: 1", "type=iGPU"
  std::optional<std::int64_t> total_bytes;
  std::optional<std::int64_t> free_bytes;  // as the backend reports it before the load
  bool selected = false;                   // a "using device" line named it
  int line = 0;                            // 1-based line of the log, 0 when not from a log
};

}  // namespace picchio
