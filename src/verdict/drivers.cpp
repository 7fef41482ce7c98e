#include "verdict/drivers.h"

#include "base/text.h"

#include <string_view>

namespace picchio {
namespace {

enum class Library { gpu_driver, software_driver, other };

Library library_kind(std::string_view library) {
  const std::string name = lower(library);
  for (std::string_view word : {"libvulkan_lvp", "swiftshader", "libpocl"}) {
    if (name.contains(word)) return Library::software_driver;
  }
  // Driver libraries, and the Vulkan drivers by vendor; the loaders (libvulkan, libOpenCL) and
  // ggml's own backends are there without a device as well.
  for (std::string_view word :
       {"libcuda.so", "libnvidia-", "libvulkan_", "libglx_nvidia", "libamdhip64", "libhsa-runtime",
        "libze_intel_gpu", "libigdrcl", "libnvoptix", "libascend", "libmusa.so", "libadreno",
        "libcdsprpc", "libigdgmm"}) {
    if (name.contains(word)) return Library::gpu_driver;
  }
  return Library::other;
}

bool is_gpu_node(std::string_view node) {
  // A display node (card0) belongs to whoever draws the screen; a computation opens a render node.
  return node.starts_with("/dev/nvidia") || node.starts_with("/dev/dri/renderD") ||
         node.starts_with("/dev/kfd") || node.starts_with("/dev/dxg");
}

}  // namespace

DriversInReach drivers_in_reach(const std::vector<std::string>& libraries,
                                const std::vector<std::string>& device_nodes) {
  DriversInReach out;
  for (const std::string& node : device_nodes) {
    if (is_gpu_node(node)) out.nodes.push_back(node);
  }
  for (const std::string& library : libraries) {
    const Library kind = library_kind(library);
    // The Vulkan loader maps every installed driver to ask it; one that found its card holds a
    // node.
    const bool only_asked = out.nodes.empty() && lower(library).contains("libvulkan_");
    if (kind == Library::gpu_driver && !only_asked) out.drivers.push_back(library);
    if (kind == Library::software_driver) out.software.push_back(library);
  }
  return out;
}

}  // namespace picchio
