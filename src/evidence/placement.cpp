#include "evidence/placement.h"

#include "evidence/engine_log.h"

namespace picchio {

std::string_view name_of(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::hardware_gpu:
      return "hardware gpu";
    case DeviceKind::software:
      return "software device";
    case DeviceKind::remote:
      return "remote";
    case DeviceKind::host:
      return "host";
  }
  return "host";
}

std::string_view name_of(Shape shape) {
  switch (shape) {
    case Shape::gpu:
      return "gpu";
    case Shape::partial:
      return "partial";
    case Shape::cpu:
      return "cpu";
    case Shape::software_device:
      return "software-device";
    case Shape::remote:
      return "remote";
    case Shape::unknown:
      return "unknown";
  }
  return "unknown";
}

std::string_view name_of(KvPlace place) {
  switch (place) {
    case KvPlace::gpu:
      return "gpu";
    case KvPlace::cpu:
      return "cpu";
    case KvPlace::mixed:
      return "mixed";
  }
  return "mixed";
}

const Load* main_load(const EngineLog& log) {
  const Load* fallback = nullptr;
  for (auto it = log.loads.rbegin(); it != log.loads.rend(); ++it) {
    if (it->role != LoadRole::main) continue;
    if (!it->failure) return &*it;
    if (fallback == nullptr) fallback = &*it;
  }
  return fallback;
}

const Load* probe_load(const EngineLog& log) {
  for (auto it = log.loads.rbegin(); it != log.loads.rend(); ++it) {
    if (it->role == LoadRole::probe) return &*it;
  }
  return nullptr;
}

const Device* find_device(const EngineLog& log, std::string_view name) {
  for (const Device& device : log.devices) {
    if (device.name == name) return &device;
  }
  return nullptr;
}

}  // namespace picchio
