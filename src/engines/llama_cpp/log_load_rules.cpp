#include "base/text.h"
#include "engines/log_devices.h"
#include "engines/log_rules.h"
#include "engines/log_text.h"

#include <algorithm>

namespace picchio {
namespace {

// Models have had some 130 layers; the bounds only keep a hostile log small.
constexpr std::size_t kMaxLayers = 4096;
constexpr std::size_t kMaxOverrides = 100'000;

std::optional<int> take_count(std::string_view& text) {
  const auto value = take_int(text);
  if (!value || *value < -1 || *value > 1'000'000) return std::nullopt;
  return static_cast<int>(*value);
}

// "srv    load_model: loading model '/models/a.gguf'"                            llama-server
// "common_speculative_init_result: loading draft model '/models/d.gguf'"         b11669
bool read_loading(LogState& state, const LogLine& line, const Found& found) {
  const auto path = found.rest.substr(0, found.rest.rfind('\''));
  const bool draft = found.rule->marker.contains("draft");
  state.draft_hint = state.draft_hint || draft;
  if (!draft) state.next_process();
  state.start_load(draft ? LoadRole::draft : LoadRole::main, line.number).model_path = path;
  return false;
}

// "llama_model_loader: loaded meta data with 20 key-value pairs and 75 tensors from /models/a.gguf
// (version GGUF V3 (latest))"
bool read_loader(LogState& state, const LogLine& line, const Found& found) {
  Load& load = state.fresh_load(line.number);
  const std::size_t from = found.rest.find(" from ");
  if (from == std::string_view::npos) return false;
  std::string_view path = found.rest.substr(from + 6);
  const std::size_t version = path.rfind(" (version ");
  load.model_path = trim(path.substr(0, version));
  return false;
}

// "llama.cpp: loading model from models/7B/ggml-model-q4_0.bin"                  2023
bool read_early_loader(LogState& state, const LogLine& line, const Found& found) {
  state.fresh_load(line.number).model_path = trim(found.rest);
  return false;
}

// "print_info: file size   = 8.43 GiB (4.94 BPW)"
// "llm_load_print_meta: model size       = 14.96 GiB (16.00 BPW)"
bool read_file_size(LogState& state, const LogLine& line, const Found& found) {
  if (is_projector_line(line.text)) return false;
  std::string_view rest = found.rest;
  const auto value = take_double(rest);
  if (!value) return false;  // "model size = 7B" of 2023 is a name
  rest = trim(rest);
  double mib = *value;
  if (take_prefix(rest, "GiB")) {
    mib *= 1024;
  } else if (take_prefix(rest, "KiB")) {
    mib /= 1024;
  } else if (!rest.starts_with("MiB") && !rest.starts_with("MB")) {
    return false;
  }
  state.fresh_load(line.number).weight_bytes = bytes_of_mib(mib);
  return false;
}

// "print_info: model params          = 26.03 M"
bool read_parameters(LogState& state, const LogLine& line, const Found& found) {
  std::string_view rest = found.rest;
  const auto value = take_double(rest);
  rest = trim(rest);
  double scale = 1;
  switch (rest.empty() ? ' ' : rest.front()) {
    case 'T':
      scale = 1e12;
      break;
    case 'B':
      scale = 1e9;
      break;
    case 'M':
      scale = 1e6;
      break;
    case 'K':
      scale = 1e3;
      break;
    default:
      break;
  }
  if (value) state.load(line.number).parameters = *value * scale;
  return false;
}

// "print_info: general.name          = tiny random llama"
bool read_name(LogState& state, const LogLine& line, const Found& found) {
  std::string_view rest = trim(found.rest);
  if (take_prefix(rest, "=")) state.load(line.number).model_name = trim(rest);
  return false;
}

// "print_info: file type   = Q4_K - Medium"
// "llm_load_print_meta: model ftype      = mostly Q4_K - Medium"
bool read_file_type(LogState& state, const LogLine& line, const Found& found) {
  std::string_view rest = trim(found.rest);
  if (!take_prefix(rest, "=")) return false;
  rest = trim(rest);
  take_prefix(rest, "mostly ");
  if (!is_projector_line(line.text)) state.fresh_load(line.number).file_type = rest;
  return false;
}

// "print_info: n_layer               = 8"
template <std::optional<std::int64_t> Load::* Field>
bool read_size(LogState& state, const LogLine& line, const Found& found) {
  std::string_view rest = trim(found.rest);
  if (!take_prefix(rest, "=")) return false;
  if (!contains_any(found.head, {"print_info:", "print_meta:", "load_internal:"})) return false;
  if (const auto value = take_int(rest)) state.load(line.number).*Field = value;
  return false;
}

// "print_info: no_alloc              = 1"                                       2026
bool read_no_alloc(LogState& state, const LogLine& line, const Found& found) {
  if (found.rest.ends_with("= 1")) state.notes(line.number).no_alloc = true;
  return false;
}

// "llama_model_load: vocab only - skipping tensors"               ollama reads the tokenizer first
bool read_vocab_only(LogState& state, const LogLine& line, const Found&) {
  state.notes(line.number).vocab_only = true;
  state.end_load();
  return false;
}

// "load_tensors: loading model tensors, this can take a while... (mmap = true, direct_io = false)"
// "load_tensors: loading model tensors, this can take a while... (load_mode = none)"        2026
bool read_load_mode(LogState& state, const LogLine& line, const Found& found) {
  if (state.notes(line.number).weights) state.fresh_load(line.number);
  Load& load = state.load(line.number);
  load.mmap = !contains_any(found.rest, {"mmap = false", "load_mode = none"});
  return false;
}

// "load_tensors: layer   0 assigned to device CUDA0, is_swa = 0"                 DEBUG
bool read_layer_device(LogState& state, const LogLine& line, const Found& found) {
  std::string_view head = found.head;
  const auto layer = parse_int(take_last_word(head));
  std::string_view rest = trim(found.rest);
  const std::string device(rest.substr(0, rest.find_first_of(", ")));
  if (!layer || *layer < 0 || *layer > 2'000 || device.empty()) return false;
  LoadNotes& notes = state.notes(line.number);
  if (notes.weights) state.fresh_load(line.number);
  state.notes(line.number).body = true;
  state.log.has_placement_lines = true;
  auto& layers = state.load(line.number).layers;
  if (layers.size() < kMaxLayers) layers.push_back({static_cast<int>(*layer), device});
  return false;
}

// "tensor blk.0.ffn_up.weight (0 MiB q4_K) buffer type overridden to Vulkan_Host"           DEBUG
// "Tensor blk.3.ffn_up_exps.weight buffer type overriden to CPU"            early 2025,
// ik_llama.cpp
bool read_override(LogState& state, const LogLine& line, const Found& found) {
  const std::size_t at = found.rest.find(" to ");
  const auto words = split_blanks(found.head);
  const auto word =
      std::ranges::find_if(words, [](std::string_view w) { return w.ends_with("ensor"); });
  if (at == std::string_view::npos || word == words.end() || word + 1 == words.end()) {
    state.note(line.number, line.text);
    return false;
  }
  state.log.has_placement_lines = true;
  auto& overrides = state.load(line.number).overrides;
  if (overrides.size() >= kMaxOverrides) return false;
  overrides.push_back(
      {std::string(*(word + 1)), std::string(trim(found.rest.substr(at + 4))), line.number});
  return false;
}

// "done_getting_tensors: partial load - used 18 of 866 tensors"       next-token prediction, 2026
bool read_partial(LogState& state, const LogLine& line, const Found&) {
  state.notes(line.number).side_model = true;
  return false;
}

// What a load says of its layers stands in front of its weight buffers, so weights seen before it
// were another load's; in 2023 the host's share came first.
void before_layers(LogState& state, const LogLine& line) {
  const LoadNotes& notes = state.notes(line.number);
  if (!notes.weights) return;
  if (notes.old_forms && !state.load(line.number).claim) return;
  state.fresh_load(line.number);
}

// "load_tensors: offloading 40 repeating layers to GPU" begins what a load says of its layers.
bool read_offloading(LogState& state, const LogLine& line, const Found& found) {
  if (is_projector_line(line.text) || line.text.starts_with("time=")) return false;
  if (contains_any(found.rest, {"v cache to GPU", "k cache to GPU"})) return false;
  before_layers(state, line);
  state.notes(line.number).body = true;
  return false;
}

// "load_tensors: offloaded 33/33 layers to GPU"
bool read_offloaded(LogState& state, const LogLine& line, const Found& found) {
  std::string_view rest = found.rest;
  const auto on_gpu = take_count(rest);
  if (!on_gpu || !take_prefix(rest, "/")) return false;
  const auto total = take_count(rest);
  if (!total || !rest.starts_with(" layers to GPU")) {
    state.note(line.number, line.text);
    return false;
  }
  if (!line.text.starts_with("time=")) before_layers(state, line);
  LoadNotes& notes = state.notes(line.number);
  notes.body = true;
  state.log.has_placement_lines = true;
  state.load(line.number).claim = LayerClaim{*on_gpu, *total, line.number};
  return false;
}

struct UseWord {
  std::string_view word;
  BufferUse use;
};
constexpr UseWord kUses[] = {{"model", BufferUse::weights}, {"KV", BufferUse::kv},
                             {"RS", BufferUse::recurrent},  {"compute", BufferUse::compute},
                             {"output", BufferUse::output}, {"input", BufferUse::output}};

// "load_tensors:   CPU_Mapped model buffer size =   281.25 MiB"                  Nov 2024 on
// "llm_load_tensors:      CUDA0 buffer size =  3847.55 MiB"                      Nov 2023 - Oct
// 2024 "llama_kv_cache:      CUDA0 KV buffer size =   800.00 MiB" "llama_memory_recurrent: CUDA0 RS
// buffer size =    62.81 MiB" "sched_reserve:      CUDA0 compute buffer size =   353.01 MiB"
// "llama_new_context_with_model:  CUDA_Host input buffer size   =    13.14 MiB"  to Mar 2024
// "alloc_compute_meta:      CUDA0 compute buffer size =   248.10 MiB"            image encoder
bool read_buffer(LogState& state, const LogLine& line, const Found& found) {
  std::string_view rest = trim(found.rest);
  if (!take_prefix(rest, "="))
    return false;  // "buffer size is 7.5 MiB, matches expectation": at exit
  std::string_view head = found.head;
  std::string_view word = take_last_word(head);
  const auto* const use = std::ranges::find(kUses, word, &UseWord::word);
  BufferUse meaning = BufferUse::weights;
  if (use != std::end(kUses)) {
    meaning = use->use;
    word = take_last_word(head);
  } else if (!head.contains("load_tensors:")) {
    return false;
  }
  const auto mib = take_double(rest);
  if (word.empty() || word.ends_with(':') || !mib || *mib < 0) {
    if (!is_projector_line(line.text)) state.note(line.number, line.text);
    return false;
  }
  const BufferPlace place = place_of_buffer(word);
  BufferLine buffer{std::string(word),  place.device,   place.kind,   meaning,
                    bytes_of_mib(*mib), place.repacked, place.mapped, line.number};
  if (is_projector_line(line.text)) {
    state.add_buffer(state.projector(line.number), std::move(buffer));
    return false;
  }
  if (meaning == BufferUse::weights && state.notes(line.number).context) {
    state.fresh_load(line.number);
  }
  state.add_buffer(state.load(line.number), std::move(buffer));
  return false;
}

// "clip_ctx: CLIP using CUDA0 backend" / "clip_model_load: CLIP using CPU backend"
bool read_clip_backend(LogState& state, const LogLine& line, const Found& found) {
  const std::string_view rest = found.rest;
  state.projector(line.number).devices = {std::string(rest.substr(0, rest.find(' ')))};
  return false;
}

// "clip_model_load: params backend buffer size =  1289.95 MB (521 tensors)"
bool read_clip_weights(LogState& state, const LogLine& line, const Found& found) {
  std::string_view rest = trim(found.rest);
  take_prefix(rest, "=");
  const auto mib = take_double(rest);
  Load& load = state.projector(line.number);
  const std::string name = load.devices.empty() ? "CPU" : load.devices.back();
  const BufferPlace place = place_of_buffer(name);
  if (mib && *mib >= 0) {
    state.add_buffer(load, {name, place.device, place.kind, BufferUse::weights, bytes_of_mib(*mib),
                            false, false, line.number});
  }
  return true;
}

constexpr LineRule kRules[] = {
    {"loading model '", read_loading},
    {"loading draft model '", read_loading},
    {"llama_model_loader: loaded meta data with", read_loader},
    {"llama.cpp: loading model from ", read_early_loader},
    {"file size   = ", read_file_size},
    {"model size  ",
     [](LogState& state, const LogLine& line, const Found& found) {
       std::string_view rest = trim(found.rest);
       return take_prefix(rest, "=") && read_file_size(state, line, {found.head, rest, found.rule});
     }},
    {"model params ",
     [](LogState& state, const LogLine& line, const Found& found) {
       std::string_view rest = trim(found.rest);
       return take_prefix(rest, "=") &&
              read_parameters(state, line, {found.head, rest, found.rule});
     }},
    {": general.name ", read_name},
    {"file type ", read_file_type},
    {"model ftype ", read_file_type},
    {"n_layer ", read_size<&Load::n_layer>},
    {"n_vocab ", read_size<&Load::n_vocab>},
    {"n_embd ", read_size<&Load::n_embd>},
    {"n_ctx_train ", read_size<&Load::n_ctx_train>},
    {"no_alloc ", read_no_alloc},
    {"vocab only - skipping tensors", read_vocab_only},
    {"loading model tensors, this can take a while", read_load_mode},
    {" assigned to device ",
     [](LogState& state, const LogLine& line, const Found& found) {
       return found.head.ends_with(" is") ? false : read_layer_device(state, line, found);
     }},
    {" buffer type overrid", read_override},
    {"partial load - used ", read_partial},
    {": offloading ", read_offloading},
    {"offloaded ", read_offloaded},
    {"CLIP using ", read_clip_backend},
    {"params backend buffer size ", read_clip_weights},
    {" buffer size ", read_buffer},
};

}  // namespace

std::span<const LineRule> load_rules() { return kRules; }

}  // namespace picchio
