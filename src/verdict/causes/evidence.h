// What the causes of causes.h look at, gathered once. Pure.
#pragma once

#include "evidence/run.h"
#include "evidence/verdict.h"
#include "verdict/arguments.h"

#include <optional>
#include <span>
#include <string>
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
  bool died = false;            // the engine crashed in a backend after the load
  std::string vendor;           // of the GPU in question; empty: not told

  [[nodiscard]] const LogEvent* event(LogEventKind kind) const;
  /// The first event, of any kind, whose text holds `words`, case ignored.
  [[nodiscard]] const LogEvent* event_saying(std::string_view words) const;
  [[nodiscard]] bool hardware_listed() const;
  [[nodiscard]] bool host_computes() const;  // a relevant part of the weights is in host memory
  [[nodiscard]] bool machine_has_gpu() const;
  [[nodiscard]] bool claims_all() const;   // N/N
  [[nodiscard]] bool claims_some() const;  // n/N, 0 < n < N
  [[nodiscard]] bool claims_none() const;  // 0/N
};

[[nodiscard]] CauseEvidence cause_evidence(const EngineLog& log, const Placement& placement,
                                           const Run* run);

/// What proves a cause: a line of the log, a setting, a meter. Cut to what one line holds.
[[nodiscard]] std::string proof(const LogEvent& event);  // "line 12: ggml_cuda_init: failed ..."
[[nodiscard]] std::string proof(std::string_view what, int line);

/// `why` and `fix` cut to what the block has room for. No `fix`: the catalogue's.
[[nodiscard]] Cause cause(std::string_view id, std::string_view why, std::string_view proof,
                          std::string_view fix = {});

/// What rows of the table are about. Rows of one topic explain the same thing, so of each only the
/// first with evidence is told.
enum class Topic {
  load,     // nothing was loaded
  device,   // the "GPU" is none, or another than it should be
  asked,    // how many layers were asked for, and of which devices
  tensors,  // parts of layers
  cache,    // the KV cache
  reach,    // whether the engine could reach a GPU
  room,     // how much fitted; what took the room follows
  others,
  context,
  retry,
  kernels,  // operations that the backend lacks
  draft,
  projector,
  spill,  // more than the device has
  heat,   // well placed and slow, from here on
  power,
  link,
  ram,
  channels,
  threads,
  silence,  // nothing tells
};

/// A row either looks with `find`, whose cause can have another id than the row's where that is
/// empty, or names its cause where the log of a CPU run says one of
/// `wordings`, case ignored.
struct CauseRow {
  std::string_view id;
  Topic topic = Topic::reach;
  std::optional<Cause> (*find)(const CauseEvidence&) = nullptr;
  std::span<const std::string_view> wordings = {};
  std::string_view why = {};  // of wordings
};

[[nodiscard]] std::optional<Cause> look(const CauseRow& row, const CauseEvidence& evidence);

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
std::optional<Cause> layers_flag_ignored(const CauseEvidence&);

// A device that is none.
std::optional<Cause> rpc_worker_cpu(const CauseEvidence&);
std::optional<Cause> software_sycl(const CauseEvidence&);
std::optional<Cause> software_vulkan(const CauseEvidence&);
std::optional<Cause> integrated_took_it(const CauseEvidence&);

// The engine or a driver refuses.
std::optional<Cause> backend_load_order(const CauseEvidence&);
std::optional<Cause> wsl_driver(const CauseEvidence&);
std::optional<Cause> device_permission(const CauseEvidence&);
std::optional<Cause> gfx_target(const CauseEvidence&);
std::optional<Cause> driver_library(const CauseEvidence&);
std::optional<Cause> backend_not_loaded(const CauseEvidence&);
std::optional<Cause> container_without_gpu(const CauseEvidence&);
std::optional<Cause> init_failed_cuda(const CauseEvidence&);
std::optional<Cause> init_failed_rocm(const CauseEvidence&);
std::optional<Cause> gpu_dropped(const CauseEvidence&);
std::optional<Cause> cpu_runner(const CauseEvidence&);
std::optional<Cause> driver_not_working(const CauseEvidence&);
std::optional<Cause> broken_link(const CauseEvidence&);
std::optional<Cause> no_device_passed_in(const CauseEvidence&);
std::optional<Cause> no_device_found(const CauseEvidence&);
std::optional<Cause> backend_package(const CauseEvidence&);
std::optional<Cause> cpu_only_build(const CauseEvidence&);
std::optional<Cause> no_gpu_in_machine(const CauseEvidence&);

// Memory, and what the engine made of it.
std::optional<Cause> load_failed_oom(const CauseEvidence&);
std::optional<Cause> retry_after_oom(const CauseEvidence&);
std::optional<Cause> taken_by_others(const CauseEvidence&);
std::optional<Cause> context_too_large(const CauseEvidence&);
std::optional<Cause> fit_overflow(const CauseEvidence&);
std::optional<Cause> experts_overridden(const CauseEvidence&);
std::optional<Cause> tensors_overridden(const CauseEvidence&);
std::optional<Cause> vram_too_small(const CauseEvidence&);
std::optional<Cause> none_selected(const CauseEvidence&);
std::optional<Cause> ngl_not_set(const CauseEvidence&);
std::optional<Cause> ngl_too_low(const CauseEvidence&);
std::optional<Cause> kv_on_host(const CauseEvidence&);
std::optional<Cause> flash_attention_kv(const CauseEvidence&);
std::optional<Cause> flash_attention_off(const CauseEvidence&);
std::optional<Cause> head_on_host(const CauseEvidence&);
std::optional<Cause> kept_on_host(const CauseEvidence&);
std::optional<Cause> type_unsupported(const CauseEvidence&);
std::optional<Cause> draft_on_cpu(const CauseEvidence&);
std::optional<Cause> projector_on_cpu(const CauseEvidence&);
std::optional<Cause> vram_overcommit(const CauseEvidence&);
std::optional<Cause> lacks_evidence(const CauseEvidence&);

// Where it should be, and slow.
std::optional<Cause> gpu_throttled(const CauseEvidence&);
std::optional<Cause> power_limited(const CauseEvidence&);
std::optional<Cause> link_low(const CauseEvidence&);
std::optional<Cause> single_channel(const CauseEvidence&);
std::optional<Cause> larger_than_ram(const CauseEvidence&);
std::optional<Cause> too_many_threads(const CauseEvidence&);

}  // namespace picchio
