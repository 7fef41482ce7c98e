// The gpu and bytes lines: what the account of bytes says, in the established tool's words.
#include "base/text.h"
#include "report/block.h"
#include "report/block_parts.h"
#include "report/layout.h"
#include "report/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace picchio::report {
namespace {

constexpr std::size_t kLabelColumns = 9;
constexpr std::size_t kArgsColumns = 12;  // what the device's name leaves to the arguments

// "CUDA: GeForce RTX 4090 x2" in at most `room` columns: what stands in brackets behind the model
// goes first, then the model, then everything. Empty when no device is known.
std::string device_text(std::string_view name, std::string_view description, std::size_t like,
                        std::size_t room) {
  const std::string kind = kind_of_device(name);
  const std::string model = without_vendor(description);
  const std::string count = like > 1 ? fmt::format(" x{}", like) : "";
  const std::string bare(trim(std::string_view(model).substr(0, model.find(" ("))));
  if (kind.empty()) return "";
  std::vector<std::string> forms = {kind + count};  // shortest first
  if (!model.empty())
    forms = {kind + count, kind + ": " + bare + count, kind + ": " + model + count};
  while (!forms.empty() && forms.back().size() > room) forms.pop_back();
  return forms.empty() ? "" : forms.back();
}

std::string device_text(const Placement& placement, const EngineLog* log, std::size_t room) {
  if (const DeviceAccount* leader = leading_device(placement)) {
    return device_text(leader->name, leader->description, count_like(placement, *leader), room);
  }
  if (log == nullptr) return "";
  for (const Device& device : log->devices) {
    if (!device.selected || device.kind == DeviceKind::host) continue;
    return device_text(device.name, device.description, 1, room);
  }
  return "";
}

std::string layers_text(const Placement& placement) {
  if (placement.layers_on_gpu && placement.layers_total) {
    return fmt::format("{}/{} layers on GPU", *placement.layers_on_gpu, *placement.layers_total);
  }
  if (placement.weights_on_gpu_fraction) {
    return fmt::format("{:.0f}% of weights in GPU memory",
                       100 * std::clamp(*placement.weights_on_gpu_fraction, 0.0, 1.0));
  }
  return "layer count not reported";
}

std::string no_evidence_text(const Placement& placement) {
  if (placement.shape == Shape::remote) {
    const DeviceAccount* leader = leading_device(placement);
    const std::string name = leader == nullptr ? "RPC" : plain(leader->name);
    return fmt::format("NO EVIDENCE (remote: {})", fit(name, 36));
  }
  return "NO EVIDENCE (engine did not report layer placement)";
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) {
    if (!out.empty()) out += ' ';
    out += plain(word);
    if (out.size() > kWideColumns) break;
  }
  return out;
}

// A size in one unit, chosen for the largest figure of the line.
struct Unit {
  double bytes;
  std::string_view name;
};

Unit unit_for(std::int64_t bytes) {
  if (bytes >= (std::int64_t{1} << 30)) return {1073741824.0, "GiB"};
  if (bytes >= (std::int64_t{1} << 20)) return {1048576.0, "MiB"};
  return {1024.0, "KiB"};
}

std::string figure(std::int64_t bytes, const Unit& unit) {
  const double value = static_cast<double>(bytes) / unit.bytes;
  const bool small = unit.name == "GiB" && value < 1;  // 0.04 GiB, not 0.0
  return small ? fmt::format("{:.2f}", value) : fmt::format("{:.1f}", value);
}

std::string size_text(std::int64_t bytes) {
  const Unit unit = unit_for(bytes);
  return fmt::format("{} {}", figure(bytes, unit), unit.name);
}

std::string_view device_note(DeviceKind kind) {
  if (kind == DeviceKind::software) return " (software)";
  if (kind == DeviceKind::remote) return " (remote)";
  return "";
}

// Every weight that belongs on a GPU is on one. Without a header nothing is missing in numbers, but
// then the account itself found no more on the host than belongs there.
bool nothing_missing(const Placement& placement) {
  if (placement.shape != Shape::gpu && placement.shape != Shape::partial) return false;
  return placement.missing_bytes ? *placement.missing_bytes == 0 : placement.shape == Shape::gpu;
}

std::string weights_text(const Placement& placement) {
  if (nothing_missing(placement)) return "weights 100% gpu";
  const auto share = weights_share(placement);
  if (!share) return "";
  const double percent = 100 * *share;
  if (percent == 0 || percent == 100) return fmt::format("weights {:.0f}% gpu", percent);
  // Neither end is reached by rounding: 99.97 % with a tensor on the host is not 100 %.
  return fmt::format("weights {:.1f}% gpu", std::clamp(percent, 0.1, 99.9));
}

struct KvBytes {
  std::int64_t gpu = 0;
  std::int64_t all = 0;
  std::int64_t remote = 0;
};

KvBytes kv_bytes_of(const Placement& placement) {
  KvBytes out;
  for (const DeviceAccount& device : placement.devices) {
    const std::int64_t bytes = std::max<std::int64_t>(device.kv_bytes.value_or(0), 0);
    // Saturating: the figures come from a log and can be anything.
    out.all = out.all > INT64_MAX - bytes ? INT64_MAX : out.all + bytes;
    if (device.kind == DeviceKind::hardware_gpu) {
      out.gpu = out.gpu > INT64_MAX - bytes ? INT64_MAX : out.gpu + bytes;
    }
    if (device.kind == DeviceKind::remote) out.remote = std::max(out.remote, bytes);
  }
  return out;
}

std::string kv_text(const Placement& placement, bool brief) {
  const KvBytes kv = kv_bytes_of(placement);
  if (!placement.kv_on) return kv.remote > 0 ? "kv remote" : "";
  if (*placement.kv_on != KvPlace::mixed) return fmt::format("kv {}", name_of(*placement.kv_on));
  if (kv.all <= 0) return "kv mixed";
  if (brief) {
    const double share = 100 * static_cast<double>(kv.gpu) / static_cast<double>(kv.all);
    return fmt::format("kv {:.0f}% gpu", std::clamp(share, 1.0, 99.0));
  }
  const Unit unit = unit_for(kv.all);
  return fmt::format("kv {} of {} {} gpu", figure(kv.gpu, unit), figure(kv.all, unit), unit.name);
}

std::vector<const DeviceAccount*> with_weights(const Placement& placement) {
  std::vector<const DeviceAccount*> out;
  for (const DeviceAccount& device : placement.devices) {
    if (device.weights_bytes.value_or(0) > 0) out.push_back(&device);
  }
  std::ranges::stable_partition(
      out, [](const DeviceAccount* device) { return device->kind != DeviceKind::host; });
  return out;
}

bool only_by_design(const Placement& placement, const DeviceAccount& device) {
  return device.kind == DeviceKind::host && nothing_missing(placement);
}

std::vector<std::string> device_texts(const Placement& placement, bool with_embedding) {
  std::vector<std::string> out;
  for (const DeviceAccount* device : with_weights(placement)) {
    if (!with_embedding && only_by_design(placement, *device)) continue;
    const std::string size = size_text(device->weights_bytes.value_or(0));
    if (device->kind == DeviceKind::host) {
      out.push_back((only_by_design(placement, *device) ? "embedding " : "") + size + " host");
    } else {
      out.push_back(
          fmt::format("{} on {}{}", size, plain(device->name), device_note(device->kind)));
    }
  }
  return out;
}

// The same in one unit, named once: "CUDA0 20.1, CUDA1 19.8, host 0.50 GiB".
std::vector<std::string> brief_device_texts(const Placement& placement) {
  std::vector<std::string> out;
  std::int64_t largest = 0;
  std::vector<const DeviceAccount*> devices = with_weights(placement);
  std::erase_if(devices, [&](const auto* device) { return only_by_design(placement, *device); });
  for (const DeviceAccount* device : devices)
    largest = std::max(largest, device->weights_bytes.value_or(0));
  const Unit unit = unit_for(largest);
  out.reserve(devices.size());
  for (const DeviceAccount* device : devices) {
    out.push_back(
        fmt::format("{} {}{}", device->kind == DeviceKind::host ? "host" : plain(device->name),
                    figure(device->weights_bytes.value_or(0), unit), device_note(device->kind)));
  }
  if (!out.empty()) out.back() += fmt::format(" {}", unit.name);
  return out;
}

std::string comma_list(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) {
    if (part.empty()) continue;
    if (!out.empty()) out += ", ";
    out += part;
  }
  return out;
}

}  // namespace

Engagement engagement_of(Shape shape) {
  switch (shape) {
    case Shape::gpu:
      return Engagement::engaged;
    case Shape::partial:
      return Engagement::partial;
    case Shape::cpu:
    case Shape::software_device:
      return Engagement::not_engaged;
    case Shape::remote:
    case Shape::unknown:
      return Engagement::no_evidence;
  }
  return Engagement::no_evidence;
}

std::size_t count_like(const Placement& placement, const DeviceAccount& leader) {
  return static_cast<std::size_t>(std::ranges::count_if(placement.devices, [&](const auto& device) {
    return device.kind == leader.kind && device.description == leader.description &&
           device.weights_bytes.value_or(0) > 0;
  }));
}

std::optional<double> weights_share(const Placement& placement) {
  if (nothing_missing(placement)) return 1.0;
  if (!placement.weights_on_gpu_fraction) return std::nullopt;
  // "0% gpu" would say that no GPU has them; behind RPC nobody knows.
  if (placement.shape == Shape::remote && *placement.weights_on_gpu_fraction <= 0) {
    return std::nullopt;
  }
  return std::clamp(*placement.weights_on_gpu_fraction, 0.0, 1.0);
}

std::string gpu_line(const Placement& placement, const EngineLog* log,
                     const std::vector<std::string>& args) {
  const std::string arguments = joined(args);
  const std::size_t reserved =
      arguments.empty() ? 0 : std::min(arguments.size(), kArgsColumns) + 3;  // " [" and "]"
  std::string line = "gpu      ";
  const Engagement engagement = engagement_of(placement.shape);
  if (engagement == Engagement::no_evidence) {
    line += no_evidence_text(placement);
  } else {
    line += fmt::format("{}: {}", name_of(engagement), layers_text(placement));
    const std::size_t taken = line.size() + 3 + reserved;  // " (" and ")"
    const std::string device =
        taken < kBlockColumns ? device_text(placement, log, kBlockColumns - taken) : "";
    if (!device.empty()) line += fmt::format(" ({})", device);
  }
  line = fit(line, kBlockColumns);
  constexpr std::size_t kShortestArgs = 4;
  if (!arguments.empty() && line.size() + 3 + kShortestArgs <= kBlockColumns) {
    line += fmt::format(" [{}]", fit(arguments, kBlockColumns - line.size() - 3));
  }
  return line;
}

std::vector<std::string> bytes_lines(const Placement& placement) {
  const std::string weights = weights_text(placement);
  const std::string devices = comma_list(device_texts(placement, false));
  const std::string brief_devices = comma_list(brief_device_texts(placement));
  const std::string kv = kv_text(placement, false);
  const std::string full = comma_list({weights, kv, devices});
  if (full.empty()) return {"bytes    not reported by the engine"};
  for (const std::string& text :
       {comma_list({weights, kv, comma_list(device_texts(placement, true))}), full,
        comma_list({weights, kv_text(placement, true), devices}),
        comma_list({weights, kv_text(placement, true), brief_devices})}) {
    if (kLabelColumns + text.size() <= kBlockColumns) return {"bytes    " + text};
  }
  constexpr std::size_t kRoom = kBlockColumns - kLabelColumns;
  std::vector<std::string> rows = wrap(full, kRoom, 0);
  if (rows.size() > 2) {
    rows = wrap_to(comma_list({weights, kv_text(placement, true), brief_devices}), kRoom, 0, 2);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i] = (i == 0 ? "bytes    " : "         ") + rows[i];
  }
  return rows;
}

}  // namespace picchio::report
