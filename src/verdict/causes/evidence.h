// What the causes of causes.h look at, gathered once. Pure.
#pragma once

#include "evidence/run.h"
#include "evidence/verdict.h"
#include "verdict/arguments.h"

#include <optional>
#include <string_view>
#include <vector>

namespace picchio {

/// `run` is null for a log that somebody pasted: no arguments, no environment, no machine then.
struct CauseEvidence {
  const EngineLog& log;
  const Placement& placement;
  const Run* run = nullptr;
  const Load* load = nullptr;  // the main one; null: none
  PlacementSettings settings;
  std::vector<HidingVariable> hiding;
  bool nothing_on_gpu = false;  // the main model computes on a CPU, whatever the engine calls it
  bool some_on_gpu = false;     // a hardware GPU holds weights

  [[nodiscard]] const LogEvent* event(LogEventKind kind) const;
  /// The first event, of any kind, whose text holds `words`, case ignored.
  [[nodiscard]] const LogEvent* event_saying(std::string_view words) const;
  [[nodiscard]] bool hardware_listed() const;
  [[nodiscard]] bool machine_has_gpu() const;
  [[nodiscard]] bool claims_all() const;   // N/N
  [[nodiscard]] bool claims_some() const;  // n/N, 0 < n < N
  [[nodiscard]] bool claims_none() const;  // 0/N
};

[[nodiscard]] CauseEvidence cause_evidence(const EngineLog& log, const Placement& placement,
                                           const Run* run);

/// `why` and `fix` cut to what the block has room for.
[[nodiscard]] Cause cause(std::string_view id, std::string_view why, std::string_view fix);

struct CauseRow {
  std::string_view id;
  std::optional<Cause> (*find)(const CauseEvidence&);
};

// The parts of the table, each in its file.

// Settings that somebody gave: the most direct explanation there is.
std::optional<Cause> device_none(const CauseEvidence&);
std::optional<Cause> ngl_0(const CauseEvidence&);
std::optional<Cause> num_gpu_0(const CauseEvidence&);
std::optional<Cause> ngl_0_in_log(const CauseEvidence&);
std::optional<Cause> cpu_moe(const CauseEvidence&);
std::optional<Cause> experts_flag(const CauseEvidence&);
std::optional<Cause> override_flag(const CauseEvidence&);
std::optional<Cause> kv_offload_flag(const CauseEvidence&);
std::optional<Cause> ngl_flag_too_low(const CauseEvidence&);
std::optional<Cause> visible_devices_mask(const CauseEvidence&);
std::optional<Cause> library_override(const CauseEvidence&);
std::optional<Cause> memory_guard(const CauseEvidence&);

// A device that is none.
std::optional<Cause> rpc_worker_cpu(const CauseEvidence&);
std::optional<Cause> software_sycl(const CauseEvidence&);
std::optional<Cause> software_vulkan(const CauseEvidence&);

// The engine or a driver refuses.
std::optional<Cause> backend_load_order(const CauseEvidence&);
std::optional<Cause> suspend_resume(const CauseEvidence&);
std::optional<Cause> container_lost_gpu(const CauseEvidence&);
std::optional<Cause> device_permission(const CauseEvidence&);
std::optional<Cause> kernels_missing(const CauseEvidence&);
std::optional<Cause> gfx_target(const CauseEvidence&);
std::optional<Cause> cpu_without_avx(const CauseEvidence&);
std::optional<Cause> driver_too_old(const CauseEvidence&);
std::optional<Cause> gpu_too_old(const CauseEvidence&);
std::optional<Cause> driver_library(const CauseEvidence&);
std::optional<Cause> backend_not_loaded(const CauseEvidence&);
std::optional<Cause> discovery_timeout(const CauseEvidence&);
std::optional<Cause> container_without_gpu(const CauseEvidence&);
std::optional<Cause> init_failed_cuda(const CauseEvidence&);
std::optional<Cause> init_failed_rocm(const CauseEvidence&);
std::optional<Cause> gpu_dropped(const CauseEvidence&);
std::optional<Cause> cpu_runner(const CauseEvidence&);
std::optional<Cause> driver_not_working(const CauseEvidence&);
std::optional<Cause> no_device_passed_in(const CauseEvidence&);
std::optional<Cause> no_device_found(const CauseEvidence&);
std::optional<Cause> cpu_only_build(const CauseEvidence&);
std::optional<Cause> no_gpu_in_machine(const CauseEvidence&);

// Memory, and what the engine made of it.
std::optional<Cause> load_failed_oom(const CauseEvidence&);
std::optional<Cause> fit_overflow(const CauseEvidence&);
std::optional<Cause> experts_overridden(const CauseEvidence&);
std::optional<Cause> tensors_overridden(const CauseEvidence&);
std::optional<Cause> vram_too_small(const CauseEvidence&);
std::optional<Cause> none_selected(const CauseEvidence&);
std::optional<Cause> ngl_not_set(const CauseEvidence&);
std::optional<Cause> ngl_too_low(const CauseEvidence&);
std::optional<Cause> kv_on_host(const CauseEvidence&);
std::optional<Cause> flash_attention_kv(const CauseEvidence&);
std::optional<Cause> head_on_host(const CauseEvidence&);
std::optional<Cause> kept_on_host(const CauseEvidence&);
std::optional<Cause> type_unsupported(const CauseEvidence&);
std::optional<Cause> draft_on_cpu(const CauseEvidence&);
std::optional<Cause> projector_on_cpu(const CauseEvidence&);
std::optional<Cause> vram_overcommit(const CauseEvidence&);
std::optional<Cause> lacks_evidence(const CauseEvidence&);

}  // namespace picchio
