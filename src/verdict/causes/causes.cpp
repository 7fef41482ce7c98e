#include "verdict/causes/causes.h"

#include "base/text.h"

#include <algorithm>

namespace picchio {
namespace {

// A block is 66 columns wide; "WHY: " and "FIX: " take five of them.
constexpr std::size_t kColumns = 66 - 5;

constexpr CauseRow kRows[] = {
    {"load_failed_oom", load_failed_oom},
    {"rpc_worker_cpu_backend", rpc_worker_cpu},
    {"software_sycl_devices_in_split", software_sycl},
    {"software_vulkan_device", software_vulkan},
    {"device_none", device_none},
    {"ngl_0", ngl_0},
    {"num_gpu_0", num_gpu_0},
    {"ngl_0", ngl_0_in_log},
    {"moe_experts_on_cpu", cpu_moe},
    {"moe_experts_on_cpu", experts_flag},
    {"tensor_override_to_host", override_flag},
    {"kv_cache_on_host", kv_offload_flag},
    {"ngl_too_low", ngl_flag_too_low},
    {"visible_devices_mask", visible_devices_mask},
    {"llm_library_override", library_override},
    {"front_end_memory_guard", memory_guard},
    {"engine_bug_backend_load_order", backend_load_order},
    {"suspend_resume_lost_cuda", suspend_resume},
    {"container_lost_gpu", container_lost_gpu},
    {"device_permission", device_permission},
    {"backend_library_not_loaded", kernels_missing},
    {"gfx_target_unsupported", gfx_target},
    {"cpu_without_avx", cpu_without_avx},
    {"driver_too_old", driver_too_old},
    {"gpu_too_old", gpu_too_old},
    {"driver_library_missing", driver_library},
    {"backend_library_not_loaded", cpu_runner},
    {"backend_library_not_loaded", backend_not_loaded},
    {"discovery_timeout", discovery_timeout},
    {"container_without_gpu", container_without_gpu},
    {"cuda_init_failed", init_failed_cuda},
    {"rocm_init_failed", init_failed_rocm},
    {"wrong_device_igpu", gpu_dropped},
    {"driver_not_working", driver_not_working},
    {"container_without_gpu", no_device_passed_in},
    {"no_device_found", no_device_found},
    {"cpu_only_build", cpu_only_build},
    {"no_gpu_in_machine", no_gpu_in_machine},
    {"fit_overflow_to_host", fit_overflow},
    {"moe_experts_on_cpu", experts_overridden},
    {"tensor_override_to_host", tensors_overridden},
    {"vram_too_small", vram_too_small},
    {"device_none", none_selected},
    {"ngl_not_set", ngl_not_set},
    {"ngl_too_low", ngl_too_low},
    {"kv_cache_on_host", kv_on_host},
    {"flash_attn_unsupported_kv_type", flash_attention_kv},
    {"output_head_on_host", head_on_host},
    {"moe_experts_on_cpu", kept_on_host},
    {"backend_type_unsupported", type_unsupported},
    {"draft_model_on_cpu", draft_on_cpu},
    {"mmproj_on_cpu", projector_on_cpu},
    {"vram_overcommit", vram_overcommit},
    {"log_lacks_evidence", lacks_evidence},
};

}  // namespace

std::span<const CauseRow> cause_rows() { return kRows; }

std::optional<Cause> find_cause(const EngineLog& log, const Placement& placement, const Run* run) {
  const CauseEvidence evidence = cause_evidence(log, placement, run);
  for (const CauseRow& row : kRows) {
    if (std::optional<Cause> found = row.find(evidence)) return found;
  }
  return std::nullopt;
}

Cause cause(std::string_view id, std::string_view why, std::string_view fix) {
  return {std::string(id), picchio::fit(plain(why), kColumns), picchio::fit(plain(fix), kColumns)};
}

CauseEvidence cause_evidence(const EngineLog& log, const Placement& placement, const Run* run) {
  CauseEvidence out{.log = log,
                    .placement = placement,
                    .run = run,
                    .load = main_load(log),
                    .settings = {},
                    .hiding = {}};
  if (run != nullptr) {
    const bool recorded = !run->raw.passes.empty() && !run->raw.passes.front().argv.empty();
    out.settings = placement_settings(recorded ? run->raw.passes.front().argv : run->raw.user_args,
                                      run->raw.environment);
    out.hiding = hiding_variables(run->raw.environment);
  }
  for (const DeviceAccount& device : placement.devices) {
    if (device.kind == DeviceKind::hardware_gpu && device.weights_bytes.value_or(0) > 0) {
      out.some_on_gpu = true;
    }
  }
  if (placement.shape == Shape::cpu) out.some_on_gpu = false;
  out.nothing_on_gpu = placement.shape == Shape::cpu || placement.shape == Shape::software_device;
  return out;
}

const LogEvent* CauseEvidence::event(LogEventKind kind) const {
  const auto found = std::ranges::find(log.events, kind, &LogEvent::kind);
  return found == log.events.end() ? nullptr : &*found;
}

const LogEvent* CauseEvidence::event_saying(std::string_view words) const {
  const std::string wanted = lower(words);
  for (const LogEvent& candidate : log.events) {
    if (lower(candidate.text).contains(wanted)) return &candidate;
  }
  return nullptr;
}

bool CauseEvidence::hardware_listed() const {
  return std::ranges::any_of(log.devices,
                             [](const Device& d) { return d.kind == DeviceKind::hardware_gpu; });
}

bool CauseEvidence::machine_has_gpu() const {
  return run != nullptr && usable_gpu(run->raw.machine) != nullptr;
}

bool CauseEvidence::claims_all() const {
  return load != nullptr && load->claim && load->claim->total > 0 &&
         load->claim->on_gpu >= load->claim->total;
}

bool CauseEvidence::claims_some() const {
  return load != nullptr && load->claim && load->claim->on_gpu > 0 &&
         load->claim->on_gpu < load->claim->total;
}

bool CauseEvidence::claims_none() const {
  return load != nullptr && load->claim && load->claim->on_gpu == 0;
}

}  // namespace picchio
