// The links that doctor.h's chain is made of, one function each. Private to doctor/.
#pragma once

#include "verdict/doctor/doctor.h"

#include <string>
#include <string_view>
#include <vector>

namespace picchio::doctor {

struct Scene {
  const Checkup& checkup;
  bool gpu = false;            // a card that could compute, or a driver that speaks of one
  std::string vendor;          // of the first such card; empty: several, or not told
  bool broken_before = false;  // a link before this one is broken

  [[nodiscard]] bool contained() const { return !checkup.housing.container.empty(); }
};

[[nodiscard]] Scene scene_of(const Checkup& checkup);

/// The same for a link of one card: remedies are of its vendor.
[[nodiscard]] Scene of_card(const Scene& scene, const MachineGpu& gpu);

/// Another card that is worth as much or more has its driver and its nodes: what is wrong with this
/// one keeps no engine from a GPU. A discrete card beside the processor's own is not made up for.
[[nodiscard]] bool made_up_for(const Scene& scene, const MachineGpu& gpu);

/// The catalogue's remedy for this machine; `engine` as in Remedy.
[[nodiscard]] std::string remedy(const Scene& scene, std::string_view cause,
                                 std::string_view engine = {});

[[nodiscard]] CheckedLink fine(std::string_view id, std::string found);
[[nodiscard]] CheckedLink skipped(std::string_view id, std::string why);
/// With the catalogue's remedy for `cause`.
[[nodiscard]] CheckedLink broken(const Scene& scene, std::string_view id, std::string_view cause,
                                 std::string found);
[[nodiscard]] CheckedLink warning(const Scene& scene, std::string_view id, std::string_view cause,
                                  std::string found);

[[nodiscard]] CheckedLink gpu_on_bus(const Scene& scene);
[[nodiscard]] CheckedLink surroundings(const Scene& scene);
[[nodiscard]] CheckedLink kernel_driver(const Scene& scene);
[[nodiscard]] CheckedLink device_nodes(const Scene& scene);
[[nodiscard]] CheckedLink permissions(const Scene& scene);
[[nodiscard]] CheckedLink driver_libraries(const Scene& scene);
[[nodiscard]] CheckedLink variables(const Scene& scene);
/// One for each engine; one that says so where there is none.
[[nodiscard]] std::vector<CheckedLink> engines(const Scene& scene);
[[nodiscard]] CheckedLink ollama(const Scene& scene);
[[nodiscard]] CheckedLink headroom(const Scene& scene);

}  // namespace picchio::doctor
