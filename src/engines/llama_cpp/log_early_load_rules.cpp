// Load lines of 2023, before buffers had names: one number for the host, one for the card.
#include "base/text.h"
#include "engines/log_rules.h"
#include "engines/log_text.h"

namespace picchio {
namespace {

std::optional<double> megabytes(std::string_view rest) {
  rest = trim(rest);
  if (!rest.starts_with('=') && !rest.starts_with(':')) return std::nullopt;
  rest.remove_prefix(1);
  const auto value = take_double(rest);
  rest = trim(rest);
  // MB was printed for what was counted in MiB until Nov 2023.
  if (!value || *value < 0 || !(rest.starts_with("MB") || rest.starts_with("MiB")))
    return std::nullopt;
  return value;
}

void add(LogState& state, const LogLine& line, bool host, BufferUse use, double mib) {
  BufferLine buffer;
  buffer.buffer = host ? "CPU" : "VRAM";
  buffer.device = buffer.buffer;
  buffer.kind = host ? DeviceKind::host : DeviceKind::hardware_gpu;
  buffer.use = use;
  buffer.bytes = bytes_of_mib(mib);
  buffer.line = line.number;
  state.notes(line.number).old_forms = true;
  state.add_buffer(state.load(line.number), std::move(buffer));
}

// "llm_load_tensors: mem required  = 5407.71 MB (+ 1026.00 MB per state)"        to Nov 2023
// "llm_load_tensors: system memory used  =   70.44 MiB"                          Dec 2023
bool read_host(LogState& state, const LogLine& line, const Found& found) {
  const auto mib = megabytes(found.rest);
  if (!mib) {
    state.note(line.number, line.text);
    return false;
  }
  if (state.notes(line.number).weights) state.fresh_load(line.number);
  add(state, line, true, BufferUse::weights, *mib);
  return false;
}

// "llm_load_tensors: VRAM used: 4474 MB"
// "llama_model_load_internal: total VRAM used: 288 MB"
// "llama_new_context_with_model: total VRAM used: 5105 MB (model: 4474 MB, context: 631 MB)"
bool read_vram(LogState& state, const LogLine& line, const Found& found) {
  const auto mib = megabytes(found.rest);
  if (!mib) return false;
  if (const auto context = between(found.rest, "context: ", " M")) {
    const auto model = between(found.rest, "model: ", " M");
    const auto model_part = model ? parse_double(*model) : std::nullopt;
    if (model_part && !state.notes(line.number).old_forms) {
      add(state, line, false, BufferUse::weights, *model_part);
    }
    if (const auto part = parse_double(*context)) {
      add(state, line, false, BufferUse::compute, *part);
    }
    return false;
  }
  // With no layer offloaded the card holds scratch space only.
  const Load& load = state.load(line.number);
  const bool weights = !load.claim || load.claim->on_gpu > 0;
  add(state, line, false, weights ? BufferUse::weights : BufferUse::compute, *mib);
  return false;
}

// "llama_kv_cache_init: VRAM kv self = 256.00 MB"
bool read_vram_kv(LogState& state, const LogLine& line, const Found& found) {
  if (const auto mib = megabytes(found.rest)) add(state, line, false, BufferUse::kv, *mib);
  return true;
}

// "llama_new_context_with_model: kv self size  =  256.00 MB": no word of where
bool read_kv_self(LogState& state, const LogLine& line, const Found& found) {
  const auto mib = megabytes(found.rest);
  if (!mib) return false;
  LoadNotes& notes = state.notes(line.number);
  notes.kv_self_bytes = bytes_of_mib(*mib);
  notes.kv_self_line = line.number;
  return false;
}

bool read_v_cache(LogState& state, const LogLine& line, const Found&) {
  state.notes(line.number).v_cache_on_gpu = true;
  return false;
}

bool read_k_cache(LogState& state, const LogLine& line, const Found&) {
  state.notes(line.number).k_cache_on_gpu = true;
  return false;
}

constexpr LineRule kRules[] = {
    {"mem required ", read_host},
    {"system memory used ", read_host},
    {"VRAM kv self ", read_vram_kv},
    {"VRAM used", read_vram},
    {"kv self size ", read_kv_self},
    {"offloading v cache to GPU", read_v_cache},
    {"offloading k cache to GPU", read_k_cache},
};

}  // namespace

std::span<const LineRule> early_load_rules() { return kRules; }

}  // namespace picchio
