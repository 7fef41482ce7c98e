// What the names of buffers and devices say about whose memory they are.
#pragma once

#include "evidence/device.h"

#include <string>
#include <string_view>

namespace picchio {

/// Read off a buffer's name alone; whether a Vulkan or SYCL device is software, its description
/// tells.
struct BufferPlace {
  std::string device;  // "CPU" for everything in host memory
  DeviceKind kind = DeviceKind::hardware_gpu;
  bool repacked = false;  // host weights in a CPU kernel's own layout: CPU_REPACK, AMX and kin
  bool mapped = false;    // "*_Mapped"
};
[[nodiscard]] BufferPlace place_of_buffer(std::string_view buffer);

/// "OpenCL" is the buffer name of the device "GPUOpenCL".
[[nodiscard]] std::string device_name(std::string_view printed);

/// Letters in front of the number: "CUDA" of "CUDA0", "RPC" of "RPC0[host:port]".
[[nodiscard]] std::string_view backend_of(std::string_view device);

/// "CUDA" of ".../libggml-cuda.so", "CUDA" of "cuda_v12": the backend a library's name speaks of,
/// as ggml spells it; empty when it names none, "CPU" for the CPU variants.
[[nodiscard]] std::string_view backend_of_library(std::string_view path);

[[nodiscard]] bool is_host_device(std::string_view name);

/// The words of a description that give a software device away, or empty. `device` is its name: a
/// CPU's brand name means a CPU device under SYCL and OpenCL, but an integrated GPU under Vulkan.
[[nodiscard]] std::string_view software_words(std::string_view device,
                                              std::string_view description);

}  // namespace picchio
