#include "verdict/arguments.h"

#include "base/text.h"

#include <algorithm>
#include <array>

namespace picchio {
namespace {

using Slot = std::optional<Setting> PlacementSettings::*;

struct ValueFlag {
  std::string_view name;
  Slot slot;
};

// llama.cpp's names, and koboldcpp's --gpulayers. Each is read with a blank or an equals sign
// before its value.
constexpr ValueFlag kValueFlags[] = {
    {"-ngl", &PlacementSettings::gpu_layers},
    {"--n-gpu-layers", &PlacementSettings::gpu_layers},
    {"--gpu-layers", &PlacementSettings::gpu_layers},
    {"--gpulayers", &PlacementSettings::gpu_layers},
    {"-dev", &PlacementSettings::device},
    {"--device", &PlacementSettings::device},
    {"-ncmoe", &PlacementSettings::n_cpu_moe},
    {"--n-cpu-moe", &PlacementSettings::n_cpu_moe},
    {"-sm", &PlacementSettings::split_mode},
    {"--split-mode", &PlacementSettings::split_mode},
    {"-fa", &PlacementSettings::flash_attention},
    {"--flash-attn", &PlacementSettings::flash_attention},
    {"-ctk", &PlacementSettings::cache_type_k},
    {"--cache-type-k", &PlacementSettings::cache_type_k},
    {"-ctv", &PlacementSettings::cache_type_v},
    {"--cache-type-v", &PlacementSettings::cache_type_v},
    {"--rpc", &PlacementSettings::rpc},
};

struct Switch {
  std::string_view name;
  Slot slot;
  bool on;  // false: takes the setting back
};

constexpr Switch kSwitches[] = {
    {"-cmoe", &PlacementSettings::cpu_moe, true},
    {"--cpu-moe", &PlacementSettings::cpu_moe, true},
    {"-nkvo", &PlacementSettings::kv_offload_off, true},
    {"--no-kv-offload", &PlacementSettings::kv_offload_off, true},
    {"-kvo", &PlacementSettings::kv_offload_off, false},
    {"--kv-offload", &PlacementSettings::kv_offload_off, false},
};

struct Variable {
  std::string_view name;
  Slot slot;
};

constexpr Variable kVariables[] = {
    {"LLAMA_ARG_N_GPU_LAYERS", &PlacementSettings::gpu_layers},
    {"LLAMA_ARG_DEVICE", &PlacementSettings::device},
    {"LLAMA_ARG_N_CPU_MOE", &PlacementSettings::n_cpu_moe},
    {"LLAMA_ARG_SPLIT_MODE", &PlacementSettings::split_mode},
    {"LLAMA_ARG_FLASH_ATTN", &PlacementSettings::flash_attention},
    {"LLAMA_ARG_CACHE_TYPE_K", &PlacementSettings::cache_type_k},
    {"LLAMA_ARG_CACHE_TYPE_V", &PlacementSettings::cache_type_v},
    {"LLAMA_ARG_RPC", &PlacementSettings::rpc},
};

bool truthy(std::string_view value) {
  const std::string word = lower(trim(value));
  return word == "1" || word == "on" || word == "true" || word == "enabled" || word == "yes";
}

bool is_override_flag(std::string_view name) {
  return name == "-ot" || name == "--override-tensor";
}

std::string shown_flag(std::string_view name, std::string_view value) {
  return std::string(name) + " " + std::string(value);
}

/// "-ngl -1" has a value; "-fa -ngl 99" of the time when -fa was a switch has none.
/// Dashes alone, as a cut line leaves them, are none.
bool looks_like_flag(std::string_view text) {
  const std::string_view name = text.substr(std::min(text.find_first_not_of('-'), text.size()));
  return text.starts_with('-') && !name.empty() && !is_digit(name.front()) && name.front() != '.';
}

void apply_value(PlacementSettings& out, std::string_view name, std::string_view value,
                 bool& consumed) {
  if (is_override_flag(name)) {
    out.override_tensor.push_back({std::string(value), shown_flag(name, value), false});
    consumed = true;
    return;
  }
  for (const ValueFlag& flag : kValueFlags) {
    if (flag.name != name) continue;
    out.*flag.slot = Setting{std::string(value), shown_flag(name, value), false};
    consumed = true;
    return;
  }
}

void apply_switch(PlacementSettings& out, std::string_view name) {
  for (const Switch& flag : kSwitches) {
    if (flag.name != name) continue;
    out.*flag.slot = flag.on ? std::optional(Setting{"", std::string(name), false}) : std::nullopt;
  }
}

void apply_environment(PlacementSettings& out,
                       const std::map<std::string, std::string>& environment) {
  for (const auto& [name, value] : environment) {
    std::string shown = name;
    shown.append("=").append(value);
    const Setting setting{value, shown, true};
    for (const Variable& variable : kVariables) {
      if (variable.name == name && !value.empty()) out.*variable.slot = setting;
    }
    if (name == "LLAMA_ARG_OVERRIDE_TENSOR" && !value.empty()) {
      out.override_tensor.push_back(setting);
    }
    if (name == "LLAMA_ARG_CPU_MOE" && truthy(value)) out.cpu_moe = setting;
    if (name == "LLAMA_ARG_NO_KV_OFFLOAD" && truthy(value)) out.kv_offload_off = setting;
    if (name == "LLAMA_ARG_KV_OFFLOAD" && !value.empty() && !truthy(value)) {
      out.kv_offload_off = setting;
    }
  }
}

struct Alias {
  std::string_view flag;
  std::string_view long_flag;
};

constexpr Alias kAliases[] = {
    {"-ngl", "--n-gpu-layers"},   {"--gpu-layers", "--n-gpu-layers"},
    {"-dev", "--device"},         {"-ncmoe", "--n-cpu-moe"},
    {"-cmoe", "--cpu-moe"},       {"-sm", "--split-mode"},
    {"-ts", "--tensor-split"},    {"-mg", "--main-gpu"},
    {"-ot", "--override-tensor"}, {"-fa", "--flash-attn"},
    {"-ctk", "--cache-type-k"},   {"-ctv", "--cache-type-v"},
    {"-nkvo", "--no-kv-offload"}, {"-kvo", "--kv-offload"},
    {"-c", "--ctx-size"},         {"-b", "--batch-size"},
    {"-ub", "--ubatch-size"},     {"-t", "--threads"},
    {"-tb", "--threads-batch"},   {"-np", "--parallel"},
    {"-md", "--model-draft"},     {"--spec-draft-model", "--model-draft"},
};

}  // namespace

std::string long_flag(std::string_view flag) {
  for (const Alias& alias : kAliases) {
    if (alias.flag == flag) return std::string(alias.long_flag);
  }
  return std::string(flag);
}

std::vector<ShownArgument> shown_arguments(std::string_view shown) {
  std::vector<ShownArgument> out;
  for (const std::string_view word : split_blanks(shown)) {
    if (looks_like_flag(word)) {
      const std::size_t equals = std::min(word.find('='), word.size());
      out.push_back({long_flag(word.substr(0, equals)),
                     std::string(word.substr(std::min(equals + 1, word.size())))});
      continue;
    }
    if (out.empty()) out.emplace_back();
    std::string& words = out.back().words;
    if (!words.empty()) words += ' ';
    words += word;
  }
  return out;
}

std::string settled_arguments(std::string_view shown) {
  std::vector<ShownArgument> all = shown_arguments(shown);
  std::ranges::stable_sort(all, {}, &ShownArgument::flag);
  std::string out;
  for (const ShownArgument& each : all) {
    for (const std::string* part : {&each.flag, &each.words}) {
      if (part->empty()) continue;
      if (!out.empty()) out += ' ';
      out += *part;
    }
  }
  return out;
}

PlacementSettings placement_settings(const std::vector<std::string>& arguments,
                                     const std::map<std::string, std::string>& environment) {
  PlacementSettings out;
  apply_environment(out, environment);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (!argument.starts_with("-")) continue;
    apply_switch(out, argument);
    bool consumed = false;
    const std::size_t equals = argument.find('=');
    if (equals != std::string_view::npos) {
      apply_value(out, argument.substr(0, equals), argument.substr(equals + 1), consumed);
    } else if (i + 1 < arguments.size() && !looks_like_flag(arguments[i + 1])) {
      apply_value(out, argument, arguments[i + 1], consumed);
      if (consumed) ++i;
    }
  }
  return out;
}

std::vector<HidingVariable> hiding_variables(
    const std::map<std::string, std::string>& environment) {
  constexpr std::array kNames = {"CUDA_VISIBLE_DEVICES",    "HIP_VISIBLE_DEVICES",
                                 "ROCR_VISIBLE_DEVICES",    "GPU_DEVICE_ORDINAL",
                                 "GGML_VK_VISIBLE_DEVICES", "ONEAPI_DEVICE_SELECTOR",
                                 "ZE_AFFINITY_MASK"};
  std::vector<HidingVariable> out;
  for (const char* name : kNames) {
    const auto found = environment.find(name);
    if (found == environment.end()) continue;
    const std::string value(trim(found->second));
    // Only CUDA and HIP take an empty list for "no device"; the others take it for unset.
    const bool list_of_none =
        value == "-1" || lower(value) == "none" || lower(value) == "nodevfiles";
    const bool empty_hides = value.empty() && std::string_view(name).ends_with("VISIBLE_DEVICES") &&
                             !std::string_view(name).starts_with("GGML");
    if (value.empty() && !empty_hides) continue;
    out.push_back({name, value, list_of_none || empty_hides});
  }
  return out;
}

}  // namespace picchio
