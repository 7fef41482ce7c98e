// The processor's name. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace picchio {

/// From the text of /proc/cpuinfo and of /proc/device-tree/model (a board, as far as ARM systems
/// name anything; empty when there is none). Empty when neither tells.
[[nodiscard]] std::string cpu_name(std::string_view cpuinfo, std::string_view board);

/// Processors that the system has brought up; absent when the text lists none.
[[nodiscard]] std::optional<int> logical_cores(std::string_view cpuinfo);

}  // namespace picchio
