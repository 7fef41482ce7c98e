#include "verdict/causes/causes.h"

#include "base/text.h"
#include "verdict/causes/catalogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace picchio {
namespace {

constexpr std::size_t kProofColumns = 160;

using Words = std::string_view;

constexpr Words kLostInSleep[] = {"cuinit err: 999", "cudasetdevice err: 999", "init failure: 999",
                                  "unknown error (999)"};
constexpr Words kLostByContainer[] = {"failed to get device context 800",
                                      "failed to get device context 999"};
constexpr Words kNoKernels[] = {"supported types:[]", "compatible=[]"};
constexpr Words kNoAvx[] = {"does not have avx", "minimum vector extensions"};
constexpr Words kDriverTooOld[] = {"driver too old", "driver is too old", "cuctxcreate_v3"};
constexpr Words kGpuTooOld[] = {"gpu is too old", "compute capability not in",
                                "no kernel image is available"};
constexpr Words kMismatch[] = {"driver/library version mismatch"};
constexpr Words kLoaderOfProgram[] = {"error while loading shared libraries: libcu",
                                      "error while loading shared libraries: libroc",
                                      "error while loading shared libraries: libhip"};
constexpr Words kUnsigned[] = {"key was rejected by service"};
constexpr Words kTimeouts[] = {"discovery before timeout", "discovery watchdog timed out"};

// Between settings, which are the most direct explanation, and what follows from other facts stand
// the refusals of an engine or a driver, the particular ones first.
constexpr CauseRow kRows[] = {
    {"load_failed_oom", Topic::load, load_failed_oom},
    {"rpc_worker_cpu_backend", Topic::device, rpc_worker_cpu},
    {"software_sycl_devices_in_split", Topic::device, software_sycl},
    {"software_vulkan_device", Topic::device, software_vulkan},
    {"device_none", Topic::asked, device_none},
    {"ngl_0", Topic::asked, ngl_0},
    {"num_gpu_0", Topic::asked, num_gpu_0},
    {"ngl_0", Topic::asked, ngl_0_in_log},
    {"moe_experts_on_cpu", Topic::tensors, cpu_moe},
    {"moe_experts_on_cpu", Topic::tensors, experts_flag},
    {"tensor_override_to_host", Topic::tensors, override_flag},
    {"kv_cache_on_host", Topic::cache, kv_offload_flag},
    {"ngl_too_low", Topic::asked, ngl_flag_too_low},
    {"visible_devices_mask", Topic::reach, visible_devices_mask},
    {"llm_library_override", Topic::reach, library_override},
    {"front_end_memory_guard", Topic::room, memory_guard},
    {"engine_bug_backend_load_order", Topic::reach, backend_load_order},
    {"suspend_resume_lost_cuda", Topic::reach, nullptr, kLostInSleep,
     "CUDA error 999: the driver lost the card, as after sleep"},
    {"container_lost_gpu", Topic::reach, nullptr, kLostByContainer,
     "the container lost its GPU while running"},
    {"secure_boot_unsigned_module", Topic::reach, nullptr, kUnsigned,
     "Secure Boot refused the driver's module: it is not signed"},
    {"driver_mismatch", Topic::reach, nullptr, kMismatch,
     "kernel driver and driver library have different versions"},
    {"wsl_driver", Topic::reach, wsl_driver},
    {"backend_library_not_loaded", Topic::reach, nullptr, kLoaderOfProgram,
     "a library of the GPU's runtime is missing"},
    {"device_permission", Topic::reach, device_permission},
    {"backend_library_not_loaded", Topic::reach, nullptr, kNoKernels,
     "the engine found none of its GPU libraries"},
    {"gfx_target_unsupported", Topic::reach, gfx_target},
    {"cpu_without_avx", Topic::reach, nullptr, kNoAvx,
     "the engine wants AVX from the CPU before it uses a GPU"},
    {"driver_too_old", Topic::reach, nullptr, kDriverTooOld,
     "the GPU driver is too old for this engine"},
    {"gpu_too_old", Topic::reach, nullptr, kGpuTooOld,
     "this build has no kernels for a GPU that old"},
    {"driver_library_missing", Topic::reach, driver_library},
    {"backend_library_not_loaded", Topic::reach, cpu_runner},
    {"backend_library_not_loaded", Topic::reach, backend_not_loaded},
    {"discovery_timeout", Topic::reach, nullptr, kTimeouts,
     "the search for GPUs ran into its time limit"},
    {"container_without_gpu", Topic::reach, container_without_gpu},
    {"cuda_init_failed", Topic::reach, init_failed_cuda},
    {"rocm_init_failed", Topic::reach, init_failed_rocm},
    {"wrong_device_igpu", Topic::device, gpu_dropped},
    {"wrong_device_igpu", Topic::device, integrated_took_it},
    {"", Topic::reach, broken_link},
    {"driver_not_working", Topic::reach, driver_not_working},
    {"container_without_gpu", Topic::reach, no_device_passed_in},
    {"no_device_found", Topic::reach, no_device_found},
    {"package_without_backend", Topic::reach, backend_package},
    {"cpu_only_build", Topic::reach, cpu_only_build},
    {"no_gpu_in_machine", Topic::reach, no_gpu_in_machine},
    {"fit_overflow_to_host", Topic::tensors, fit_overflow},
    {"moe_experts_on_cpu", Topic::tensors, experts_overridden},
    {"tensor_override_to_host", Topic::tensors, tensors_overridden},
    {"vram_too_small", Topic::room, vram_too_small},
    {"device_none", Topic::asked, none_selected},
    {"engine_bug_ngl_ignored", Topic::asked, layers_flag_ignored},
    {"ngl_not_set", Topic::room, ngl_not_set},
    {"ngl_too_low", Topic::room, ngl_too_low},
    {"vram_taken_by_others", Topic::others, taken_by_others},
    {"context_too_large", Topic::context, context_too_large},
    {"retry_after_oom", Topic::retry, retry_after_oom},
    {"kv_cache_on_host", Topic::cache, kv_on_host},
    {"flash_attn_unsupported_kv_type", Topic::kernels, flash_attention_kv},
    {"output_head_on_host", Topic::tensors, head_on_host},
    {"moe_experts_on_cpu", Topic::tensors, kept_on_host},
    {"backend_type_unsupported", Topic::tensors, type_unsupported},
    {"draft_model_on_cpu", Topic::draft, draft_on_cpu},
    {"mmproj_on_cpu", Topic::projector, projector_on_cpu},
    {"vram_overcommit", Topic::spill, vram_overcommit},
    {"gpu_throttled", Topic::heat, gpu_throttled},
    {"power_limited", Topic::power, power_limited},
    {"pcie_link_low", Topic::link, link_low},
    {"model_larger_than_ram", Topic::ram, larger_than_ram},
    {"ram_single_channel", Topic::channels, single_channel},
    {"too_many_threads", Topic::threads, too_many_threads},
    {"flash_attn_auto_off", Topic::kernels, flash_attention_off},
    {"log_lacks_evidence", Topic::silence, lacks_evidence},
};

/// What a driver or a backend refuses explains only a run that is on the CPU, or that died on the
/// GPU: one that did not load explains nothing where another works.
const LogEvent* refusal(const CauseEvidence& e, std::span<const Words> wordings) {
  if (!e.nothing_on_gpu && !e.died) return nullptr;
  for (const Words words : wordings) {
    if (const LogEvent* found = e.event_saying(words)) return found;
  }
  return nullptr;
}

std::vector<std::string_view> places_of(const CauseEvidence& e) {
  std::vector<std::string_view> out;
  if (e.log.in_container) out.emplace_back("container");
  if (!e.log.platform.empty()) out.emplace_back(e.log.platform);
  if (e.log.platform == "wsl") out.emplace_back("linux");
  if (e.run != nullptr && e.run->raw.machine.os.starts_with("Linux")) out.emplace_back("linux");
  if (e.run != nullptr && !e.run->raw.machine.distribution.empty()) {
    out.emplace_back(e.run->raw.machine.distribution);
  }
  return out;
}

std::string_view engine_of(const CauseEvidence& e) {
  if (!e.log.engine.empty()) return e.log.engine;
  if (e.run == nullptr) return {};
  return e.run->raw.server ? name_of(e.run->raw.server->kind) : std::string_view("llama.cpp");
}

std::string vendor_in(std::string_view words) {
  const std::string text = lower(words);
  struct Row {
    std::string_view word;
    std::string_view vendor;
  };
  constexpr Row kVendors[] = {
      {"nvidia", "NVIDIA"}, {"geforce", "NVIDIA"}, {"quadro", "NVIDIA"}, {"tesla", "NVIDIA"},
      {"cuda", "NVIDIA"},   {"rocm", "AMD"},       {"radeon", "AMD"},    {"amdgpu", "AMD"},
      {"gfx1", "AMD"},      {"intel", "Intel"},    {"sycl", "Intel"},
  };
  const auto found =
      std::ranges::find_if(kVendors, [&](const Row& row) { return text.contains(row.word); });
  return found == std::end(kVendors) ? std::string() : std::string(found->vendor);
}

/// The machine knows best, then the devices that the engine lists, then what refused.
std::string vendor_of(const EngineLog& log, const Run* run) {
  if (run != nullptr) {
    if (const MachineGpu* gpu = usable_gpu(run->raw.machine)) return gpu->vendor;
  }
  for (const Device& device : log.devices) {
    if (device.kind != DeviceKind::hardware_gpu) continue;
    if (std::string vendor = vendor_in(device.description + ' ' + device.name); !vendor.empty())
      return vendor;
  }
  for (const LogEvent& event : log.events) {
    if (event.kind == LogEventKind::backend_loaded) continue;
    if (std::string vendor = vendor_in(event.subject); !vendor.empty()) return vendor;
  }
  return {};
}

}  // namespace

std::span<const CauseRow> cause_rows() { return kRows; }

std::optional<Cause> look(const CauseRow& row, const CauseEvidence& e) {
  if (row.find != nullptr) return row.find(e);
  const LogEvent* event = refusal(e, row.wordings);
  if (event == nullptr) return std::nullopt;
  return cause(row.id, row.why, proof(*event));
}

std::vector<Cause> find_causes(const EngineLog& log, const Placement& placement, const Run* run) {
  const CauseEvidence evidence = cause_evidence(log, placement, run);
  const std::vector<std::string_view> places = places_of(evidence);
  const RemedySituation situation{engine_of(evidence), places, evidence.vendor};
  std::vector<Cause> out;
  std::vector<Topic> told;
  for (const CauseRow& row : kRows) {
    if (std::ranges::find(told, row.topic) != told.end()) continue;
    std::optional<Cause> found = look(row, evidence);
    if (!found) continue;
    if (const CauseEntry* entry = find_cause_entry(found->id)) {
      if (found->fix.empty()) found->fix = remedy_for(*entry, situation);
      found->sentence = entry->sentence;
      found->effect = name_of(entry->effect);
      found->reference = entry->reference;
    }
    told.push_back(row.topic);
    out.push_back(*std::move(found));
  }
  return out;
}

bool died_on_gpu(const EngineLog& log) {
  const Load* load = main_load(log);
  if (load == nullptr || load->failure) return false;
  // Rates of a load before this one are no answer of it.
  const bool answered = std::ranges::any_of(log.timings, [&](const EngineTimings& timings) {
    const bool rates = timings.prefill_tokens_per_second || timings.decode_tokens_per_second;
    return rates && (timings.line == 0 || timings.line > load->first_line);
  });
  if (answered) return false;
  constexpr std::array<std::string_view, 7> kDeaths = {
      "core dumped", "CUDA error",     "ROCm error", "MUSA error",
      "DeviceLost",  "TensileLibrary", "GGML_ASSERT"};
  return std::ranges::any_of(log.events, [&](const LogEvent& event) {
    return event.line > load->first_line &&
           std::ranges::any_of(kDeaths,
                               [&](std::string_view words) { return event.text.contains(words); });
  });
}

bool only_slows(const Cause& cause) {
  const CauseEntry* entry = find_cause_entry(cause.id);
  return entry != nullptr && entry->effect == Effect::slow;
}

std::string suspicion(const EngineLog& log, const Placement& placement, const Run* run) {
  const CauseEvidence e = cause_evidence(log, placement, run);
  if (e.nothing_on_gpu && e.event(LogEventKind::no_usable_gpu) != nullptr) {
    return "no GPU backend in it, or no device in its reach";
  }
  if (e.placement.shape == Shape::remote) return "a remote worker's device is not shown";
  if (e.claims_some()) return "too few layers asked for, or no room for more";
  return {};
}

std::string proof(const LogEvent& event) { return proof(event.text, event.line); }

std::string proof(std::string_view what, int line) {
  const std::string text = picchio::fit(plain(what), kProofColumns);
  return line > 0 ? fmt::format("line {}: {}", line, text) : text;
}

Cause cause(std::string_view id, std::string_view why, std::string_view proof,
            std::string_view fix) {
  Cause out;
  out.id = id;
  out.why = picchio::fit(plain(why), kRemedyColumns);
  out.fix = picchio::fit(plain(fix), kRemedyColumns);
  out.proof = picchio::fit(plain(proof), kProofColumns);
  return out;
}

CauseEvidence cause_evidence(const EngineLog& log, const Placement& placement, const Run* run) {
  CauseEvidence out{.log = log,
                    .placement = placement,
                    .run = run,
                    .load = main_load(log),
                    .settings = {},
                    .hiding = {},
                    .vendor = vendor_of(log, run)};
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
  out.died = died_on_gpu(log);
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

bool CauseEvidence::host_computes() const {
  return nothing_on_gpu || placement.shape == Shape::partial;
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
