// The links from the driver on: variables, engines, what is free on the card.
#include "base/text.h"
#include "verdict/arguments.h"
#include "verdict/doctor/links.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace picchio::doctor {
namespace {

bool is_hardware(const Device& device) { return device.kind == DeviceKind::hardware_gpu; }

std::string shown_engine(const EngineFound& engine) {
  std::string out = plain(engine.path.empty() ? engine.name : engine.path);
  if (!engine.version.empty()) out += " " + plain(engine.version);
  return out;
}

std::string names_of(const std::vector<Device>& devices) {
  std::vector<std::string> out;
  out.reserve(devices.size());
  for (const Device& device : devices) {
    out.push_back(fit(fmt::format("{} ({})", plain(device.name), plain(device.description)), 60));
  }
  return fmt::format("{}", fmt::join(out, ", "));
}

/// Why an engine with a GPU in the machine listed none.
CheckedLink lists_none(const Scene& scene, const EngineFound& engine) {
  constexpr std::string_view kId = "engine";
  const std::string name = shown_engine(engine);
  if (!engine.load_errors.empty()) {
    const std::string words = fit(plain(engine.load_errors.front()), 160);
    const bool driver = words.contains("libcuda.so");
    return broken(scene, kId, driver ? "driver_library_missing" : "backend_library_not_loaded",
                  fmt::format("{} could not load a GPU backend: {}.", name, words));
  }
  if (!engine.backends.empty()) {
    return broken(scene, kId, "no_device_found",
                  fmt::format("{} has the backend {} and lists no device.", name,
                              fmt::join(engine.backends, ", ")));
  }
  if (!engine.backends_known) {
    CheckedLink out = broken(scene, kId, "",
                             name +
                                 " lists no device. How it was built cannot be "
                                 "seen.");
    out.remedy = "try a release or build with a GPU backend";
    return out;
  }
  const bool packaged =
      engine.path.starts_with("/usr/bin/") && scene.checkup.machine.distribution == "debian";
  return broken(scene, kId, packaged ? "package_without_backend" : "cpu_only_build",
                fmt::format("{} lists no device and has no GPU backend with it.", name));
}

CheckedLink judge_engine(const Scene& scene, const EngineFound& engine) {
  constexpr std::string_view kId = "engine";
  const std::string name = shown_engine(engine);
  const auto of_kind = [&](DeviceKind kind) {
    return std::ranges::find(engine.devices, kind, &Device::kind);
  };
  if (!engine.failure.empty()) {
    return {std::string(kId), LinkState::warning,
            fmt::format("{} could not be asked: {}.", name, plain(engine.failure)),
            "run it by hand with --list-devices", ""};
  }
  if (std::ranges::any_of(engine.devices, is_hardware)) {
    return fine(kId, fmt::format("{}: {}.", name, names_of(engine.devices)));
  }
  if (!scene.gpu) {
    return skipped(kId, engine.devices.empty()
                            ? name + ": the CPU."
                            : fmt::format("{}: {}.", name, names_of(engine.devices)));
  }
  if (!engine.asked) {
    if (!engine.backends.empty()) {
      return fine(kId, fmt::format("{}: backend {}.", name, fmt::join(engine.backends, ", ")));
    }
    if (!engine.backends_known) {
      return skipped(kId, name + ": which backends it has cannot be seen.");
    }
    CheckedLink out = broken(scene, kId, "cpu_only_build", name + " has no GPU backend.");
    out.remedy = remedy(scene, "cpu_only_build", engine.name);
    return out;
  }
  const auto software = of_kind(DeviceKind::software);
  if (software != engine.devices.end()) {
    return broken(scene, kId, "software_vulkan_device",
                  fmt::format("{} lists only {}, which is the CPU.", name, names_of({*software})));
  }
  // The CPU, BLAS and workers on other machines are none of the cards here.
  return lists_none(scene, engine);
}

/// A variable that takes devices from an engine, or its work from them.
struct Steering {
  std::string name;
  std::string cause;
  bool hides_all = false;
};

/// Whether engines heed the variable on cards of this vendor; of Vulkan's all do.
bool concerns(std::string_view variable, std::string_view vendor) {
  if (variable.starts_with("GGML_VK_") || vendor.empty()) return true;
  if (variable.starts_with("CUDA_")) return vendor == "NVIDIA" || vendor == "AMD";
  if (variable.starts_with("ONEAPI_") || variable.starts_with("ZE_")) return vendor == "Intel";
  return vendor == "AMD";
}

std::vector<Steering> steering(const Scene& scene,
                               const std::map<std::string, std::string>& environment) {
  std::vector<Steering> out;
  const bool one_card =
      std::ranges::count(scene.checkup.machine.gpus, true, &MachineGpu::can_compute) <= 1;
  for (const HidingVariable& variable : hiding_variables(environment)) {
    if (!concerns(variable.name, scene.vendor) || (one_card && variable.value == "0")) continue;
    out.push_back({variable.shown(), "visible_devices_mask", variable.hides_all});
  }
  const PlacementSettings settings = placement_settings({}, environment);
  if (settings.device && lower(trim(settings.device->value)) == "none") {
    out.push_back({settings.device->shown, "device_none", true});
  }
  if (settings.gpu_layers && parse_int(settings.gpu_layers->value) == 0) {
    out.push_back({settings.gpu_layers->shown, "ngl_0", true});
  }
  const auto library = environment.find("OLLAMA_LLM_LIBRARY");
  if (library != environment.end() && library->second.starts_with("cpu")) {
    out.push_back({"OLLAMA_LLM_LIBRARY=" + library->second, "llm_library_override", true});
  }
  const auto unified = environment.find("GGML_CUDA_ENABLE_UNIFIED_MEMORY");
  if (unified != environment.end() && unified->second != "0" && scene.vendor == "NVIDIA") {
    out.push_back({"GGML_CUDA_ENABLE_UNIFIED_MEMORY=" + unified->second, "vram_overcommit", false});
  }
  return out;
}

const Steering* strongest(const std::vector<Steering>& all) {
  const auto hides = std::ranges::find(all, true, &Steering::hides_all);
  if (hides != all.end()) return &*hides;
  return all.empty() ? nullptr : &all.front();
}

std::string unset(const Steering& variable) {
  return "unset " + plain(variable.name.substr(0, variable.name.find('=')));
}

}  // namespace

CheckedLink variables(const Scene& scene) {
  constexpr std::string_view kId = "variables";
  const std::vector<Steering> all = steering(scene, scene.checkup.environment);
  const Steering* found = strongest(all);
  if (found == nullptr) return fine(kId, "None that hides a device.");
  const std::string what = plain(found->name) + (found->name.ends_with('=') ? "(empty)" : "");
  if (!scene.gpu) return skipped(kId, what + ", with no GPU to hide.");
  CheckedLink out = broken(scene, kId, found->cause,
                           found->hides_all ? what + " keeps engines off every GPU."
                                            : what + " changes which GPUs and memory engines use.");
  out.remedy = unset(*found);
  // An engine that lists a card in this very environment does not heed it.
  const bool heeded = std::ranges::none_of(scene.checkup.engines, [](const EngineFound& engine) {
    return std::ranges::any_of(engine.devices, is_hardware);
  });
  const bool of_devices = found->cause == "visible_devices_mask";
  if (!found->hides_all || (of_devices && !heeded)) out.state = LinkState::warning;
  return out;
}

std::vector<CheckedLink> engines(const Scene& scene) {
  std::vector<CheckedLink> out;
  out.reserve(scene.checkup.engines.size() + 1);
  for (const EngineFound& engine : scene.checkup.engines) {
    out.push_back(judge_engine(scene, engine));
  }
  if (out.empty()) {
    out.push_back(skipped("engine", "No llama.cpp program is on PATH; --bin names one."));
    return out;
  }
  const bool one_works = std::ranges::any_of(scene.checkup.engines, [](const EngineFound& engine) {
    return std::ranges::any_of(engine.devices, is_hardware);
  });
  for (CheckedLink& link : out) {
    if (link.state != LinkState::broken) continue;
    const bool independent = link.cause == "cpu_only_build" ||
                             link.cause == "package_without_backend" ||
                             link.cause == "backend_library_not_loaded";
    // Behind a broken link every engine finds nothing; only what it lacks itself is its own.
    if (scene.broken_before && !independent) {
      link = skipped("engine", link.found + " It follows from the link before.");
    } else if (one_works) {
      link.state = LinkState::warning;
    }
  }
  return out;
}

CheckedLink ollama(const Scene& scene) {
  constexpr std::string_view kId = "ollama";
  if (!scene.checkup.ollama) return skipped(kId, "Not installed, and none runs here.");
  const OllamaFound& found = *scene.checkup.ollama;
  std::string seen = plain(found.path.empty() ? "ollama" : found.path);
  if (found.pid) seen += fmt::format(", runs as process {}", *found.pid);
  if (!scene.gpu) return skipped(kId, seen + ".");
  const std::vector<Steering> all = steering(scene, found.environment);
  if (const Steering* variable = strongest(all)) {
    CheckedLink out = broken(scene, kId, variable->cause,
                             fmt::format("{} is set for it ({}).", plain(variable->name),
                                         plain(found.environment_source)));
    out.remedy = remedy(scene, variable->cause, "ollama");
    if (!variable->hides_all) out.state = LinkState::warning;
    return out;
  }
  if (!found.library_folder.empty() && found.libraries.empty()) {
    CheckedLink out =
        broken(scene, kId, "backend_library_not_loaded",
               fmt::format("{} holds no library for a GPU.", plain(found.library_folder)));
    out.remedy = remedy(scene, "backend_library_not_loaded", "ollama");
    return out;
  }
  if (!found.missing_groups.empty() && !scene.broken_before) {
    CheckedLink out = broken(scene, kId, "device_permission",
                             fmt::format("Its service runs as {}, who is not in group {}.",
                                         plain(found.user), fmt::join(found.missing_groups, ", ")));
    out.remedy = remedy(scene, "device_permission", "ollama");
    return out;
  }
  if (!found.libraries.empty()) {
    seen += fmt::format("; libraries: {}", fmt::join(found.libraries, ", "));
  }
  return fine(kId, seen + ".");
}

CheckedLink headroom(const Scene& scene) {
  constexpr std::string_view kId = "headroom";
  // A desktop takes a tenth of a small card.
  constexpr double kMuch = 0.3;
  const Telemetry& telemetry = scene.checkup.telemetry;
  if (telemetry.gpus.empty() || telemetry.samples.empty()) {
    return skipped(kId, scene.gpu ? "No meter tells." : "No GPU.");
  }
  const GpuSample& last = telemetry.samples.back();
  std::vector<std::string> free;
  for (std::size_t i = 0; i < telemetry.gpus.size() && i < last.readings.size(); ++i) {
    const MeteredGpu& gpu = telemetry.gpus[i];
    const GpuReading& now = last.readings[i];
    const std::string name = plain(gpu.name);
    if (now.throttling && (now.throttling->thermal || now.throttling->hardware)) {
      return warning(scene, kId, "gpu_throttled", name + " is slowing itself down just now.");
    }
    if (!gpu.memory_bytes || !now.memory_bytes || *gpu.memory_bytes <= 0 || gpu.unified_memory) {
      continue;
    }
    const double taken =
        static_cast<double>(*now.memory_bytes) / static_cast<double>(*gpu.memory_bytes);
    if (taken > kMuch) {
      return warning(scene, kId, "vram_taken_by_others",
                     fmt::format("{} of the {} of {} are taken.", format_bytes(*now.memory_bytes),
                                 format_bytes(*gpu.memory_bytes), name));
    }
    free.push_back(
        fmt::format("{}: {} free", name, format_bytes(*gpu.memory_bytes - *now.memory_bytes)));
  }
  if (free.empty()) return skipped(kId, "The meters tell no memory.");
  return fine(kId, fmt::format("{}.", fmt::join(free, "; ")));
}

}  // namespace picchio::doctor
