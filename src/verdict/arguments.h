// The flags and variables that steer where an engine puts the model. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace picchio {

/// One setting as it was given. `shown` is what a person recognises: "-ngl 0",
/// "LLAMA_ARG_DEVICE=none".
struct Setting {
  std::string value;  // empty for a switch
  std::string shown;
  bool from_environment = false;
};

/// What rules: of a flag given twice the last, of a flag and its variable the flag.
struct PlacementSettings {
  std::optional<Setting> gpu_layers;     // "0", "20", "auto", "all", "-1"
  std::optional<Setting> device;         // "none", "CUDA0"
  std::vector<Setting> override_tensor;  // all of them count
  std::optional<Setting> cpu_moe;
  std::optional<Setting> n_cpu_moe;       // number of layers
  std::optional<Setting> kv_offload_off;  // absent too when a later flag switched it on again
  std::optional<Setting> split_mode;
  std::optional<Setting> flash_attention;  // "on", "off", "auto"
  std::optional<Setting> cache_type_k;
  std::optional<Setting> cache_type_v;
  std::optional<Setting> rpc;
};

[[nodiscard]] PlacementSettings placement_settings(
    const std::vector<std::string>& arguments,
    const std::map<std::string, std::string>& environment);

/// "--n-gpu-layers" of "-ngl"; a flag without another spelling as it is.
[[nodiscard]] std::string long_flag(std::string_view flag);

struct ShownArgument {
  std::string flag;   // its long name: "--n-gpu-layers" of "-ngl"
  std::string words;  // behind it, also behind "="; empty: none
};

/// The flags of arguments as a block prints them. Words before the first flag are one with no name.
[[nodiscard]] std::vector<ShownArgument> shown_arguments(std::string_view shown);

/// Arguments as a block prints them, so that two spellings of one thing are equal: long flags,
/// "a=b" as "a b", sorted by flag; of one flag given twice the order stays.
[[nodiscard]] std::string settled_arguments(std::string_view shown);

/// A variable that hides devices from the engine's backends, with a value that can hide one. A
/// value that names devices ("0,1") hides the others; an empty one or -1 hides all.
struct HidingVariable {
  std::string name;
  std::string value;
  bool hides_all = false;

  [[nodiscard]] std::string shown() const { return name + "=" + value; }
};

[[nodiscard]] std::vector<HidingVariable> hiding_variables(
    const std::map<std::string, std::string>& environment);

}  // namespace picchio
