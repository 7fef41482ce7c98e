#include "engines/log_devices.h"

#include "base/text.h"
#include "engines/log_text.h"

#include <algorithm>
#include <array>

namespace picchio {
namespace {

// Host buffer types of ggml that neither start with "CPU" nor end in "_Host".
constexpr std::array<std::string_view, 5> kHostNames = {"Host", "AMX", "BLAS", "ACCEL", "KleidiAI"};

constexpr std::array<std::string_view, 9> kSoftwareWords = {"llvmpipe",
                                                            "lavapipe",
                                                            "swiftshader",
                                                            "softpipe",
                                                            "pocl",
                                                            "portable computing language",
                                                            "software rasterizer",
                                                            "microsoft basic render",
                                                            "oclgrind"};

// Under SYCL and OpenCL a CPU is a device of its own, named like the chip.
constexpr std::array<std::string_view, 6> kChipWords = {"core(tm)", "xeon",           "intel core",
                                                        "epyc",     "fpga emulation", "cpu"};

struct Library {
  std::string_view word;
  std::string_view backend;
};
// Longer words first where one holds another.
constexpr std::array<Library, 17> kLibraries = {{
    {"cuda", "CUDA"},
    {"cublas", "CUDA"},
    {"rocm", "ROCm"},
    {"hipblas", "ROCm"},
    {"ggml-hip", "ROCm"},
    {"vulkan", "Vulkan"},
    {"metal", "Metal"},
    {"sycl", "SYCL"},
    {"oneapi", "SYCL"},
    {"clblast", "OpenCL"},
    {"opencl", "OpenCL"},
    {"musa", "MUSA"},
    {"cann", "CANN"},
    {"hexagon", "HTP"},
    {"kompute", "Kompute"},
    {"ggml-rpc", "RPC"},
    {"cpu", "CPU"},
}};

bool take_suffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

}  // namespace

bool is_host_device(std::string_view name) {
  return name.starts_with("CPU") || name.ends_with("_Host") ||
         std::ranges::find(kHostNames, name) != kHostNames.end();
}

std::string device_name(std::string_view printed) {
  if (printed == "OpenCL") return "GPUOpenCL";
  return std::string(printed);
}

std::string_view backend_of(std::string_view device) {
  std::size_t end = 0;
  while (end < device.size() && !is_digit(device[end]) && device[end] != '[') ++end;
  return device.substr(0, end);
}

BufferPlace place_of_buffer(std::string_view buffer) {
  BufferPlace place;
  if (is_host_device(buffer)) {
    place.device = "CPU";
    place.kind = DeviceKind::host;
    place.mapped = buffer == "CPU_Mapped";
    place.repacked = buffer == "CPU_REPACK" || buffer == "CPU_AARCH64" ||
                     buffer == "CPU_KLEIDIAI" || buffer == "KleidiAI" || buffer == "AMX";
    return place;
  }
  if (buffer.starts_with("RPC")) {
    place.device = std::string(buffer);
    place.kind = DeviceKind::remote;
    return place;
  }
  std::string_view name = buffer;
  if (take_suffix(name, "_Mapped")) place.mapped = true;
  const bool split = take_suffix(name, "_Split");
  if (!split)
    (void)(take_suffix(name, "_Private") || take_suffix(name, "-REPACK"));  // either, or none
  place.device = device_name(name);
  // Row split over all cards: older builds name no card, and the first one is the main device.
  if (split && !name.empty() && !is_digit(name.back())) place.device += '0';
  return place;
}

std::string_view backend_of_library(std::string_view path) {
  const std::string name = lower(path);
  for (const Library& library : kLibraries) {
    if (name.contains(library.word)) return library.backend;
  }
  return {};
}

std::string_view software_words(std::string_view device, std::string_view description) {
  const std::string text = lower(description);
  for (const std::string_view word : kSoftwareWords) {
    if (text.contains(word)) return word;
  }
  const std::string_view backend = backend_of(device);
  if (backend != "SYCL" && backend != "GPUOpenCL" && backend != "OpenVINO") return {};
  if (contains_any(text, {"graphics", "gpu", "geforce", "radeon", "adreno"})) return {};
  for (const std::string_view word : kChipWords) {
    if (text.contains(word)) return word;
  }
  return {};
}

}  // namespace picchio
