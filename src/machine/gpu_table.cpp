#include "machine/gpu_table.h"

#include <algorithm>
#include <array>

namespace picchio {
namespace {

struct PciVendor {
  std::string_view id;
  std::string_view name;
};

// pci.ids, those that make graphics devices or accelerators, real or pretended.
constexpr PciVendor kVendors[] = {
    {"0014", "Loongson"},
    {"0731", "Jingjia Micro"},
    {"1002", "AMD"},
    {"1010", "Imagination"},
    {"1013", "Cirrus Logic"},
    {"102b", "Matrox"},
    {"1039", "SiS"},
    {"106b", "Apple"},
    {"10de", "NVIDIA"},
    {"10ee", "Xilinx"},
    {"1106", "VIA"},
    {"1234", "QEMU"},
    {"126f", "Silicon Motion"},
    {"1414", "Microsoft"},
    {"15ad", "VMware"},
    {"17cb", "Qualcomm"},
    {"18ca", "XGI"},
    {"19e5", "Huawei"},
    {"1a03", "ASPEED"},
    {"1ab8", "Parallels"},
    {"1af4", "virtio"},
    {"1b36", "QEMU"},
    {"1d0f", "Amazon"},
    {"1d17", "Zhaoxin"},
    {"1da3", "Habana"},
    {"1e3e", "Iluvatar"},
    {"1ed5", "Moore Threads"},
    {"5333", "S3"},
    {"6766", "Glenfly"},
    {"8086", "Intel"},
    {"80ee", "VirtualBox"},
    {"9999", "MetaX"},
    {"cabc", "Cambricon"},
    {"fb5d", "bhyve"},
};

struct Unfit {
  std::string_view vendor;
  std::string_view device;  // "": every device of the vendor in `base_class`
  int base_class;           // 0x03 display, 0x12 accelerator
  std::string_view why;
};

constexpr std::string_view kVirtual = "the display adapter of a virtual machine";
constexpr std::string_view kVmware =
    "the display adapter of a virtual machine; its 3D is OpenGL only";
constexpr std::string_view kBmc = "the display adapter of a server's management controller";
constexpr std::string_view kOld = "a display adapter from before programmable GPUs";
constexpr std::string_view kNoVulkan = "an integrated GPU from before Vulkan and OpenCL";
constexpr std::string_view kForeign = "an accelerator that no ggml backend drives";

constexpr Unfit kUnfit[] = {
    {"1234", "", 0x03, kVirtual},      // QEMU std VGA and bochs-display
    {"1013", "", 0x03, kVirtual},      // Cirrus: QEMU's 00b8; real ones are of the 1990s
    {"1b36", "", 0x03, kVirtual},      // QXL
    {"15ad", "", 0x03, kVmware},       // SVGA II and III
    {"80ee", "", 0x03, kVirtual},      // VirtualBox
    {"1ab8", "", 0x03, kVirtual},      // Parallels
    {"fb5d", "", 0x03, kVirtual},      // bhyve fbuf
    {"1d0f", "1111", 0x03, kVirtual},  // EC2's VGA
    {"1414", "5353", 0x03, kVirtual},  // Hyper-V generation 1; 008e is a real GPU handed through
    {"1a03", "", 0x03, kBmc},          // ASPEED AST2000 to AST2600
    {"102b", "", 0x03, kBmc},          // Matrox G200 family; Matrox's later cards carry others' ids
    {"19e5", "1711", 0x03, kBmc},      // Huawei iBMC (Hi1710)
    {"1002", "515e", 0x03, kBmc},      // ATI ES1000
    {"1002", "5969", 0x03, kBmc},      // ATI ES1000
    {"1002", "4752", 0x03, kOld},      // ATI Rage XL, on servers until about 2006
    {"126f", "", 0x03, kBmc},          // Silicon Motion SM712, SM750
    {"18ca", "", 0x03, kBmc},          // XGI Volari Z7, Z9, Z11
    {"1039", "", 0x03, kOld},          // SiS
    {"5333", "", 0x03, kOld},          // S3
    {"1106", "", 0x03, kOld},          // VIA UniChrome, Chrome9
    {"8086", "0042", 0x03, kNoVulkan},  // Ironlake: Mesa's Vulkan starts with Ivy Bridge
    {"8086", "0046", 0x03, kNoVulkan}, {"8086", "0102", 0x03, kNoVulkan},  // Sandy Bridge
    {"8086", "0106", 0x03, kNoVulkan}, {"8086", "010a", 0x03, kNoVulkan},
    {"8086", "0112", 0x03, kNoVulkan}, {"8086", "0116", 0x03, kNoVulkan},
    {"8086", "0122", 0x03, kNoVulkan}, {"8086", "0126", 0x03, kNoVulkan},
    {"10ee", "", 0x12, kForeign},  // Xilinx Alveo
    {"1da3", "", 0x12, kForeign},  // Habana Gaudi
    {"17cb", "", 0x12, kForeign},  // Qualcomm Cloud AI 100
    {"8086", "", 0x12, kForeign},  // Intel NPU; the data centre GPUs are class 0x0380
};

constexpr std::string_view kNoCompute = "its driver has neither Vulkan nor OpenCL";

constexpr DrmDriver kDrmDrivers[] = {
    {"msm", "Qualcomm", "Qualcomm Adreno GPU", ""},
    {"msm_dpu", "Qualcomm", "Qualcomm Adreno GPU", ""},
    {"adreno", "Qualcomm", "Qualcomm Adreno GPU", ""},
    {"panfrost", "ARM", "ARM Mali GPU", ""},
    {"panthor", "ARM", "ARM Mali GPU", ""},
    {"asahi", "Apple", "Apple GPU", ""},
    {"tegra", "NVIDIA", "NVIDIA Tegra GPU", ""},
    {"tegra-drm", "NVIDIA", "NVIDIA Tegra GPU", ""},
    {"nouveau", "NVIDIA", "NVIDIA Tegra GPU", ""},  // outside of PCI: a Tegra's
    {"gk20a", "NVIDIA", "NVIDIA Tegra GPU", ""},
    {"nvgpu", "NVIDIA", "NVIDIA Tegra GPU", ""},
    {"powervr", "Imagination", "Imagination PowerVR GPU", ""},
    {"pvrsrvkm", "Imagination", "Imagination PowerVR GPU", ""},
    // llama.cpp issues 9801 and 26213 (July 2026): its shaders need twice the V3D's 16 KiB of
    // shared memory and twice its 256 invocations; loading a model fails.
    {"v3d", "Broadcom", "Broadcom VideoCore GPU",
     "its limits (16 KiB of shared memory) are below what ggml's Vulkan backend needs"},
    {"vc4", "Broadcom", "Broadcom VideoCore GPU", kNoCompute},
    {"vc4-drm", "Broadcom", "Broadcom VideoCore GPU", kNoCompute},
    {"lima", "ARM", "ARM Mali-400 GPU", kNoCompute},
    {"etnaviv", "Vivante", "Vivante GPU", kNoCompute},
    {"etnaviv-gpu", "Vivante", "Vivante GPU", kNoCompute},
    {"vmwgfx", "VMware", "VMware display adapter", kVmware},
    {"hyperv_drm", "Microsoft", "Hyper-V display adapter", kVirtual},
    {"vboxvideo", "VirtualBox", "VirtualBox display adapter", kVirtual},
};

// Without hardware: buffer sharing for tests, a pretended screen, a USB screen, a firmware's frame.
constexpr std::string_view kPretended[] = {"vgem",      "vkms", "evdi", "simple-framebuffer",
                                           "simpledrm", "udl",  "gud"};

constexpr GpuNode kNodes[] = {
    {"/dev", "nvidia", true, "NVIDIA", "NVIDIA GPU"},
    {"/dev", "nvhost-gpu", false, "NVIDIA", "NVIDIA Tegra GPU"},  // Jetson
    {"/dev", "nvgpu", false, "NVIDIA", "NVIDIA Tegra GPU"},  // the same since JetPack 5: a folder
    {"/dev", "kfd", false, "AMD", "AMD GPU"},
    {"/dev", "dxg", false, "", "the Windows host's GPU (WSL2)"},
    {"/dev", "mali", true, "ARM", "ARM Mali GPU"},  // ARM's own driver
    {"/dev", "kgsl-3d", true, "Qualcomm", "Qualcomm Adreno GPU"},
    {"/dev", "davinci", true, "Huawei", "Huawei Ascend NPU"},
    {"/dev/dri", "renderD", true, "", "GPU"},
};

}  // namespace

std::string_view pci_vendor_name(std::string_view vendor_id) {
  const auto* const row = std::ranges::find(kVendors, vendor_id, &PciVendor::id);
  return row == std::end(kVendors) ? std::string_view() : row->name;
}

bool is_gpu_class(long pci_class) {
  const long sub = pci_class >> 8;
  // VGA, 3D (compute cards without a screen), other display (Instinct, Intel Max), accelerators.
  return sub == 0x0300 || sub == 0x0302 || sub == 0x0380 || (sub >> 8) == 0x12;
}

std::optional<std::string_view> why_pci_cannot_compute(std::string_view vendor_id,
                                                       std::string_view device_id, long pci_class) {
  for (const Unfit& row : kUnfit) {
    if (row.vendor == vendor_id && row.base_class == pci_class >> 16 &&
        (row.device.empty() || row.device == device_id)) {
      return row.why;
    }
  }
  return std::nullopt;
}

std::optional<std::string_view> why_virtio_cannot_compute(std::string_view features) {
  // virtio specification 5.7.3: VIRTIO_GPU_F_VIRGL is bit 0, VIRTIO_GPU_F_CONTEXT_INIT bit 4.
  // Vulkan goes through to the host's GPU (Venus, native contexts) only with both.
  constexpr std::size_t kVirgl = 0;
  constexpr std::size_t kContextInit = 4;
  if (features.size() <= kContextInit) {
    return "the display adapter of a virtual machine, as far as it tells";
  }
  if (features[kVirgl] != '1') return kVirtual;
  if (features[kContextInit] != '1') return kVmware;
  return std::nullopt;
}

const DrmDriver* find_drm_driver(std::string_view driver) {
  const auto* const row = std::ranges::find(kDrmDrivers, driver, &DrmDriver::driver);
  return row == std::end(kDrmDrivers) ? nullptr : row;
}

bool is_pretended_gpu(std::string_view driver) {
  return std::ranges::find(kPretended, driver) != std::end(kPretended);
}

const GpuNode* find_gpu_node(std::string_view dir, std::string_view file) {
  for (const GpuNode& node : kNodes) {
    if (node.dir != dir || !file.starts_with(node.prefix)) continue;
    const std::string_view rest = file.substr(node.prefix.size());
    const bool digits =
        !rest.empty() && std::ranges::all_of(rest, [](char c) { return c >= '0' && c <= '9'; });
    if (node.numbered ? digits : rest.empty()) return &node;
  }
  return nullptr;
}

}  // namespace picchio
