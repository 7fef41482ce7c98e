// Which metered GPU is which device of the engine's. Pure.
#pragma once

#include "evidence/run.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace picchio {

/// A hardware device that the log puts weights on.
struct CardInUse {
  std::string device;  // the engine's name: "CUDA0"
  std::int64_t weights_bytes = 0;
  std::optional<std::size_t> gpu;  // index into Run::gpu_use; absent: no meter knows it
};

/// The device with the most weights first. By the PCI address where the log prints it, else by
/// name, else by vendor; of cards that nothing tells apart each device gets another one, the one
/// that did the most first, so that what is left for the last device is the least that it can have
/// done.
[[nodiscard]] std::vector<CardInUse> cards_in_use(const Run& run);

/// "nvidia", "amd", "intel", "apple", "other"; empty: not told.
[[nodiscard]] std::string_view vendor_of(const DeviceAccount& device);

}  // namespace picchio
