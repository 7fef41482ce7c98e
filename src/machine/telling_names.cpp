#include "machine/telling_names.h"

#include <algorithm>

namespace picchio {
namespace {

constexpr std::string_view kLibraries[] = {
    // ggml: the core and its backends; llama.cpp's releases and ollama name them alike.
    "libggml",
    // CUDA: driver, runtime, libraries, Jetson's.
    "libcuda.so",
    "libcudart",
    "libcublas",
    "libcudnn",
    "libnvidia-",
    "libnvrm_",
    "libnvrtc",
    "libnvcucompat",
    // ROCm.
    "libhip",
    "libamdhip",
    "libhsa-runtime",
    "librocblas",
    "librocsolver",
    "libhipblas",
    "libamd_comgr",
    "libdrm_amdgpu",
    // Vulkan: loader, Mesa's drivers (radeon, intel, lvp, nouveau, ...), vendors' own.
    "libvulkan",
    "libGLX_nvidia",
    "libEGL_nvidia",
    "amdvlk",
    "libvk_swiftshader",
    "libMoltenVK",
    "libVkICD",
    "libGLES_mali",
    "libmali",
    // SYCL and Level Zero.
    "libze_",
    "libsycl",
    "libpi_",
    "libur_",
    "libigc",
    "libigdgmm",
    // OpenCL: loader and drivers.
    "libOpenCL",
    "libigdrcl",
    "libpocl",
    "libRusticlOpenCL",
    "libMesaOpenCL",
    "libamdocl",
    "libintelocl",
    // WSL2.
    "libdxcore",
    "libd3d12",
    // Ascend, Moore Threads, Qualcomm's NPU, OpenVINO.
    "libascendcl",
    "libmusa",
    "libmublas",
    "libcdsprpc",
    "libQnn",
    "libopenvino",
};

struct Node {
  std::string_view prefix;
  bool whole;  // the name, not its beginning
};

constexpr Node kNodes[] = {
    {"/dev/nvidia", false},  // nvidia0, nvidiactl, nvidia-uvm, nvidia-caps/...
    {"/dev/dri/", false},    {"/dev/kfd", true},     {"/dev/dxg", true},
    {"/dev/nvhost-", false}, {"/dev/nvgpu/", false}, {"/dev/nvmap", true},
    {"/dev/mali", false},    {"/dev/kgsl-", false},  {"/dev/davinci", false},
    {"/dev/mtgpu", false},   {"/dev/accel/", false}, {"/dev/fastrpc-", false},
};

}  // namespace

bool is_telling_library(std::string_view base_name) {
  return std::ranges::any_of(kLibraries,
                             [&](std::string_view start) { return base_name.starts_with(start); });
}

bool is_device_node(std::string_view path) {
  return std::ranges::any_of(kNodes, [&](const Node& node) {
    return node.whole ? path == node.prefix : path.starts_with(node.prefix);
  });
}

}  // namespace picchio
