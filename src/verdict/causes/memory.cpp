// Causes that lie in memory, and in what an engine made of it.
#include "base/text.h"
#include "evidence/metered_gpu.h"
#include "verdict/causes/evidence.h"
#include "verdict/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace picchio {
namespace {

// Above this share of the free memory another layer did not fit beside the engine's own margin of
// 1 GiB; 12 GB and smaller cards leave that much.
constexpr double kNearlyFull = 0.85;

// Builds since December 2025 fit the layers to the memory by themselves.
constexpr std::int64_t kAutomaticFit = 7400;

int claim_line(const CauseEvidence& e) {
  return e.load == nullptr ? 0 : e.load->claim.value_or(LayerClaim{}).line;
}

std::int64_t held(const DeviceAccount& device) {
  return device.weights_bytes.value_or(0) + device.kv_bytes.value_or(0) +
         device.compute_bytes.value_or(0);
}

/// What the engine put on a device against what was free there before: of the fullest one. Rows
/// that are split over all devices stand under one name, so with them the sums are compared.
std::optional<double> fullest(const CauseEvidence& e) {
  const bool split =
      e.load != nullptr && std::ranges::any_of(e.load->buffers, [](const BufferLine& b) {
        return b.buffer.ends_with("_Split");
      });
  std::optional<double> most;
  std::int64_t used = 0;
  std::int64_t free = 0;
  for (const DeviceAccount& device : e.placement.devices) {
    if (device.kind != DeviceKind::hardware_gpu) continue;
    used += held(device);
    if (!device.free_bytes || *device.free_bytes <= 0) continue;
    const double share =
        static_cast<double>(held(device)) / static_cast<double>(*device.free_bytes);
    if (!most || share > *most) most = share;
  }
  if (!split) return most;
  for (const Device& device : e.log.devices) {
    if (device.kind == DeviceKind::hardware_gpu) free += device.free_bytes.value_or(0);
  }
  if (free <= 0) return std::nullopt;
  return static_cast<double>(used) / static_cast<double>(free);
}

std::int64_t overridden(const Load& load, bool experts) {
  return std::ranges::count_if(load.overrides, [&](const TensorOverride& moved) {
    const bool host = moved.buffer.starts_with("CPU") || moved.buffer.ends_with("_Host");
    return host && moved.tensor.contains("exps") == experts;
  });
}

bool chooses_itself(const CauseEvidence& e) {
  if (e.log.engine == "ollama") return true;
  return e.log.plan && e.log.plan->requested && *e.log.plan->requested < 0;
}

/// ollama's plan is for a GPU, and puts no layer there.
bool planned_none_on_gpu(const OffloadPlan& plan) {
  return plan.offload == 0 && plan.requested.value_or(-1) < 0 && !plan.library.empty() &&
         plan.library != "cpu";
}

/// Zero layers where no GPU was found, or that were asked for, are no matter of room.
bool zero_for_another_reason(const CauseEvidence& e) {
  if (e.log.plan && e.log.plan->requested == 0) return true;
  return e.event(LogEventKind::no_gpu_discovered) != nullptr && !e.hardware_listed();
}

const MemoryRow* overbooked_row(const Load& load) {
  for (const MemoryRow& row : load.breakdown) {
    if (row.free_mib && *row.free_mib < 0) return &row;
  }
  return nullptr;
}

bool uncommon_kv(const std::string& type) {
  constexpr std::array<std::string_view, 4> kWithKernels = {"f16", "bf16", "q8_0", "q4_0"};
  return !type.empty() && std::ranges::find(kWithKernels, type) == kWithKernels.end();
}

/// N/N layers claimed, nothing in the arguments or the log that moved tensors, and yet the device
/// holds less than `share` of the weights.
bool full_claim_mostly_host(const CauseEvidence& e, double share) {
  if (!e.some_on_gpu || !e.claims_all() || e.placement.shape != Shape::partial) return false;
  if (e.placement.kv_on && *e.placement.kv_on != KvPlace::gpu) return false;
  return e.placement.weights_on_gpu_fraction.value_or(1) < share;
}

/// Backends that have kernels for every type of weight: what they leave on the host, somebody put
/// there.
bool common_backend(const CauseEvidence& e) {
  return std::ranges::any_of(e.placement.devices, [](const DeviceAccount& device) {
    if (device.kind != DeviceKind::hardware_gpu || device.weights_bytes.value_or(0) <= 0)
      return false;
    return device.name.starts_with("CUDA") || device.name.starts_with("ROCm") ||
           device.name.starts_with("Vulkan") || device.name.starts_with("MTL");
  });
}

bool on_cpu(const Load& load) {
  if (load.claim) return load.claim->on_gpu == 0;
  if (std::ranges::find(load.devices, "CPU") != load.devices.end()) return true;
  bool host = false;
  for (const BufferLine& line : load.buffers) {
    if (line.use != BufferUse::weights) continue;
    if (line.kind != DeviceKind::host && line.bytes > 0) return false;
    host = host || line.kind == DeviceKind::host;
  }
  return host;
}

/// The last load of a draft model or projector counts, as of the main model.
bool side_model_on_cpu(const CauseEvidence& e, LoadRole role) {
  const Load* last = nullptr;
  for (const Load& load : e.log.loads) {
    if (load.role == role && !load.failure) last = &load;
  }
  return last != nullptr && on_cpu(*last);
}

/// Bytes of weights that are on the host although they could be on a device.
std::optional<std::int64_t> left_out_bytes(const CauseEvidence& e) {
  if (e.placement.missing_bytes) return e.placement.missing_bytes;
  const std::optional<double>& fraction = e.placement.weights_on_gpu_fraction;
  std::int64_t on_gpu = 0;
  for (const DeviceAccount& device : e.placement.devices) {
    if (device.kind == DeviceKind::hardware_gpu) on_gpu += device.weights_bytes.value_or(0);
  }
  // The embedding, which is on the host anyway, makes this an upper bound.
  if (!fraction || *fraction <= 0 || on_gpu <= 0) return std::nullopt;
  return static_cast<std::int64_t>(static_cast<double>(on_gpu) * (1 - *fraction) / *fraction);
}

/// How it is known that fewer layers were asked for than would have fitted. A log without
/// arguments often does not tell: the engine or a front end may have found no room for more.
std::optional<std::string> fewer_asked(const CauseEvidence& e, const LayerClaim& claim) {
  if (e.settings.gpu_layers) return "the arguments";
  // Before the automatic fit llama.cpp itself never took fewer than it was asked for, and LocalAI
  // passes on what its YAML says.
  const bool obeys =
      e.log.engine == "LocalAI" ||
      (e.log.engine == "llama.cpp" && e.log.build.value_or(kAutomaticFit) < kAutomaticFit);
  if (obeys) return proof("this engine loads as many as it is asked for", claim.line);
  if (e.log.plan && e.log.plan->requested && *e.log.plan->requested > 0 &&
      *e.log.plan->requested <= claim.on_gpu) {
    return proof(fmt::format("{} layers were requested", *e.log.plan->requested), e.log.plan->line);
  }
  if (const std::optional<double> share = fullest(e); share && *share < kNearlyFull) {
    return fmt::format("{:.0f}% of the free device memory is filled with these layers",
                       100 * *share);
  }
  // A fit or a front end that looks at the memory leaves out a few, not nearly all, of the layers.
  constexpr int kHardCoded = 2;
  if (claim.on_gpu <= kHardCoded && claim.total > 4 * kHardCoded) {
    return proof("no memory holds so few layers and no more", claim.line);
  }
  return std::nullopt;
}

const ModelFile* model_of(const CauseEvidence& e) {
  return e.run != nullptr && e.run->raw.model ? &*e.run->raw.model : nullptr;
}

/// Compute memory on a card that holds no weights: the backend was there, and nobody asked for it.
bool device_at_hand(const CauseEvidence& e) {
  if (e.hardware_listed()) return true;
  return std::ranges::any_of(e.placement.devices, [](const DeviceAccount& device) {
    return device.kind == DeviceKind::hardware_gpu && device.compute_bytes.value_or(0) > 0;
  });
}

}  // namespace

std::optional<Cause> load_failed_oom(const CauseEvidence& e) {
  if (e.load == nullptr || !e.load->failure) return std::nullopt;
  const bool memory = e.event(LogEventKind::allocation_failed) != nullptr ||
                      lower(*e.load->failure).contains("out of memory") ||
                      lower(*e.load->failure).contains("unable to allocate");
  if (!memory || e.placement.shape != Shape::unknown) return std::nullopt;
  return cause("load_failed_oom", "out of device memory: the model was not loaded",
               proof(*e.load->failure, e.load->last_line));
}

std::optional<Cause> fit_overflow(const CauseEvidence& e) {
  if (e.placement.shape != Shape::partial || !e.log.fit || e.log.fit->rows.empty()) {
    return std::nullopt;
  }
  const int layers = e.log.fit->rows.back().overflowing;
  if (layers == 0 || e.claims_some()) return std::nullopt;
  return cause("fit_overflow_to_host",
               fmt::format("the memory fit left parts of {} layers on the host", layers),
               proof("the fit's plan", e.log.fit->line));
}

std::optional<Cause> experts_overridden(const CauseEvidence& e) {
  if (e.placement.shape != Shape::partial || e.load == nullptr) return std::nullopt;
  const std::int64_t experts = overridden(*e.load, true);
  if (experts == 0) return std::nullopt;
  return cause("moe_experts_on_cpu",
               fmt::format("{} expert tensors were sent to the host", experts),
               proof("the log's override lines", e.load->overrides.front().line));
}

std::optional<Cause> tensors_overridden(const CauseEvidence& e) {
  if (e.placement.shape != Shape::partial || e.load == nullptr) return std::nullopt;
  const std::int64_t moved = overridden(*e.load, false);
  if (moved == 0) return std::nullopt;
  return cause("tensor_override_to_host",
               fmt::format("{} tensors were overridden to the host", moved),
               proof("the log's override lines", e.load->overrides.front().line));
}

std::optional<Cause> vram_too_small(const CauseEvidence& e) {
  const LogEvent* failed = e.event(LogEventKind::allocation_failed);
  if (!e.claims_some() && !e.claims_none()) {
    // A front end that planned no layer says why.
    if (!e.nothing_on_gpu) return std::nullopt;
    if (failed != nullptr && failed->subject == "plan") {
      return cause("vram_too_small", "the front end found no room for a layer", proof(*failed));
    }
    const std::optional<OffloadPlan>& plan = e.log.plan;
    if (!plan || !planned_none_on_gpu(*plan)) return std::nullopt;
    return cause("vram_too_small", "the front end found no room for a layer",
                 proof("0 layers were planned for " + plan->library, plan->line));
  }
  if (e.claims_none() && zero_for_another_reason(e)) return std::nullopt;
  const LayerClaim claim = e.load->claim.value_or(LayerClaim{});
  const std::string layers = fmt::format("{} of {} layers", claim.on_gpu, claim.total);
  const bool free_choice = !e.settings.gpu_layers || !parse_int(e.settings.gpu_layers->value);
  if (e.log.fit && !e.log.fit->rows.empty() && free_choice) {
    const std::optional<std::int64_t> reduce = e.log.fit->reduce_by_mib;
    return cause("vram_too_small",
                 reduce ? fmt::format("device memory fits {}, {} MiB short of all", layers, *reduce)
                        : fmt::format("device memory fits {}", layers),
                 proof("the fit's plan", e.log.fit->line));
  }
  if (chooses_itself(e)) {
    return cause("vram_too_small", fmt::format("the engine found room for {}", layers),
                 proof("the layers that this engine chose by itself", claim.line));
  }
  if (e.claims_none()) return std::nullopt;
  if (failed != nullptr || fullest(e).value_or(0) >= kNearlyFull) {
    return cause("vram_too_small", fmt::format("device memory is full with {}", layers),
                 failed != nullptr ? proof(*failed)
                                   : fmt::format("{:.0f}% of the free device memory is filled",
                                                 100 * fullest(e).value_or(0)));
  }
  return std::nullopt;
}

std::optional<Cause> none_selected(const CauseEvidence& e) {
  if (!e.nothing_on_gpu || !e.claims_all() || !e.hardware_listed()) return std::nullopt;
  if (!e.load->devices.empty()) return std::nullopt;
  if (e.placement.shape == Shape::software_device) return std::nullopt;
  return cause("device_none", "a GPU is listed, yet none was selected (--device none)",
               proof("all layers are claimed, and no device was selected", claim_line(e)));
}

std::optional<Cause> ngl_not_set(const CauseEvidence& e) {
  if (!e.claims_none() || !device_at_hand(e) || e.settings.gpu_layers) return std::nullopt;
  if (e.log.engine == "ollama") return std::nullopt;  // it chooses by itself
  // Later builds choose by themselves, in a planning pass.
  if (probe_load(e.log) != nullptr || e.log.fit) return std::nullopt;
  if (e.log.build.value_or(0) >= kAutomaticFit) return std::nullopt;
  return cause("ngl_not_set", "no GPU layers were asked for (0 is this engine's default)",
               proof("0 layers, a GPU at hand, nothing asked for", claim_line(e)));
}

std::optional<Cause> ngl_too_low(const CauseEvidence& e) {
  if (!e.claims_some() || chooses_itself(e)) return std::nullopt;
  // With arguments known, only those can have asked; the flag has its own row.
  if (e.run != nullptr && !e.settings.gpu_layers) return std::nullopt;
  const LayerClaim claim = e.load->claim.value_or(LayerClaim{});
  const std::optional<std::string> known = fewer_asked(e, claim);
  if (!known) return std::nullopt;
  return cause(
      "ngl_too_low",
      fmt::format("only {} of {} layers were asked for or allowed", claim.on_gpu, claim.total),
      *known);
}

/// Another context would have left room for all layers: its cache takes more than they need.
std::optional<Cause> context_too_large(const CauseEvidence& e) {
  constexpr std::int64_t kModestContext = 4096;
  if (!e.claims_some() || !e.load->n_ctx || *e.load->n_ctx <= kModestContext) return std::nullopt;
  const std::optional<std::int64_t> missing = left_out_bytes(e);
  std::int64_t cache = 0;
  for (const DeviceAccount& device : e.placement.devices) {
    if (device.kind == DeviceKind::hardware_gpu) cache += device.kv_bytes.value_or(0);
  }
  const double saved = static_cast<double>(cache) * (1 - static_cast<double>(kModestContext) /
                                                             static_cast<double>(*e.load->n_ctx));
  if (!missing || saved < static_cast<double>(*missing)) return std::nullopt;
  return cause(
      "context_too_large",
      fmt::format("the cache of a context of {} takes {}", *e.load->n_ctx, format_bytes(cache)),
      fmt::format("the layers left out need {}, a context of {} would free {}",
                  format_bytes(*missing), kModestContext,
                  format_bytes(static_cast<std::int64_t>(saved))));
}

/// What was in use on the device before the load would have been enough for the rest.
std::optional<Cause> taken_by_others(const CauseEvidence& e) {
  // A screen and the drivers' own contexts take about that much everywhere.
  constexpr std::int64_t kUsual = std::int64_t{1} << 30;
  if (!e.claims_some() && !e.claims_none()) return std::nullopt;
  if (e.claims_none() && !chooses_itself(e)) return std::nullopt;
  if (e.settings.gpu_layers && parse_int(e.settings.gpu_layers->value).value_or(-1) >= 0) {
    return std::nullopt;
  }
  const std::optional<std::int64_t> missing = left_out_bytes(e);
  for (const Device& device : e.log.devices) {
    if (device.kind != DeviceKind::hardware_gpu || device.integrated.value_or(false)) continue;
    if (!device.total_bytes || !device.free_bytes) continue;
    const std::int64_t taken = *device.total_bytes - *device.free_bytes;
    if (!missing || taken < kUsual || taken - kUsual / 2 < *missing) continue;
    return cause(
        "vram_taken_by_others",
        fmt::format("others held {} of {} before the load", format_bytes(taken), device.name),
        fmt::format("{} of {} was free, and {} more was needed", format_bytes(*device.free_bytes),
                    format_bytes(*device.total_bytes), format_bytes(*missing)));
  }
  return std::nullopt;
}

/// A main load that failed for memory, and one after it with less on the device.
std::optional<Cause> retry_after_oom(const CauseEvidence& e) {
  if (e.load == nullptr || e.load->failure || !(e.claims_some() || e.claims_none())) {
    return std::nullopt;
  }
  const int now = e.load->claim.value_or(LayerClaim{}).on_gpu;
  std::optional<Cause> found;
  for (const Load& load : e.log.loads) {
    if (&load == e.load) break;
    const std::string failure = load.failure.value_or("");
    const int before = load.claim.value_or(LayerClaim{}).on_gpu;
    const std::string words = lower(failure);
    const bool memory = words.contains("out of memory") || words.contains("allocate");
    if (load.role != LoadRole::main || !memory || before <= now) continue;
    found = cause("retry_after_oom",
                  fmt::format("{} layers ran out of memory, {} were loaded then", before, now),
                  proof(failure, load.last_line));
  }
  return found;
}

std::optional<Cause> kv_on_host(const CauseEvidence& e) {
  if (!e.some_on_gpu || e.placement.kv_on != KvPlace::cpu) return std::nullopt;
  return cause("kv_cache_on_host", "the KV cache was kept in host memory",
               "the cache's buffer lines");
}

std::optional<Cause> flash_attention_kv(const CauseEvidence& e) {
  if (!e.some_on_gpu || e.load == nullptr) return std::nullopt;
  const std::string& k = e.load->kv_type_k;
  const std::string& v = e.load->kv_type_v;
  const bool odd = uncommon_kv(k) || uncommon_kv(v) || (!k.empty() && !v.empty() && k != v);
  const bool elsewhere =
      e.load->flash_attention_on_cpu ||
      (e.load->splits &&
       shape_of(*e.load->splits, 1, e.placement.layers_total) == SplitShape::bouncing);
  if (!odd || !elsewhere || e.load->flash_attention == false) return std::nullopt;
  return cause("flash_attn_unsupported_kv_type",
               fmt::format("no GPU kernel for attention on KV types {}/{}", k, v),
               e.load->splits ? proof("graph splits at every layer", e.load->splits->line)
                              : "the attention's tensor was assigned to the CPU");
}

/// Not a fault: the engine saw that the operation would land on the CPU, and took another.
std::optional<Cause> flash_attention_off(const CauseEvidence& e) {
  const LogEvent* found = e.event(LogEventKind::flash_attention_off);
  if (found == nullptr || e.placement.shape != Shape::gpu) return std::nullopt;
  return cause("flash_attn_auto_off", "no flash attention here; plain attention, on the GPU",
               proof(*found));
}

std::optional<Cause> head_on_host(const CauseEvidence& e) {
  const ModelFile* model = model_of(e);
  if (model == nullptr || !model->tied_output || !e.claims_all() || !e.placement.missing_bytes) {
    return std::nullopt;
  }
  const double missing = static_cast<double>(*e.placement.missing_bytes);
  const double head = static_cast<double>(model->token_embd_bytes);
  // Little more than the head: other tensors would have to be explained too.
  if (missing < 0.99 * head || missing > 1.01 * head) return std::nullopt;
  return cause(
      "output_head_on_host", "the output head (the embedding) stayed on the CPU",
      fmt::format("{} is missing on the device, the head has {}",
                  format_bytes(*e.placement.missing_bytes), format_bytes(model->token_embd_bytes)));
}

std::optional<Cause> kept_on_host(const CauseEvidence& e) {
  // Up to a fifth can be the embedding, which is on the host anyway.
  if (!full_claim_mostly_host(e, 0.8) || !common_backend(e)) return std::nullopt;
  // With the header at hand a dense model has no experts to blame.
  if (model_of(e) != nullptr && model_of(e)->expert_count.value_or(0) == 0) return std::nullopt;
  return cause(
      "moe_experts_on_cpu", "tensors inside the layers were kept on the host (experts?)",
      proof("all layers are claimed, and part of their bytes is on the host", claim_line(e)),
      "look for --n-cpu-moe, --cpu-moe or -ot in its start");
}

std::optional<Cause> type_unsupported(const CauseEvidence& e) {
  if (!full_claim_mostly_host(e, 0.6) || common_backend(e)) return std::nullopt;
  const std::string type = e.load->file_type.empty() ? "this type" : e.load->file_type;
  return cause(
      "backend_type_unsupported", "the backend has no kernels for weights of " + type,
      proof("all layers are claimed, and few of their bytes are on the device", claim_line(e)));
}

std::optional<Cause> draft_on_cpu(const CauseEvidence& e) {
  if (e.placement.shape != Shape::gpu || !side_model_on_cpu(e, LoadRole::draft))
    return std::nullopt;
  return cause("draft_model_on_cpu", "the draft model runs on the CPU", "its load's own lines");
}

std::optional<Cause> projector_on_cpu(const CauseEvidence& e) {
  if (e.placement.shape != Shape::gpu || !side_model_on_cpu(e, LoadRole::projector)) {
    return std::nullopt;
  }
  return cause("mmproj_on_cpu", "the image projector runs on the CPU", "its load's own lines");
}

std::optional<Cause> vram_overcommit(const CauseEvidence& e) {
  if (!e.some_on_gpu || e.load == nullptr) return std::nullopt;
  constexpr std::string_view kId = "vram_overcommit";
  if (const LogEvent* found = e.event(LogEventKind::memory_overcommit)) {
    return cause(kId, "more device memory in use than its working set", proof(*found));
  }
  if (const MemoryRow* row = overbooked_row(*e.load)) {
    return cause(kId,
                 fmt::format("{} is overbooked by {} MiB", row->name, -row->free_mib.value_or(0)),
                 proof("the memory table", row->line));
  }
  if (const std::optional<double> share = fullest(e); share && *share > 1) {
    return cause(kId, "more was put on the device than it had free",
                 fmt::format("{:.0f}% of the free device memory", 100 * *share));
  }
  if (e.run != nullptr) {
    for (const GpuUse& use : e.run->gpu_use) {
      if (!overflowed(use)) continue;
      return cause(kId,
                   fmt::format("the driver pushed {} out of the GPU's memory",
                               format_bytes(use.tree_evicted.value_or(0))),
                   "the GPU's meter");
    }
  }
  return std::nullopt;
}

std::optional<Cause> lacks_evidence(const CauseEvidence& e) {
  if (e.placement.shape != Shape::unknown && e.placement.shape != Shape::remote)
    return std::nullopt;
  if (e.load != nullptr && e.load->failure) return std::nullopt;
  if (e.placement.shape == Shape::remote) {
    // Beside a GPU of this machine the log tells much; what it lacks is in `suspicion`.
    if (e.some_on_gpu) return std::nullopt;
    return cause("log_lacks_evidence", "a remote worker holds the weights; its device is not shown",
                 "the weights' buffer lines", "read the worker's own log: it names its backend");
  }
  return cause("log_lacks_evidence", "the log has no line that tells where the weights are",
               "no line of buffers, layers or memory");
}

}  // namespace picchio
