#include "verdict/doctor/doctor.h"

#include "base/text.h"
#include "verdict/causes/catalogue.h"
#include "verdict/doctor/links.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace picchio {
namespace doctor {
namespace {

/// What people buy for computing, before what a processor brings along.
int worth(const MachineGpu& gpu) {
  if (gpu.vendor == "NVIDIA") return 3;
  return gpu.vendor == "AMD" ? 2 : gpu.vendor == "Intel" ? 1 : 0;
}

bool in_reach(const Checkup& checkup, const MachineGpu& gpu) {
  const bool driven = !gpu.driver.empty() && gpu.driver != "vfio-pci" && gpu.driver != "nouveau";
  return driven && std::ranges::all_of(checkup.nodes, [&](const NodeLook& node) {
           return node.card != gpu.address || node.access == NodeAccess::opened;
         });
}

}  // namespace

Scene of_card(const Scene& scene, const MachineGpu& gpu) {
  Scene out = scene;
  out.vendor = gpu.vendor;
  return out;
}

bool made_up_for(const Scene& scene, const MachineGpu& gpu) {
  return std::ranges::any_of(scene.checkup.machine.gpus, [&](const MachineGpu& other) {
    return &other != &gpu && other.can_compute && worth(other) >= worth(gpu) &&
           in_reach(scene.checkup, other);
  });
}

Scene scene_of(const Checkup& checkup) {
  Scene scene{.checkup = checkup, .vendor = {}};
  const MachineGpu* gpu = usable_gpu(checkup.machine);
  // Where the bus is hidden, a driver's own meter may still speak of its card.
  scene.gpu =
      gpu != nullptr || !checkup.telemetry.troubles.empty() || !checkup.telemetry.gpus.empty();
  for (const MachineGpu& other : checkup.machine.gpus) {
    if (other.can_compute && (gpu == nullptr || worth(other) > worth(*gpu))) gpu = &other;
  }
  if (gpu != nullptr) scene.vendor = gpu->vendor;
  if (gpu == nullptr && scene.gpu) scene.vendor = "NVIDIA";  // only its meter has such troubles
  return scene;
}

std::string remedy(const Scene& scene, std::string_view cause, std::string_view engine) {
  const CauseEntry* entry = find_cause_entry(cause);
  if (entry == nullptr) return {};
  std::vector<std::string_view> places = {"linux"};
  const Housing& housing = scene.checkup.housing;
  if (!housing.container.empty()) places.emplace_back("container");
  if (!housing.sandbox.empty()) places.emplace_back(housing.sandbox);
  if (housing.wsl) places.emplace_back("wsl");
  if (!scene.checkup.machine.distribution.empty()) {
    places.emplace_back(scene.checkup.machine.distribution);
  }
  return std::string(remedy_for(*entry, {engine, places, scene.vendor}));
}

CheckedLink fine(std::string_view id, std::string found) {
  return {std::string(id), LinkState::ok, std::move(found), "", ""};
}

CheckedLink skipped(std::string_view id, std::string why) {
  return {std::string(id), LinkState::skipped, std::move(why), "", ""};
}

CheckedLink broken(const Scene& scene, std::string_view id, std::string_view cause,
                   std::string found) {
  return {std::string(id), LinkState::broken, std::move(found), remedy(scene, cause),
          std::string(cause)};
}

CheckedLink warning(const Scene& scene, std::string_view id, std::string_view cause,
                    std::string found) {
  CheckedLink out = broken(scene, id, cause, std::move(found));
  out.state = LinkState::warning;
  return out;
}

}  // namespace doctor

namespace {

using Link = CheckedLink (*)(const doctor::Scene&);

constexpr std::array<Link, 6> kMachine = {
    doctor::gpu_on_bus,   doctor::surroundings, doctor::kernel_driver,
    doctor::device_nodes, doctor::permissions,  doctor::driver_libraries,
};

void add(Examination& out, doctor::Scene& scene, CheckedLink link) {
  if (link.state == LinkState::broken) {
    if (!out.first_broken) out.first_broken = out.links.size();
    scene.broken_before = true;
  }
  out.links.push_back(std::move(link));
}

std::string summary_of(const Examination& examination, const doctor::Scene& scene) {
  if (examination.first_broken) {
    const CheckedLink& first = examination.links[*examination.first_broken];
    return fmt::format("The chain breaks at {}.", first.id);
  }
  const auto warnings =
      std::ranges::count(examination.links, LinkState::warning, &CheckedLink::state);
  if (warnings > 0) {
    return fmt::format("No link is broken; {} {} a look.", warnings,
                       warnings == 1 ? "deserves" : "deserve");
  }
  if (!scene.gpu) {
    return scene.checkup.machine.gpus_known ? "A machine without a GPU: engines compute on its CPU."
                                            : "Whether there is a GPU cannot be seen from here.";
  }
  const bool asked = std::ranges::any_of(scene.checkup.engines, &EngineFound::asked);
  return asked ? "Every link from the card to the engines holds."
               : "Every link up to the engines holds; no engine was found to ask.";
}

}  // namespace

Examination examine(const Checkup& checkup) {
  doctor::Scene scene = doctor::scene_of(checkup);
  Examination out;
  for (const Link link : kMachine) add(out, scene, link(scene));
  add(out, scene, doctor::variables(scene));
  for (CheckedLink& link : doctor::engines(scene)) add(out, scene, std::move(link));
  add(out, scene, doctor::ollama(scene));
  add(out, scene, doctor::headroom(scene));
  out.summary = summary_of(out, scene);
  return out;
}

std::vector<BrokenLink> broken_links(const Checkup& checkup) {
  doctor::Scene scene = doctor::scene_of(checkup);
  std::vector<BrokenLink> out;
  for (const Link link : kMachine) {
    CheckedLink checked = link(scene);
    if (checked.state != LinkState::broken) continue;
    scene.broken_before = true;
    out.push_back({checked.cause, checked.found, checked.remedy});
  }
  return out;
}

}  // namespace picchio
