// Names of files that tell of GPU work. Pure tables.
#pragma once

#include <string_view>

namespace picchio {

/// Whether the base name of a mapped file is a ggml backend, a GPU driver or a GPU runtime.
[[nodiscard]] bool is_telling_library(std::string_view base_name);

/// Whether a path is a node through which a GPU or an accelerator is driven.
[[nodiscard]] bool is_device_node(std::string_view path);

}  // namespace picchio
