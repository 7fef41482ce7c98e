#include "base/text.h"
#include "engines/log_rules.h"
#include "engines/log_text.h"

#include <algorithm>

namespace picchio {
namespace {

// "llama_context: n_ctx                 = 4096"; "generate: n_ctx = 4096" is the asked one.
bool read_n_ctx(LogState& state, const LogLine& line, const Found& found) {
  std::string_view rest = trim(found.rest);
  if (!take_prefix(rest, "=")) return false;
  if (!contains_any(found.head, {"llama_context:", "context_with_model:", "init_from_model:",
                                 "init_from_file:", "load_internal:"})) {
    return false;
  }
  const auto value = take_int(rest);
  if (value && *value > 0) state.load(line.number).n_ctx = value;
  return false;
}

// "llama_context: constructing llama_context"                                    2025 on
// A second context of the same model adds to the first, unless the first one failed.
bool read_new_context(LogState& state, const LogLine& line, const Found&) {
  LoadNotes& notes = state.notes(line.number);
  if (!notes.pending_failure.empty()) {
    notes.pending_failure.clear();
    std::erase_if(state.load(line.number).buffers,
                  [](const BufferLine& b) { return b.use != BufferUse::weights; });
  }
  notes.compute_open = false;
  notes.context_line = line.number;
  return false;
}

// "llama_kv_cache: size =  800.00 MiB (  4096 cells,  40 layers,  1/1 seqs), K (f16):  400.00 MiB,
// V (f16):  400.00 MiB" "llama_new_context_with_model: KV self size  =  256.00 MiB, K (f16): 128.00
// MiB, V (f16):  128.00 MiB"
bool read_kv_types(LogState& state, const LogLine& line, const Found& found) {
  Load& load = state.load(line.number);
  load.kv_type_k = std::string(found.rest.substr(0, found.rest.find(')')));
  if (const auto v = between(found.rest, "V (", ")")) load.kv_type_v = std::string(*v);
  return false;
}

// "llama_kv_cache_init: kv_size = 4096, offload = 1, type_k = 'f16', type_v = 'f16', n_layer = 32"
bool read_kv_types_quoted(LogState& state, const LogLine& line, const Found& found) {
  Load& load = state.load(line.number);
  load.kv_type_k = std::string(found.rest.substr(0, found.rest.find('\'')));
  if (const auto v = between(found.rest, "type_v = '", "'")) load.kv_type_v = std::string(*v);
  return false;
}

// "llama_kv_cache: layer   0: dev = CUDA0"                                       DEBUG
bool read_kv_layer(LogState& state, const LogLine& line, const Found& found) {
  const auto number = between(found.head, "layer", ":");
  const std::int64_t layer = number ? parse_int(*number).value_or(-1) : -1;
  std::string_view device = trim(found.rest);
  device = device.substr(0, device.find_first_of(", "));
  if (layer < 0 || layer > 2'000 || device.empty()) return false;
  state.log.has_placement_lines = true;
  auto& layers = state.load(line.number).kv_layers;
  const auto known = std::ranges::find(layers, static_cast<int>(layer), &LayerDevice::layer);
  if (known != layers.end()) {
    known->device = std::string(device);
  } else {
    layers.push_back({static_cast<int>(layer), std::string(device)});
  }
  return false;
}

GraphSplits& splits_of(LogState& state, const LogLine& line) {
  auto& splits = state.load(line.number).splits;
  if (!splits) splits.emplace();
  splits->line = line.number;
  state.log.has_placement_lines = true;
  state.close_compute(line.number);
  return *splits;
}

bool is_ours(const LogLine& line) {
  return !is_projector_line(line.text) && !line.text.starts_with("time=");
}

// "llama_context: graph nodes  = 1366" / "= 1367 (with bs=512), 1366 (with bs=1)"
bool read_nodes(LogState& state, const LogLine& line, const Found& found) {
  const std::size_t equals = found.rest.find('=');
  if (!is_ours(line) || equals == std::string_view::npos) return false;
  std::string_view rest = found.rest.substr(equals + 1);
  state.close_compute(line.number);
  // Kept aside: splits stand on the next line, and without it there is nothing to report.
  state.notes(line.number).graph_nodes = take_int(rest);
  return false;
}

// "llama_context: graph splits = 2" / "= 124 (with bs=512), 3 (with bs=1)"
// "llama_new_context_with_model: graph splits (measure): 3"                      to Mar 2024
bool read_splits(LogState& state, const LogLine& line, const Found& found) {
  const std::size_t at = found.rest.find_first_of("=:");
  if (!is_ours(line) || at == std::string_view::npos) return false;
  std::string_view rest = found.rest.substr(at + 1);
  const auto prefill = take_int(rest);
  if (!prefill || *prefill < 0) {
    state.note(line.number, line.text);
    return false;
  }
  GraphSplits& splits = splits_of(state, line);
  splits.prefill = *prefill;
  splits.measured = found.rest.substr(0, at).contains("(measure)");
  splits.nodes = state.notes(line.number).graph_nodes;
  splits.decode.reset();
  if (const std::size_t comma = rest.find("), "); comma != std::string_view::npos) {
    rest.remove_prefix(comma + 3);
    splits.decode = take_int(rest);
  }
  return false;
}

// "sched_reserve: graph: nodes = 257, splits = 1, input objects = 4, input tensors = 9"
// "sched_reserve: graph (pp bs=512, tg bs=1): nodes = 257 / 257, splits = 50 / 34, input ..."
// b11669
bool read_graph(LogState& state, const LogLine& line, const Found& found) {
  const std::size_t nodes_at = found.rest.find("nodes = ");
  const std::size_t splits_at = found.rest.find("splits = ");
  if (nodes_at == std::string_view::npos || splits_at == std::string_view::npos) return false;
  std::string_view nodes = found.rest.substr(nodes_at + 8);
  std::string_view rest = found.rest.substr(splits_at + 9);
  const auto prefill = take_int(rest);
  if (!prefill || *prefill < 0) {
    state.note(line.number, line.text);
    return false;
  }
  GraphSplits& splits = splits_of(state, line);
  splits.nodes = take_int(nodes);
  splits.prefill = *prefill;
  splits.decode.reset();
  if (take_prefix(rest, " / ")) splits.decode = take_int(rest);
  return false;
}

// "llama_context: flash_attn    = 0|1|disabled|enabled|auto"
bool read_flash_setting(LogState& state, const LogLine& line, const Found& found) {
  std::string_view rest = trim(found.rest);
  if (!take_prefix(rest, "=")) return false;
  rest = trim(rest);
  Load& load = state.load(line.number);
  if (rest == "1" || rest == "enabled") load.flash_attention = true;
  if (rest == "0" || rest == "disabled") load.flash_attention = false;
  return false;
}

// "sched_reserve: Flash Attention was auto, set to enabled|disabled"
// "resolve_fused_ops: Flash Attention enabled" / "Flash Attention not supported, set to disabled"
bool read_flash_result(LogState& state, const LogLine& line, const Found& found) {
  if (is_projector_line(line.text)) return false;
  const std::string_view rest = found.rest;
  if (!contains_any(rest, {"enabled", "disabled"})) return false;
  state.load(line.number).flash_attention = !rest.contains("disabled");
  if (rest.contains("disabled")) {
    state.event(LogEventKind::flash_attention_off, "", readable(line.text), line.number);
  }
  return false;
}

// "llama_init_from_model: enabling flash_attn since it is required for quantized V cache"
bool read_flash_required(LogState& state, const LogLine& line, const Found&) {
  state.load(line.number).flash_attention = true;
  return false;
}

// "llama_context: layer 0 is assigned to device Vulkan0 but the Flash Attention tensor is assigned
// to device CPU (usually due to missing support)"; the other direction (layer on the CPU) is
// harmless.
bool read_tensor_elsewhere(LogState& state, const LogLine& line, const Found& found) {
  const auto operation = between(found.rest, " but the ", " tensor is assigned to device ");
  const std::size_t at = found.rest.find(" tensor is assigned to device ");
  if (!operation || at == std::string_view::npos) return false;
  const std::string_view layer_device = found.rest.substr(0, found.rest.find(' '));
  std::string_view tensor_device = found.rest.substr(at + 30);
  tensor_device = tensor_device.substr(0, tensor_device.find(' '));
  if (layer_device == "CPU" || tensor_device != "CPU") return false;
  if (operation->contains("Flash Attention")) {
    state.notes(line.number).flash_tensor_on_cpu = true;
  } else {
    state.load(line.number).refused_ops.emplace_back(*operation);
  }
  return false;
}

bool reopen_compute(LogState& state, const LogLine& line, const Found&) {
  state.close_compute(line.number);
  return false;
}

constexpr LineRule kRules[] = {
    {"n_ctx ", read_n_ctx},
    {"constructing llama_context", read_new_context},
    {"K (", read_kv_types},
    {"type_k = '", read_kv_types_quoted},
    {"dev = ", read_kv_layer},
    {"graph nodes", read_nodes},
    {"graph splits", read_splits},
    {"sched_reserve: graph",
     [](LogState& state, const LogLine& line, const Found& found) {
       return found.rest.starts_with(':') || found.rest.starts_with(" (pp")
                  ? read_graph(state, line, found)
                  : false;
     }},
    {"sched_reserve: reserving ...", reopen_compute},
    {"flash_attn ", read_flash_setting},
    {"Flash Attention ", read_flash_result},
    {"enabling flash_attn since", read_flash_required},
    {" is assigned to device ", read_tensor_elsewhere},
};

}  // namespace

std::span<const LineRule> context_rules() { return kRules; }

}  // namespace picchio
