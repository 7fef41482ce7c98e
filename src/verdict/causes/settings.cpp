// Causes that somebody set: flags, variables, a front end's guard; and devices that are none.
#include "base/text.h"
#include "verdict/causes/evidence.h"

#include <fmt/format.h>

#include <algorithm>

namespace picchio {
namespace {

std::string source_of(const Setting& setting) {
  return (setting.from_environment ? "the variable " : "the flag ") + setting.shown;
}

std::string drop(const Setting& setting) {
  if (!setting.from_environment) return "drop " + setting.shown;
  return "unset " + setting.shown.substr(0, setting.shown.find('='));
}

std::string forced(const Setting& setting) { return "forced by " + source_of(setting); }

Cause by_setting(std::string_view id, const Setting& setting) {
  return cause(id, forced(setting), source_of(setting), drop(setting));
}

/// "exps=CPU" and "a=CUDA0,b=CPU" send something to the host.
bool targets_host(const Setting& setting) {
  for (std::string_view part : split(setting.value, ',')) {
    const std::size_t equals = part.rfind('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view target = trim(part.substr(equals + 1));
    if (target.starts_with("CPU") || target.ends_with("_Host")) return true;
  }
  return false;
}

const Setting* host_override(const CauseEvidence& e) {
  if (e.placement.shape != Shape::partial) return nullptr;
  const auto found = std::ranges::find_if(e.settings.override_tensor, targets_host);
  return found == e.settings.override_tensor.end() ? nullptr : &*found;
}

bool has_experts(const CauseEvidence& e) {
  if (e.run == nullptr || !e.run->raw.model) return true;  // not known: the flag speaks for itself
  return e.run->raw.model->expert_count.value_or(0) > 0;
}

/// Where the log's own command lines and requests ask for layers: the last word of them.
const LogEvent* last_request(const EngineLog& log) {
  const LogEvent* last = nullptr;
  for (const LogEvent& event : log.events) {
    if (event.kind == LogEventKind::gpu_layers_asked) last = &event;
  }
  return last;
}

bool asked_for_none(const EngineLog& log) {
  const LogEvent* last = last_request(log);
  return last != nullptr && parse_int(last->subject) == 0;
}

/// The planning pass starts from what was asked for; left to itself it starts from all layers.
bool planned_with_none(const CauseEvidence& e) {
  const Load* probe = probe_load(e.log);
  if (probe == nullptr || !probe->claim || !e.claims_none()) return false;
  return probe->claim->on_gpu == 0 && (!e.log.fit || e.log.fit->rows.empty());
}

const DeviceAccount* software_at_work(const CauseEvidence& e) {
  for (const DeviceAccount& device : e.placement.devices) {
    if (device.kind == DeviceKind::software && device.weights_bytes.value_or(0) > 0) return &device;
  }
  return nullptr;
}

std::string label(const DeviceAccount& device) {
  return device.description.empty() ? device.name : device.description;
}

/// A library for GPUs that is there is no reason to be without one: what is not there, or is the
/// CPU's, is.
bool leaves_the_cpu(const LogEvent& event) {
  constexpr std::string_view kName = "OLLAMA_LLM_LIBRARY=";
  const std::size_t at = event.text.find(kName);
  if (at == std::string::npos) return true;
  return std::string_view(event.text).substr(at + kName.size()).starts_with("cpu");
}

std::string held_by(const DeviceAccount& device) {
  return fmt::format("{} of weights on {}", format_bytes(device.weights_bytes.value_or(0)),
                     plain(device.name));
}

/// Masked devices leave traces: a backend that finds none, or a machine's GPU that no line names.
bool device_went_missing(const CauseEvidence& e) {
  if (e.hardware_listed()) return false;
  if (e.event(LogEventKind::no_devices_found) != nullptr) return true;
  if (e.event(LogEventKind::backend_init_failed) != nullptr) return true;
  return e.machine_has_gpu();
}

}  // namespace

std::optional<Cause> device_none(const CauseEvidence& e) {
  if (!e.nothing_on_gpu || !e.settings.device) return std::nullopt;
  if (lower(trim(e.settings.device->value)) != "none") return std::nullopt;
  return by_setting("device_none", *e.settings.device);
}

std::optional<Cause> ngl_0(const CauseEvidence& e) {
  const std::optional<Setting>& layers = e.settings.gpu_layers;
  if (!e.nothing_on_gpu || !layers || parse_int(layers->value) != 0) return std::nullopt;
  return by_setting("ngl_0", *layers);
}

std::optional<Cause> num_gpu_0(const CauseEvidence& e) {
  if (!e.nothing_on_gpu || e.log.engine != "ollama") return std::nullopt;
  const bool planned = e.log.plan && e.log.plan->requested == 0;
  if (!planned && !asked_for_none(e.log)) return std::nullopt;
  return cause("num_gpu_0", "the front end asked for 0 GPU layers (num_gpu 0)",
               planned ? proof("the plan requests 0 layers", e.log.plan->line)
                       : proof(*last_request(e.log)));
}

std::optional<Cause> ngl_0_in_log(const CauseEvidence& e) {
  // Of koboldcpp a zero is what it says when nothing was asked for.
  if (!e.nothing_on_gpu || e.log.engine == "koboldcpp") return std::nullopt;
  const bool fit_says = e.log.fit && e.log.fit->failure.contains("already set by user to 0");
  const bool planned = e.log.plan && e.log.plan->requested == 0;
  if (!fit_says && !planned && !asked_for_none(e.log) && !planned_with_none(e)) return std::nullopt;
  std::string why_known = "the planning pass was for 0 layers";
  if (fit_says) why_known = proof(e.log.fit->failure, e.log.fit->line);
  if (planned) why_known = proof("0 layers were requested", e.log.plan->line);
  return cause("ngl_0", "0 GPU layers were asked for (-ngl 0)", why_known);
}

std::optional<Cause> layers_flag_ignored(const CauseEvidence& e) {
  const LogEvent* asked = last_request(e.log);
  if (asked == nullptr || parse_int(asked->subject).value_or(0) == 0) return std::nullopt;
  if (!e.nothing_on_gpu || !e.claims_none() || !e.hardware_listed()) return std::nullopt;
  // The automatic fit and a front end's plan may lower what was asked for.
  if (e.log.fit || probe_load(e.log) != nullptr || (e.log.plan && e.log.plan->offload)) {
    return std::nullopt;
  }
  if (e.event(LogEventKind::allocation_failed) != nullptr) return std::nullopt;
  return cause("engine_bug_ngl_ignored",
               fmt::format("{} layers were asked for, and the program ignored it", asked->subject),
               proof(*asked));
}

std::optional<Cause> cpu_moe(const CauseEvidence& e) {
  if (e.placement.shape != Shape::partial || !has_experts(e)) return std::nullopt;
  const std::optional<Setting>& all = e.settings.cpu_moe;
  const std::optional<Setting>& some = e.settings.n_cpu_moe;
  const bool moves_some = some && parse_int(some->value).value_or(0) > 0;
  if (!all && !moves_some) return std::nullopt;
  const Setting& setting = all ? *all : *some;
  return cause("moe_experts_on_cpu", "experts kept on the CPU by " + setting.shown + ", as asked",
               source_of(setting),
               all ? drop(setting) : "a smaller number in " + setting.shown + ", or drop it");
}

std::optional<Cause> experts_flag(const CauseEvidence& e) {
  const Setting* found = host_override(e);
  if (found == nullptr || !found->value.contains("exp")) return std::nullopt;
  return by_setting("moe_experts_on_cpu", *found);
}

std::optional<Cause> override_flag(const CauseEvidence& e) {
  const Setting* found = host_override(e);
  if (found == nullptr || found->value.contains("exp")) return std::nullopt;
  return by_setting("tensor_override_to_host", *found);
}

std::optional<Cause> kv_offload_flag(const CauseEvidence& e) {
  if (!e.settings.kv_offload_off || e.placement.kv_on != KvPlace::cpu || e.nothing_on_gpu) {
    return std::nullopt;
  }
  return cause("kv_cache_on_host",
               "KV cache " + forced(*e.settings.kv_offload_off) + " to host memory",
               source_of(*e.settings.kv_offload_off), drop(*e.settings.kv_offload_off));
}

std::optional<Cause> ngl_flag_too_low(const CauseEvidence& e) {
  const std::optional<Setting>& layers = e.settings.gpu_layers;
  if (!layers || !e.claims_some()) return std::nullopt;
  const int total = e.load->claim.value_or(LayerClaim{}).total;
  const std::int64_t asked = parse_int(layers->value).value_or(0);
  if (asked <= 0 || asked >= total) return std::nullopt;
  return cause("ngl_too_low",
               fmt::format("{} asks for fewer than the model's {} layers", layers->shown, total),
               source_of(*layers),
               layers->from_environment ? "unset LLAMA_ARG_N_GPU_LAYERS"
                                        : "drop the flag, or ask for all layers: -ngl 99");
}

std::optional<Cause> visible_devices_mask(const CauseEvidence& e) {
  if (!e.nothing_on_gpu) return std::nullopt;
  const LogEvent* masked = e.event(LogEventKind::device_masked);
  // Index 0 is every card of most machines, and a card that is listed was not hidden.
  const bool harmless = masked != nullptr && (masked->text.ends_with("=0") || e.hardware_listed());
  if (masked != nullptr && !harmless) {
    const std::string what = masked->subject.empty() ? masked->text : masked->subject;
    return cause("visible_devices_mask", "devices are hidden: " + what, proof(*masked));
  }
  for (const HidingVariable& variable : e.hiding) {
    const bool all_hidden = variable.hides_all && !e.hardware_listed();
    if (!all_hidden && !device_went_missing(e)) continue;
    return cause("visible_devices_mask", "devices are hidden by " + variable.shown(),
                 "the variable " + variable.shown(), "unset " + variable.name);
  }
  return std::nullopt;
}

std::optional<Cause> library_override(const CauseEvidence& e) {
  if (!e.nothing_on_gpu) return std::nullopt;
  for (const LogEvent& event : e.log.events) {
    if (event.kind != LogEventKind::library_override || !leaves_the_cpu(event)) continue;
    return cause("llm_library_override", "OLLAMA_LLM_LIBRARY picks a library without the GPU",
                 proof(event));
  }
  return std::nullopt;
}

std::optional<Cause> memory_guard(const CauseEvidence& e) {
  const LogEvent* found = e.event(LogEventKind::memory_guard);
  if (found == nullptr || e.claims_all()) return std::nullopt;
  return cause("front_end_memory_guard", "the front end's memory guard chose the layers",
               proof(*found));
}

std::optional<Cause> rpc_worker_cpu(const CauseEvidence& e) {
  const LogEvent* found = e.event(LogEventKind::remote_is_cpu);
  if (found == nullptr) return std::nullopt;
  const bool used = std::ranges::any_of(e.placement.devices, [](const DeviceAccount& device) {
    return device.kind == DeviceKind::remote && device.weights_bytes.value_or(0) > 0;
  });
  if (!used) return std::nullopt;
  return cause("rpc_worker_cpu_backend", "the RPC worker computes on its CPU", proof(*found));
}

std::optional<Cause> software_sycl(const CauseEvidence& e) {
  const DeviceAccount* device = software_at_work(e);
  if (device == nullptr || !device->name.starts_with("SYCL")) return std::nullopt;
  return cause("software_sycl_devices_in_split", device->name + " is the CPU: " + label(*device),
               held_by(*device));
}

/// Of a server without a log its threads tell.
std::string renderer_at_work(const CauseEvidence& e) {
  if (e.run == nullptr || e.run->raw.passes.empty()) return {};
  if (e.placement.shape != Shape::cpu || !e.placement.devices.empty()) return {};
  return plain(e.run->raw.passes.front().process.renderer);
}

std::optional<Cause> software_vulkan(const CauseEvidence& e) {
  const DeviceAccount* device = software_at_work(e);
  const std::string renderer = renderer_at_work(e);
  if (device == nullptr && renderer.empty()) return std::nullopt;
  // The renderer is what is left when the card's node may not be opened.
  if (e.event(LogEventKind::device_permission) != nullptr) return std::nullopt;
  const std::string what =
      device != nullptr ? fmt::format("{} renders on the CPU: {}", device->name, label(*device))
                        : fmt::format("{}, which renders on the CPU, was opened", renderer);
  const auto named =
      std::ranges::find(e.hiding, std::string("GGML_VK_VISIBLE_DEVICES"), &HidingVariable::name);
  const bool by_hand = named != e.hiding.end();
  return cause("software_vulkan_device", what,
               device != nullptr ? held_by(*device) : "a thread of " + renderer,
               by_hand && !e.machine_has_gpu() ? "unset GGML_VK_VISIBLE_DEVICES" : "");
}

/// Weights on an integrated GPU while a card of its own is listed and holds none.
std::optional<Cause> integrated_took_it(const CauseEvidence& e) {
  const Device* taken = nullptr;
  const Device* better = nullptr;
  for (const Device& device : e.log.devices) {
    if (device.kind != DeviceKind::hardware_gpu || !device.integrated) continue;
    const auto account = std::ranges::find(e.placement.devices, device.name, &DeviceAccount::name);
    const bool holds =
        account != e.placement.devices.end() && account->weights_bytes.value_or(0) > 0;
    if (*device.integrated && holds) taken = &device;
    if (!*device.integrated && !holds) better = &device;
    if (!*device.integrated && holds) return std::nullopt;
  }
  if (taken == nullptr || better == nullptr) return std::nullopt;
  return cause("wrong_device_igpu",
               fmt::format("the integrated {} was used, not {}", taken->name, better->name),
               fmt::format("weights lie on {}, none on {} ({})", taken->name, better->name,
                           better->description),
               e.log.engine == "ollama" ? "hide the integrated one: GGML_VK_VISIBLE_DEVICES=N"
                                        : "choose the card: --device " + better->name);
}

}  // namespace picchio
