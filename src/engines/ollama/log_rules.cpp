// ollama: a Go server that starts runners (llama.cpp programs, or its own engine) and logs through
// slog: `time=... level=INFO source=file.go:12 msg="..." key=value`. It plans a placement, starts a
// runner, and the runner's own lines follow on the same stream. The plan is a request; what counts
// is what the runner printed, and before 0.5.8 which runner was started.
#include "engines/log_rules.h"

#include "base/text.h"
#include "engines/log_devices.h"
#include "engines/log_text.h"

#include <algorithm>
#include <charconv>

namespace picchio {
namespace {

bool is_slog(const LogLine& line) { return line.text.starts_with("time="); }

std::optional<int> int_of(std::string_view line, std::string_view key) {
  const auto text = slog_value(line, key);
  const auto value = text ? parse_int(*text) : std::nullopt;
  if (!value || *value < -1 || *value > 1'000'000) return std::nullopt;
  return static_cast<int>(*value);
}

// "6.6 GiB", "0 B"
std::optional<std::int64_t> size_of(std::string_view text) {
  const auto value = take_double(text);
  text = trim(text);
  if (!value || *value < 0) return std::nullopt;
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"B", 1.0 / 1048576.0}, {"KiB", 1.0 / 1024.0}, {"MiB", 1}, {"GiB", 1024}, {"TiB", 1048576}};
  for (const auto& [unit, mib] : kUnits) {
    if (text == unit) return bytes_of_mib(*value * mib);
  }
  return std::nullopt;
}

bool mark_ollama(LogState& state, const LogLine&, const Found&) {
  state.ollama = true;
  return false;
}

// `msg="Listening on 127.0.0.1:11434 (version 0.12.6)"`: another process starts here, unless its
// configuration, which is printed just before, has said so already
bool read_listening(LogState& state, const LogLine& line, const Found& found) {
  if (!is_slog(line) && !found.head.empty()) return false;
  state.ollama = true;
  constexpr int kStartLines = 60;
  if (state.config_line == 0 || line.number - state.config_line > kStartLines) {
    state.restart_process(line.number);
  }
  if (const auto version = between(found.rest, "(version ", ")")) {
    state.log.version = std::string(*version);
  }
  return false;
}

// 0.1.45-0.5.11 `msg="offload to cuda" layers.requested=-1 layers.model=33 layers.offload=33 ...`
// 0.5.12-0.12.10 `msg=offload library=cuda layers.requested=-1 layers.model=33 layers.offload=33
// ...` 0.1.32-0.1.44 `msg="offload to gpu" reallayers=33 layers=33 required=... `
bool read_plan(LogState& state, const LogLine& line, const Found& found) {
  if (!is_slog(line)) return false;
  OffloadPlan plan;
  plan.line = line.number;
  if (found.rule->marker.ends_with("to ")) {
    plan.library = std::string(found.rest.substr(0, found.rest.find('"')));
  } else {
    plan.library = slog_value(line.text, "library").value_or("");
  }
  plan.requested = int_of(line.text, "layers.requested");
  plan.model_layers = int_of(line.text, "layers.model");
  plan.offload = int_of(line.text, "layers.offload");
  if (!plan.offload) plan.offload = int_of(line.text, "reallayers");
  if (!plan.offload) plan.offload = int_of(line.text, "layers");
  if (!plan.offload) return false;
  state.log.plan = plan;
  return false;
}

// 0.11.5-0.24 `msg="loading model" "model layers"=25 requested=-1`
bool read_loading(LogState& state, const LogLine& line, const Found&) {
  OffloadPlan plan;
  plan.line = line.number;
  plan.model_layers = int_of(line.text, "model layers");
  plan.requested = int_of(line.text, "requested");
  if (plan.model_layers) state.log.plan = plan;
  return false;
}

// `msg=load request="{Operation:commit ... GPULayers:37[ID:GPU-.. Layers:37(3..39)] ...}"`; an
// empty number: none on a GPU
bool read_load_request(LogState& state, const LogLine& line, const Found& found) {
  const std::string_view operation = found.rest.substr(0, found.rest.find(' '));
  if (operation == "close") return false;
  const std::size_t at = found.rest.find("GPULayers:");
  if (at == std::string_view::npos) return false;
  std::string_view rest = found.rest.substr(at + 10);
  const auto layers = take_int(rest);
  if (!state.log.plan) state.log.plan.emplace();
  state.log.plan->offload =
      static_cast<int>(std::clamp<std::int64_t>(layers.value_or(0), 0, 1'000'000));
  state.log.plan->line = line.number;
  return false;
}

// The runner's folder in its command is the backend it was built for: ".../runners/cpu_avx2/...".
void read_runner(LogState& state, const LogLine& line, std::string_view command) {
  const std::size_t at = command.find("runners/");
  if (at == std::string_view::npos) return;
  const std::string_view folder = command.substr(at + 8, command.find('/', at + 8) - at - 8);
  const std::string_view backend = backend_of_library(folder);
  if (folder.starts_with("cpu")) {
    state.event(LogEventKind::cpu_runner, folder, readable(line.text), line.number);
  } else if (!backend.empty()) {
    state.event(LogEventKind::backend_loaded, backend, command, line.number);
  }
}

// `msg="starting llama server" cmd="/tmp/ollama.../runners/cpu_avx2/ollama_llama_server --model
// ..."` `msg="starting llama-server" cmd="/usr/lib/ollama/llama-server --model ..."`           0.30
// on `msg="starting runner" cmd="/usr/bin/ollama runner --ollama-engine ..."`               0.11 on
bool read_start(LogState& state, const LogLine& line, const Found&) {
  state.ollama = true;
  // Only the last runner counts; what an earlier one was built for no longer matters.
  state.forget_events(
      {LogEventKind::cpu_runner, LogEventKind::not_compiled_for_gpu, LogEventKind::no_usable_gpu});
  state.end_fit();
  state.next_process();
  state.start_load(LoadRole::main, line.number);
  const auto command = slog_value(line.text, "cmd");
  if (!command) return false;
  read_runner(state, line, *command);
  if (command->contains("--model-draft ") || command->contains(" -md ")) state.draft_hint = true;
  // The path ends at the next flag: it may hold blanks.
  const std::size_t at = command->find("--model ");
  if (at == std::string::npos) return false;
  const std::string_view path = std::string_view(*command).substr(at + 8);
  state.load(line.number).model_path = std::string(trim(path.substr(0, path.find(" --"))));
  return false;
}

// 0.1.x `llama.go:313: starting llama runner`, `llama.go:100: 8000 MB VRAM available, loading up to
// 33 GPU layers`
bool read_early_start(LogState& state, const LogLine& line, const Found&) {
  state.ollama = true;
  state.next_process();
  state.start_load(LoadRole::main, line.number);
  return false;
}

bool read_early_plan(LogState& state, const LogLine& line, const Found& found) {
  std::string_view rest = found.rest;
  const auto layers = take_int(rest);
  if (!layers || *layers < 0 || *layers > 100'000) return false;
  OffloadPlan plan;
  plan.offload = static_cast<int>(*layers);
  plan.line = line.number;
  state.log.plan = plan;
  return false;
}

// `msg="offloading 24 repeating layers to GPU"` begins a block of the Go engine. At DEBUG one is
// printed per attempt; the last one before the runner starts holds.
bool read_go_block(LogState& state, const LogLine& line, const Found&) {
  if (!is_slog(line)) return false;
  Load& load = state.load(line.number);
  load.buffers.clear();
  load.claim.reset();
  state.notes(line.number).body = true;
  return false;
}

// `msg="model weights" device=CUDA0 size="11.8 GiB"`   `buffer=CUDA0` in 0.6.0-0.11.4
// `msg="kv cache" device=CPU size="1.8 GiB"`
// `msg="compute graph" backend=CUDA0 buffer_type=CUDA0 size="0 B"`   `device=` since 0.11.5
template <BufferUse Use>
bool read_go_buffer(LogState& state, const LogLine& line, const Found&) {
  if (!is_slog(line)) return false;
  const auto size = slog_value(line.text, "size");
  if (!size) return false;  // "compute graph" nodes= splits=
  auto name = slog_value(line.text, "device");
  if (!name) name = slog_value(line.text, "buffer");
  if (!name) name = slog_value(line.text, "buffer_type");
  const auto bytes = size_of(*size);
  if (!name || name->empty() || !bytes) {
    state.note(line.number, line.text);
    return false;
  }
  const BufferPlace place = place_of_buffer(*name);
  Load& load = state.load(line.number);
  // Not add_buffer: the block is replaced as a whole, and zero sizes are no sign of a planning
  // pass.
  constexpr std::size_t kMaxBuffers = 1000;  // one a device and use
  if (load.buffers.size() >= kMaxBuffers) return false;
  load.buffers.push_back({*name, place.device, place.kind, Use, *bytes, false, false, line.number});
  state.notes(line.number).body = true;
  state.log.has_placement_lines = true;
  return false;
}

// `msg="compute graph" nodes=1445 splits=325`: once for the batch, then once for a single token
bool read_go_graph(LogState& state, const LogLine& line, const Found&) {
  if (!is_slog(line)) return false;
  const auto splits = int_of(line.text, "splits");
  if (!splits) return false;
  state.log.has_placement_lines = true;
  auto& graph = state.load(line.number).splits;
  if (graph && !graph->decode) {
    graph->decode = *splits;
    return false;
  }
  graph = GraphSplits{*splits, std::nullopt, std::nullopt, line.number, false};
  if (const auto nodes = int_of(line.text, "nodes")) graph->nodes = *nodes;
  return false;
}

// 0.1.35-0.12.3 `msg="inference compute" id=GPU-uuid library=cuda ... name="NVIDIA GeForce RTX
// 4070" total=...` 0.12.4 on     `... library=CUDA ... name=CUDA0 description="NVIDIA ..." ...
// type=discrete total=...`
bool read_compute(LogState& state, const LogLine& line, const Found&) {
  const auto library = slog_value(line.text, "library");
  if (!is_slog(line) || !library) return false;
  if (lower(*library) == "cpu") {
    state.event(LogEventKind::no_gpu_discovered, "cpu", readable(line.text), line.number);
    return false;
  }
  state.forget_events({LogEventKind::no_gpu_discovered});
  auto name = slog_value(line.text, "name");
  auto description = slog_value(line.text, "description");
  if (!description) {
    // The old form knows the card's name only; ggml numbers cards of one backend from 0.
    description = name;
    const std::string backend(backend_of_library(*library));
    const auto same = std::ranges::count_if(state.log.devices, [&backend](const Device& device) {
      return backend_of(device.name) == backend;
    });
    name = (backend.empty() ? *library : backend) + std::to_string(same);
  }
  if (!name || name->empty()) return false;
  Device& device = state.device(*name, line.number);
  state.describe(device, description.value_or(""));
  if (const auto type = slog_value(line.text, "type")) {
    if (*type == "iGPU" || *type == "discrete") device.integrated = *type == "iGPU";
  }
  if (const auto total = slog_value(line.text, "total")) device.total_bytes = size_of(*total);
  if (const auto free = slog_value(line.text, "available")) device.free_bytes = size_of(*free);
  return false;
}

// `msg="entering low vram mode" "total vram"="0 B"`, `msg="vram-based default context"
// total_vram="0 B"`
bool read_total_vram(LogState& state, const LogLine& line, const Found& found) {
  if (found.rest.starts_with("\"0 B\"")) {
    state.event(LogEventKind::no_gpu_discovered, "", readable(line.text), line.number);
  }
  return false;
}

// `msg="Dynamic LLM libraries" runners="[cpu cpu_avx cpu_avx2]"`: what can be started at all
bool read_runners(LogState& state, const LogLine& line, const Found& found) {
  const auto list = between(found.rest, "[", "]");
  if (!list) return false;
  const auto names = split_blanks(*list);
  const bool host_only = !names.empty() && std::ranges::all_of(names, [](std::string_view name) {
    return name.starts_with("cpu");
  });
  if (host_only) {
    state.event(LogEventKind::backend_load_failed, "", readable(line.text), line.number);
  }
  return false;
}

constexpr std::string_view kMasks[] = {"CUDA_VISIBLE_DEVICES",    "HIP_VISIBLE_DEVICES",
                                       "ROCR_VISIBLE_DEVICES",    "GPU_DEVICE_ORDINAL",
                                       "GGML_VK_VISIBLE_DEVICES", "ONEAPI_DEVICE_SELECTOR",
                                       "ZE_AFFINITY_MASK"};

// `msg="server config" env="map[CUDA_VISIBLE_DEVICES:-1 GPU_DEVICE_ORDINAL: ...]"`
bool read_config(LogState& state, const LogLine& line, const Found&) {
  const auto env = slog_value(line.text, "env");
  if (!env) return false;
  state.restart_process(line.number);
  state.config_line = line.number;
  const auto value_of = [&env](std::string_view name) -> std::string_view {
    const std::size_t at = env->find(std::string(name) + ":");
    if (at == std::string::npos || (at > 0 && (*env)[at - 1] != '[' && (*env)[at - 1] != ' '))
      return {};
    const std::string_view rest = std::string_view(*env).substr(at + name.size() + 1);
    return rest.substr(0, rest.find_first_of(" ]"));
  };
  for (const std::string_view name : kMasks) {
    const std::string_view value = value_of(name);
    if (value.empty()) continue;
    state.event(LogEventKind::device_masked, name, std::string(name) + "=" + std::string(value),
                line.number);
  }
  if (const auto library = value_of("OLLAMA_LLM_LIBRARY"); !library.empty()) {
    state.event(LogEventKind::library_override, "OLLAMA_LLM_LIBRARY",
                "OLLAMA_LLM_LIBRARY=" + std::string(library), line.number);
  }
  return false;
}

// 0.13.0 on `msg="user overrode visible devices" CUDA_VISIBLE_DEVICES=-1`
bool read_overrode(LogState& state, const LogLine& line, const Found& found) {
  std::string_view rest = found.rest;
  take_prefix(rest, "\"");
  rest = trim(rest);
  const std::string_view name = rest.substr(0, rest.find('='));
  state.event(LogEventKind::device_masked, name, readable(line.text), line.number);
  return false;
}

// 0.5.8-0.11.4 `msg="compatible gpu libraries" compatible=[]`, DEBUG
bool read_compatible(LogState& state, const LogLine& line, const Found& found) {
  if (found.rest.starts_with("[]")) {
    state.event(LogEventKind::backend_load_failed, "", readable(line.text), line.number);
  }
  return false;
}

// 0.6-0.11 `msg=system CPU.0.SSE3=1 ... CUDA.0.ARCHS=500,...`: backends of the Go engine
bool read_system(LogState& state, const LogLine& line, const Found& found) {
  if (!is_slog(line)) return false;
  std::string names;
  std::vector<std::string_view> known;
  for (const std::string_view word : split_blanks(found.rest)) {
    const std::size_t dot = word.find('.');
    if (dot == std::string_view::npos || !word.contains('=')) continue;
    const std::string_view name = word.substr(0, dot);
    if (std::ranges::find(known, name) != known.end()) continue;
    known.push_back(name);
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  if (!names.empty()) state.log.backends = names;
  return false;
}

constexpr LineRule kRules[] = {
    {"source=routes.go:", mark_ollama},
    {"source=server.go:", mark_ollama},
    {"source=types.go:", mark_ollama},
    {"source=sched.go:", mark_ollama},
    {"source=ggml.go:", mark_ollama},
    {"source=device.go:", mark_ollama},
    {"source=gpu.go:", mark_ollama},
    {"source=runner.go:", mark_ollama},
    {"source=memory.go:", mark_ollama},
    {"source=llama_server.go:", mark_ollama},
    {" ollama[", mark_ollama},
    {"llama.go:", mark_ollama},
    {"Listening on ", read_listening},
    {"msg=offload", read_plan},
    {"msg=\"offload to ", read_plan},
    {"\"model layers\"=", read_loading},
    {"request=\"{Operation:", read_load_request},
    {"starting llama server\"", read_start},
    {"starting llama-server\"", read_start},
    {"starting runner\"", read_start},
    {"starting llama runner", read_early_start},
    {"VRAM available, loading up to ", read_early_plan},
    {"msg=\"offloading ",
     [](LogState& state, const LogLine& line, const Found& found) {
       return found.rest.contains(" repeating layers") ? read_go_block(state, line, found) : false;
     }},
    {"msg=\"model weights\"", read_go_buffer<BufferUse::weights>},
    {"msg=\"kv cache\"", read_go_buffer<BufferUse::kv>},
    {"msg=\"compute graph\"",
     [](LogState& state, const LogLine& line, const Found& found) {
       return read_go_buffer<BufferUse::compute>(state, line, found) ||
              read_go_graph(state, line, found);
     }},
    {"msg=\"inference compute\"", read_compute},
    {"\"total vram\"=", read_total_vram},
    {"total_vram=", read_total_vram},
    {"Dynamic LLM libraries", read_runners},
    {"msg=\"server config\"", read_config},
    {"user overrode visible devices", read_overrode},
    {"compatible gpu libraries\" compatible=", read_compatible},
    {"msg=system ", read_system},
};

}  // namespace

std::span<const LineRule> ollama_rules() { return kRules; }

}  // namespace picchio
