#include "engines/log_finish.h"

#include "engines/log_devices.h"

#include <algorithm>
#include <cmath>

namespace picchio {
namespace {

std::int64_t weights_of(const Load& load) {
  std::int64_t sum = 0;
  for (const BufferLine& buffer : load.buffers) {
    if (buffer.use == BufferUse::weights) sum += buffer.bytes;
  }
  return sum;
}

bool has_weights(const Load& load) {
  return std::ranges::any_of(load.buffers,
                             [](const BufferLine& b) { return b.use == BufferUse::weights; });
}

// Loads that read the tokenizer only, and announcements that the real load follows.
void drop_empty_loads(LogState& state) {
  std::vector<Load> loads;
  std::vector<LoadNotes> notes;
  std::size_t last_main = 0;
  for (std::size_t i = 0; i < state.log.loads.size(); ++i) {
    if (state.log.loads[i].role == LoadRole::main) last_main = i;
  }
  for (std::size_t i = 0; i < state.log.loads.size(); ++i) {
    if (state.load_notes[i].vocab_only && !has_weights(state.log.loads[i])) continue;
    const bool bare = state.log.loads[i].role == LoadRole::main && !state.load_notes[i].body &&
                      !state.log.loads[i].failure && state.log.loads[i].breakdown.empty();
    if (bare && i < last_main) continue;
    loads.push_back(std::move(state.log.loads[i]));
    notes.push_back(std::move(state.load_notes[i]));
  }
  state.log.loads = std::move(loads);
  state.load_notes = std::move(notes);
}

void settle_roles(LogState& state) {
  for (std::size_t i = 0; i < state.log.loads.size(); ++i) {
    Load& load = state.log.loads[i];
    const LoadNotes& notes = state.load_notes[i];
    if (load.role == LoadRole::projector || load.role == LoadRole::draft) continue;
    const bool empty_buffers = has_weights(load) && weights_of(load) == 0;
    const bool real = has_weights(load) && weights_of(load) > 0;
    if (notes.side_model || notes.extra_probe) {
      load.role = LoadRole::draft;
    } else if (real) {
      load.role = LoadRole::main;
    } else if (empty_buffers || notes.no_alloc) {
      load.role = LoadRole::probe;
    }
  }
}

// A program with a draft model that gives it no line of its own (llama-speculative): of two loads
// in one process the much smaller one is the draft.
void find_draft(LogState& state) {
  if (!state.draft_hint) return;
  auto& loads = state.log.loads;
  if (std::ranges::any_of(loads, [](const Load& l) { return l.role == LoadRole::draft; })) return;
  std::vector<std::size_t> mains;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    if (loads[i].role == LoadRole::main && !loads[i].failure && weights_of(loads[i]) > 0) {
      mains.push_back(i);
    }
  }
  if (mains.size() < 2) return;
  const std::size_t a = mains[mains.size() - 2];
  const std::size_t b = mains.back();
  if (state.load_notes[a].process != state.load_notes[b].process) return;
  if (weights_of(loads[b]) * 2 < weights_of(loads[a])) loads[b].role = LoadRole::draft;
  if (weights_of(loads[a]) * 2 < weights_of(loads[b])) loads[a].role = LoadRole::draft;
}

void settle_failures(LogState& state) {
  for (std::size_t i = 0; i < state.log.loads.size(); ++i) {
    Load& load = state.log.loads[i];
    if (!load.failure && !state.load_notes[i].pending_failure.empty()) {
      load.failure = state.load_notes[i].pending_failure;
    }
  }
  // An allocation that failed inside a load that then worked was the engine's own second try.
  std::erase_if(state.log.events, [&state](const LogEvent& event) {
    if (event.kind != LogEventKind::allocation_failed || event.subject == "plan") return false;
    return std::ranges::any_of(state.log.loads, [&event](const Load& load) {
      return load.role == LoadRole::main && !load.failure && event.line >= load.first_line &&
             event.line <= load.last_line;
    });
  });
}

// Repacked host weights repeat what a mapped span holds, or are the only copy: in current builds
// the spans leave out what was repacked, in older ones one span covers the file. The sum tells.
void settle_copies(Load& load) {
  std::int64_t others = 0;
  std::int64_t repacked = 0;
  std::size_t spans = 0;
  for (const BufferLine& buffer : load.buffers) {
    if (buffer.use != BufferUse::weights) continue;
    (buffer.copy ? repacked : others) += buffer.bytes;
    if (buffer.buffer == "CPU_Mapped") ++spans;
  }
  if (repacked == 0) return;
  bool repeats = load.mmap && spans == 1;
  if (load.weight_bytes) {
    // "file size = 5.28 GiB" is rounded, and repacking pads rows: 2 % and a little.
    constexpr std::int64_t kSlack = 8LL << 20;
    repeats = others + repacked > *load.weight_bytes + *load.weight_bytes / 50 + kSlack;
  } else if (spans == 0) {
    repeats = false;
  }
  if (repeats) return;
  for (BufferLine& buffer : load.buffers) buffer.copy = false;
}

// Until autumn 2023 the cache had one line without a place; the layer count tells: repeating
// layers, output, V cache, K cache.
void place_early_cache(Load& load, const LoadNotes& notes) {
  const bool has_kv =
      std::ranges::any_of(load.buffers, [](const BufferLine& b) { return b.use == BufferUse::kv; });
  if (!notes.old_forms || !notes.kv_self_bytes || has_kv) return;
  const int short_of_all = load.claim ? load.claim->total - load.claim->on_gpu : 2;
  const bool k_on_gpu = notes.k_cache_on_gpu || (load.claim && short_of_all <= 0);
  const bool v_on_gpu = k_on_gpu || notes.v_cache_on_gpu || (load.claim && short_of_all <= 1);
  for (const bool on_gpu : {k_on_gpu, v_on_gpu}) {
    BufferLine buffer;
    buffer.buffer = on_gpu ? "VRAM" : "CPU";
    buffer.device = buffer.buffer;
    buffer.kind = on_gpu ? DeviceKind::hardware_gpu : DeviceKind::host;
    buffer.use = BufferUse::kv;
    buffer.bytes = *notes.kv_self_bytes / 2;
    buffer.line = notes.kv_self_line;
    load.buffers.push_back(std::move(buffer));
  }
}

void name_metal_device(LogState& state) {
  if (state.metal_line == 0 && !state.metal_bytes) return;
  std::string name = "Metal";
  for (const Load& load : state.log.loads) {
    for (const BufferLine& buffer : load.buffers) {
      if (buffer.device.starts_with("MTL") || buffer.device == "Metal") name = buffer.device;
    }
  }
  for (const Device& device : state.log.devices) {
    if (device.name.starts_with("MTL")) name = device.name;
  }
  Device& device = state.device(name, state.metal_line);
  state.describe(device, state.metal_description);
  if (!device.total_bytes) device.total_bytes = state.metal_bytes;
}

void settle_kinds(LogState& state) {
  for (const Device& device : std::vector<Device>(state.log.devices)) {
    if (device.kind != DeviceKind::software) continue;
    const bool told = std::ranges::any_of(state.log.events, [&device](const LogEvent& event) {
      return event.kind == LogEventKind::software_device && event.subject == device.name;
    });
    if (told) continue;
    state.event(LogEventKind::software_device, device.name,
                device.name + ": " + device.description + " (" + device.kind_reason + ")",
                device.line);
  }
  for (Load& load : state.log.loads) {
    for (BufferLine& buffer : load.buffers) {
      if (buffer.kind != DeviceKind::hardware_gpu) continue;
      const Device* device = find_device(state.log, buffer.device);
      if (device != nullptr) buffer.kind = device->kind;
    }
  }
}

// "device_info:" or "Available devices:" with rows for the CPU only
void settle_device_list(LogState& state) {
  if (state.listed_devices.empty()) {
    if (state.available_line > 0) {
      state.event(LogEventKind::no_devices_found, "device list", "Available devices: none",
                  state.available_line);
    }
    return;
  }
  const bool host_only = std::ranges::all_of(
      state.listed_devices, [](const std::string& name) { return is_host_device(name); });
  if (host_only) {
    state.event(LogEventKind::no_devices_found, "device list", state.listed_text,
                state.listed_line);
  }
}

// A server that was started anew and found no GPU: loads of the process before it are history.
void drop_history(LogState& state) {
  auto& loads = state.log.loads;
  if (state.restart_line == 0 || loads.empty() || loads.back().last_line > state.restart_line)
    return;
  const bool no_gpu = std::ranges::any_of(state.log.events, [](const LogEvent& event) {
    return event.kind == LogEventKind::no_gpu_discovered;
  });
  if (!no_gpu) return;
  loads.clear();
  state.load_notes.clear();
}

bool is_of_ggml(const LogEvent& event) {
  constexpr LogEventKind kKinds[] = {
      LogEventKind::backend_loaded,      LogEventKind::backend_load_failed,
      LogEventKind::backend_init_failed, LogEventKind::no_devices_found,
      LogEventKind::no_usable_gpu,       LogEventKind::not_compiled_for_gpu,
      LogEventKind::software_device,     LogEventKind::gpu_layers_asked};
  return std::ranges::find(kKinds, event.kind) != std::end(kKinds);
}

void name_engine(LogState& state) {
  if (state.ollama) {
    state.log.engine = "ollama";
  } else if (!state.front_end.empty()) {
    state.log.engine = state.front_end;
  } else if (state.log.build || !state.log.loads.empty() || !state.log.timings.empty() ||
             !state.log.devices.empty() || std::ranges::any_of(state.log.events, is_of_ggml)) {
    state.log.engine = "llama.cpp";
  }
  if (state.log.version.empty() && state.log.build && state.log.engine == "llama.cpp") {
    state.log.version = "b" + std::to_string(*state.log.build);
  }
}

}  // namespace

void finish_log(LogState& state) {
  state.end_load();
  drop_empty_loads(state);
  drop_history(state);
  settle_roles(state);
  settle_failures(state);
  find_draft(state);
  for (std::size_t i = 0; i < state.log.loads.size(); ++i) {
    Load& load = state.log.loads[i];
    settle_copies(load);
    place_early_cache(load, state.load_notes[i]);
    // An engine that falls back to plain attention says so; only a forced one stays on the CPU.
    load.flash_attention_on_cpu =
        state.load_notes[i].flash_tensor_on_cpu && load.flash_attention.value_or(false);
  }
  name_metal_device(state);
  settle_kinds(state);
  settle_device_list(state);
  if (state.running_rate && *state.running_rate > 0 && state.log.timings.empty()) {
    EngineTimings running;
    running.decode_tokens_per_second = state.running_rate;
    running.line = state.running_line;
    state.log.timings.push_back(running);
  }
  name_engine(state);
}

}  // namespace picchio
