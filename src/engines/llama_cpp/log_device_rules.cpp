// How every backend of ggml lists its devices.
#include "base/text.h"
#include "engines/log_devices.h"
#include "engines/log_rules.h"
#include "engines/log_text.h"

#include <algorithm>

namespace picchio {
namespace {

constexpr std::size_t kMaxListed = 256;

// "ggml_cuda_init: found 1 ROCm devices:" / "... CUDA devices (Total VRAM: 24080 MiB):"
// "ggml_init_cublas: found 1 CUDA devices:"                                      to Apr 2024
bool read_cuda_found(LogState& state, const LogLine&, const Found& found) {
  std::string_view rest = found.rest;
  const auto count = take_int(rest);
  const auto words = split_blanks(rest);
  if (!count || words.size() < 2 || !words[1].starts_with("devices")) return false;
  state.cuda_word = std::string(words[0]);
  return false;
}

// "ggml_cuda_init: found 0 CUDA devices:" / "ggml_vulkan: Found 0 Vulkan devices:"
bool read_found_none(LogState& state, const LogLine& line, const Found& found) {
  const std::size_t end = found.rest.find(" devices");
  if (end > 10) return false;  // npos too
  state.event(LogEventKind::no_devices_found, found.rest.substr(0, end), line.text, line.number);
  return false;
}

// "  Device 0: NVIDIA GeForce RTX 4070, compute capability 8.9, VMM: yes"
// "  Device 0: AMD Radeon RX 6800, gfx1030 (0x1030), VMM: no, Wave Size: 32"
// "  Device 0: NVIDIA GeForce RTX 4090, compute capability 8.9, VMM: yes, VRAM: 24080 MiB" 2026
bool read_cuda_row(LogState& state, const LogLine& line, const Found& found) {
  std::string_view rest = found.rest;
  if (!trim(found.head).empty() || rest.empty() || !is_digit(rest.front())) return false;
  const auto index = take_int(rest);
  if (!index || !take_prefix(rest, ": ")) return false;
  std::size_t end = rest.size();
  for (const std::string_view mark :
       {", compute capability", ", gfx", ", VMM", ", ID:", ", type"}) {
    end = std::min(end, rest.find(mark));
  }
  Device& device = state.device(state.cuda_word + std::to_string(*index), line.number);
  state.describe(device, rest.substr(0, end));
  if (const std::size_t at = rest.find("VRAM: "); at != std::string_view::npos) {
    std::string_view size = rest.substr(at + 6);
    if (const auto mib = take_double(size)) device.total_bytes = bytes_of_mib(*mib);
  }
  return false;
}

// "ggml_vulkan: 0 = NAME (DRIVER) | uma: 0 | fp16: 1 | bf16: 0 | warp size: 32 | ..."
// "Vulkan0: NAME (DRIVER) | uma: 0 | fp16: 1 | warp size: 64"                    2024
bool read_vulkan_row(LogState& state, const LogLine& line, const Found& found) {
  std::string_view head = trim(found.head);
  if (const std::size_t at = head.find("ggml_vulkan: "); at != std::string_view::npos) {
    head.remove_prefix(at + 13);
  }
  take_prefix(head, "Vulkan");
  const auto index = take_int(head);
  if (!index || *index < 0 || !(take_prefix(head, " = ") || take_prefix(head, ": "))) return false;
  Device& device = state.device("Vulkan" + std::to_string(*index), line.number);
  state.last_vulkan = device.name;
  state.describe(device, head);  // with the driver's name: it can be the only telling word
  const std::size_t driver = head.rfind(" (");
  if (driver != std::string_view::npos && driver > 0) {
    device.description = std::string(head.substr(0, driver));
  }
  device.integrated = found.rest.starts_with('1');
  return false;
}

// "ggml_vulkan: Warning: Device type is CPU. This is probably not the device you want."
bool read_vulkan_cpu(LogState& state, const LogLine& line, const Found&) {
  const std::string name = state.last_vulkan.empty() ? "Vulkan0" : state.last_vulkan;
  Device& device = state.device(name, line.number);
  device.kind = DeviceKind::software;
  if (device.kind_reason.empty()) device.kind_reason = "device type is CPU";
  state.event(LogEventKind::software_device, name, line.text, line.number);
  return false;
}

// "| 0| [level_zero:gpu:0]|                Intel Arc A770 Graphics|    1.3|    512|    1024|   32|
// 16225M|..."
bool read_sycl_row(LogState& state, const LogLine& line, const Found&) {
  std::string_view text = line.text;
  if (!take_prefix(text, "|")) return false;
  const auto cells = split(text, '|');
  if (cells.size() < 3) return false;
  const auto index = parse_int(cells[0]);
  const std::string_view type = trim(cells[1]);
  if (!index || *index < 0 || !type.starts_with('[')) return false;
  Device& device = state.device("SYCL" + std::to_string(*index), line.number);
  if (contains_any(type, {":cpu:", ":acc:"})) {
    device.kind = DeviceKind::software;
    device.kind_reason = std::string(type);
  }
  if (device.description.empty()) device.description = std::string(trim(cells[2]));
  return false;
}

// "ggml_opencl: selected platform: 'QUALCOMM Snapdragon(TM)'"
bool read_opencl_platform(LogState& state, const LogLine&, const Found& found) {
  state.opencl_platform = std::string(found.rest.substr(0, found.rest.find('\'')));
  return false;
}

// "ggml_opencl: device: 'QUALCOMM Adreno(TM) 750 (OpenCL 3.0 Adreno(TM) 750)'" / "default device:
// '..."
bool read_opencl_device(LogState& state, const LogLine& line, const Found& found) {
  if (!found.head.contains("ggml_opencl")) return false;
  const std::string_view name = found.rest.substr(0, found.rest.rfind('\''));
  Device& device = state.device("GPUOpenCL", line.number);
  state.describe(device, name.substr(0, name.find(" (OpenCL")));
  if (device.kind == DeviceKind::hardware_gpu) state.describe(device, state.opencl_platform);
  return false;
}

// "ggml_metal_init: found device: Apple M4 Pro" / "GPU name:   Apple M4 Pro" (2026: "GPU name:
// MTL0")
bool read_metal_device(LogState& state, const LogLine& line, const Found& found) {
  const std::string_view name = trim(found.rest);
  if (!found.head.contains("ggml_metal") || name.empty()) return false;
  if (!name.starts_with("MTL")) state.metal_description = std::string(name);
  state.metal_line = line.number;
  return false;
}

// "ggml_metal_init: recommendedMaxWorkingSetSize  = 28991.03 MB"
bool read_metal_size(LogState& state, const LogLine&, const Found& found) {
  std::string_view rest = trim(found.rest);
  take_prefix(rest, "=");
  const auto mb = take_double(rest);
  if (mb && *mb > 0 && *mb < 1e9) state.metal_bytes = static_cast<std::int64_t>(*mb * 1e6);
  return false;
}

// "ggml-hex: allocating new session: HTP0" / "new session: HTP0 : session-id 0 domain-id 3 uri ..."
bool read_hexagon(LogState& state, const LogLine& line, const Found& found) {
  const auto words = split_blanks(found.rest);
  if (words.empty() || !words[0].starts_with("HTP")) return false;
  state.describe(state.device(words[0], line.number), "Hexagon NPU");
  return false;
}

bool is_device_id(std::string_view text) {
  return text == "unknown id" ||
         (!text.empty() &&
          text.find_first_not_of("0123456789abcdefABCDEF:.") == std::string_view::npos);
}

// "llama_model_load_from_file_impl: using device CUDA0 (NVIDIA GeForce RTX 4070) (0000:01:00.0) -
// 11208 MiB free" The id came in autumn 2025; names contain brackets.
bool read_using(LogState& state, const LogLine& line, const Found& found) {
  const std::size_t open = found.rest.find(" (");
  const std::size_t dash = found.rest.rfind(" - ");
  if (open == std::string_view::npos || dash == std::string_view::npos || dash < open ||
      !found.rest.contains(" MiB free")) {
    return false;  // "ggml_cuda_set_main_device: using device 0 (...) as main device"
  }
  std::string_view middle = trim(found.rest.substr(open, dash - open));
  const std::size_t last = middle.rfind(" (");
  if (last != std::string_view::npos && middle.ends_with(')') &&
      is_device_id(middle.substr(last + 2, middle.size() - last - 3))) {
    middle = trim(middle.substr(0, last));
  }
  if (middle.starts_with('(') && middle.ends_with(')'))
    middle = middle.substr(1, middle.size() - 2);
  std::string_view rest = found.rest.substr(dash + 3);
  const auto free = take_double(rest);
  LoadNotes& notes = state.notes(line.number);
  if (notes.body) state.fresh_load(line.number);
  Device& device = state.device(found.rest.substr(0, open), line.number);
  state.describe(device, middle);
  device.selected = true;
  if (free) device.free_bytes = bytes_of_mib(*free);
  auto& devices = state.load(line.number).devices;
  const bool known = std::ranges::find(devices, device.name) != devices.end();
  if (!known && devices.size() < kMaxListed) devices.push_back(device.name);
  return false;
}

// "  - CUDA0   : NVIDIA GeForce RTX 5080 (15849 MiB, 15712 MiB free)"            device_info, 2026
// "  CUDA0: NVIDIA GeForce RTX 4090 Laptop GPU (16375 MiB, 15046 MiB free)"      --list-devices
bool read_listed(LogState& state, const LogLine& line, const Found& found) {
  std::string_view head = trim(found.head);
  const std::size_t open = head.rfind(" (");
  const std::size_t colon = head.find(": ");
  if (open == std::string_view::npos || colon == std::string_view::npos) return false;
  std::string_view sizes = head.substr(open + 2);
  head = head.substr(0, open);
  // "cmn  common_param:   - CUDA0   : NAME": the tag has a colon of its own
  if (const std::size_t dash = head.find("- "); dash < 40) {
    head.remove_prefix(dash + 2);
  }
  const std::size_t name_end = head.find(':');
  if (name_end == std::string_view::npos) return false;
  const std::string_view name = trim(head.substr(0, name_end));
  if (name.empty() || name.contains(' ')) return false;
  if (state.worker_devices) {
    // The worker's own devices: what its client sees as RPC.
    const bool host = is_host_device(name);
    state.event(host ? LogEventKind::remote_is_cpu : LogEventKind::remote_is_gpu, name, line.text,
                line.number);
    return false;
  }
  Device& device = state.device(name, line.number);
  state.describe(device, head.substr(name_end + 1));
  const auto total = take_double(sizes);
  if (total && take_prefix(sizes, " MiB,")) {
    device.total_bytes = bytes_of_mib(*total);
    if (const auto free = take_double(sizes)) device.free_bytes = bytes_of_mib(*free);
  }
  if (state.listed_devices.size() < kMaxListed) state.listed_devices.push_back(device.name);
  state.listed_line = line.number;
  state.listed_text = std::string(line.text);
  return false;
}

// "device_info:" has rows at a higher verbosity only, "Available devices:" always
bool read_list_start(LogState& state, const LogLine& line, const Found& found) {
  state.worker_devices = false;
  if (found.rule->marker.starts_with("Available")) state.available_line = line.number;
  return false;
}

// "Starting RPC server v8.0.0", its "Devices:" rows follow
bool read_worker(LogState& state, const LogLine&, const Found&) {
  state.worker_devices = true;
  return false;
}

// "create_backend: using CUDA backend" / "using CPU backend"                      RPC worker, to
// 2025
bool read_worker_backend(LogState& state, const LogLine& line, const Found& found) {
  const std::string_view backend = found.rest.substr(0, found.rest.find(' '));
  const bool host = is_host_device(backend);
  state.event(host ? LogEventKind::remote_is_cpu : LogEventKind::remote_is_gpu, backend, line.text,
              line.number);
  return false;
}

// "register_device: registered device CUDA0 (NVIDIA GeForce RTX 4070)"           DEBUG
bool read_registered(LogState& state, const LogLine& line, const Found& found) {
  const std::size_t open = found.rest.find(" (");
  if (open == std::string_view::npos || !found.rest.ends_with(')')) return false;
  Device& device = state.device(found.rest.substr(0, open), line.number);
  state.describe(device, found.rest.substr(open + 2, found.rest.size() - open - 3));
  return false;
}

constexpr LineRule kRules[] = {
    {": found ", read_cuda_found},
    {"ound 0 ", read_found_none},
    {"Device ", read_cuda_row},
    {" | uma: ", read_vulkan_row},
    {"Device type is CPU", read_vulkan_cpu},
    {":gpu:", read_sycl_row},
    {":cpu:", read_sycl_row},
    {":acc:", read_sycl_row},
    {"platform: '", read_opencl_platform},
    {"device: '", read_opencl_device},
    {"found device: ", read_metal_device},
    {"GPU name: ", read_metal_device},
    {"recommendedMaxWorkingSetSize ", read_metal_size},
    {"new session: ", read_hexagon},
    {"using device ", read_using},
    {"device_info:", read_list_start},
    {"Available devices:", read_list_start},
    {"Starting RPC server", read_worker},
    {" MiB free)", read_listed},
    {"create_backend: using ", read_worker_backend},
    {"registered device ", read_registered},
};

}  // namespace

std::span<const LineRule> device_rules() { return kRules; }

}  // namespace picchio
