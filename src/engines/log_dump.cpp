#include "engines/log_dump.h"

#include <fmt/format.h>

#include <array>

namespace picchio {
namespace {

constexpr std::array kRoles = {"main", "probe", "draft", "projector"};
constexpr std::array kUses = {"weights", "kv", "recurrent", "compute", "output"};
constexpr std::array kKinds = {
    "backend_loaded",    "backend_load_failed",    "backend_init_failed", "no_devices_found",
    "no_usable_gpu",     "not_compiled_for_gpu",   "software_device",     "device_masked",
    "device_permission", "driver_library_missing", "driver_failed",       "gpu_unsupported",
    "gpu_dropped",       "allocation_failed",      "load_failed",         "memory_overcommit",
    "remote_is_cpu",     "remote_is_gpu",          "library_override",    "gpu_layers_asked",
    "cpu_runner",        "no_gpu_discovered",      "memory_guard",        "flash_attention_off",
    "engine_error"};

template <class T>
std::string shown(const char* name, const std::optional<T>& value) {
  return value ? fmt::format(" {}={}", name, *value) : std::string();
}

std::string shown(const char* name, const std::string& value) {
  return value.empty() ? std::string() : fmt::format(" {}={}", name, value);
}

double mib(std::int64_t bytes) { return static_cast<double>(bytes) / 1048576.0; }

template <class Enum>
std::size_t at(Enum value) {
  return static_cast<std::size_t>(value);
}

std::string dump_load(const Load& load) {
  std::string out =
      fmt::format("load {} lines {}-{}", kRoles.at(at(load.role)), load.first_line, load.last_line);
  out += shown("path", load.model_path);
  if (load.claim) out += fmt::format(" claim={}/{}", load.claim->on_gpu, load.claim->total);
  if (load.splits) {
    out += fmt::format(" splits={}", load.splits->prefill) + shown("decode", load.splits->decode) +
           shown("nodes", load.splits->nodes);
  }
  out += shown("weight_bytes", load.weight_bytes) + shown("parameters", load.parameters) +
         shown("name", load.model_name) + shown("type", load.file_type) +
         shown("n_layer", load.n_layer) + shown("n_vocab", load.n_vocab) +
         shown("n_embd", load.n_embd) + shown("n_ctx", load.n_ctx) +
         shown("n_ctx_train", load.n_ctx_train) + shown("k", load.kv_type_k) +
         shown("v", load.kv_type_v) + shown("flash", load.flash_attention);
  if (load.flash_attention_on_cpu) out += " flash_on_cpu";
  if (!load.mmap) out += " no_mmap";
  if (!load.layers.empty()) out += fmt::format(" layers={}", load.layers.size());
  if (!load.kv_layers.empty()) out += fmt::format(" kv_layers={}", load.kv_layers.size());
  if (!load.overrides.empty()) out += fmt::format(" overrides={}", load.overrides.size());
  for (const std::string& device : load.devices) out += " uses=" + device;
  for (const std::string& op : load.refused_ops) out += " refused=" + op;
  out += '\n';
  if (load.failure) out += fmt::format("  failure: {}\n", *load.failure);
  for (const BufferLine& buffer : load.buffers) {
    out += fmt::format("  {} {} on {} ({}): {:.2f} MiB{}{}\n", kUses.at(at(buffer.use)),
                       buffer.buffer, buffer.device, name_of(buffer.kind), mib(buffer.bytes),
                       buffer.copy ? " copy" : "", buffer.mapped ? " mapped" : "");
  }
  for (const MemoryRow& row : load.breakdown) {
    out += fmt::format("  row {} '{}': self {} model {} context {} compute {}", row.name,
                       row.description, row.self_mib, row.model_mib, row.context_mib,
                       row.compute_mib) +
           shown("total", row.total_mib) + shown("free", row.free_mib) +
           shown("unaccounted", row.unaccounted_mib) + '\n';
  }
  return out;
}

std::string dump_fit(const FitFacts& fit) {
  std::string out = "fit" + shown("projected", fit.projected_mib) +
                    shown("available", fit.available_mib) + shown("reduce", fit.reduce_by_mib) +
                    shown("succeeded", fit.succeeded) + shown("failure", fit.failure);
  if (fit.context_cut) {
    out += fmt::format(" context={}->{}", fit.context_cut->first, fit.context_cut->second);
  }
  out += '\n';
  for (const FitRow& row : fit.rows) {
    out += fmt::format("  {}: {} layers, {} overflowing, {} MiB used, {} MiB free\n", row.device,
                       row.layers, row.overflowing, row.used_mib, row.free_mib);
  }
  return out;
}

std::string dump_timings(const EngineTimings& t) {
  return "timings" + shown("load_ms", t.load_ms) + shown("prompt_ms", t.prompt_ms) +
         shown("prompt_tokens", t.prompt_tokens) + shown("eval_ms", t.eval_ms) +
         shown("eval_runs", t.eval_runs) + shown("total_ms", t.total_ms) +
         (t.prefill_tokens_per_second ? fmt::format(" prefill={:.2f}", *t.prefill_tokens_per_second)
                                      : "") +
         (t.decode_tokens_per_second ? fmt::format(" decode={:.2f}", *t.decode_tokens_per_second)
                                     : "") +
         '\n';
}

}  // namespace

std::string dump(const EngineLog& log) {
  std::string out =
      fmt::format("engine {} {}{}\n", log.engine, log.version, shown("build", log.build));
  for (const Device& device : log.devices) {
    out += fmt::format("device {} '{}' {}{}{}", device.name, device.description,
                       name_of(device.kind), device.selected ? " selected" : "",
                       device.kind_reason.empty() ? "" : " because " + device.kind_reason) +
           shown("integrated", device.integrated) + shown("total", device.total_bytes) +
           shown("free", device.free_bytes) + '\n';
  }
  for (const Load& load : log.loads) out += dump_load(load);
  if (log.fit) out += dump_fit(*log.fit);
  if (log.plan) {
    out += "plan" + shown("requested", log.plan->requested) +
           shown("model", log.plan->model_layers) + shown("offload", log.plan->offload) +
           shown("library", log.plan->library) + '\n';
  }
  for (const EngineTimings& timings : log.timings) out += dump_timings(timings);
  const Sampling& s = log.sampling;
  const std::string sampling = shown("temp", s.temperature) + shown("top_k", s.top_k) +
                               shown("top_p", s.top_p) + shown("min_p", s.min_p) +
                               shown("seed", s.seed);
  if (!sampling.empty()) out += "sampling" + sampling + '\n';
  const std::string rest = shown("threads", log.threads) + shown("cores", log.cores) +
                           shown("backends", log.backends) +
                           shown("cached", log.prompt_tokens_cached);
  if (!rest.empty()) out += "system" + rest + '\n';
  if (log.all_flash_quants) out += "all flash attention quants\n";
  for (const LogEvent& event : log.events) {
    out += fmt::format("event {} [{}] line {}: {}\n", kKinds.at(at(event.kind)), event.subject,
                       event.line, event.text);
  }
  for (const std::string& note : log.notes) out += "note " + note + '\n';
  if (!log.has_placement_lines) out += "no placement lines\n";
  return out;
}

}  // namespace picchio
