// Programs around llama.cpp that print lines of their own: koboldcpp, llamafile, LM Studio,
// LocalAI, llama-box, cortex, ik_llama.cpp.
#include "base/text.h"
#include "engines/log_devices.h"
#include "engines/log_rules.h"
#include "engines/log_text.h"

#include <algorithm>

namespace picchio {
namespace {

template <std::size_t N>
struct Name {
  // NOLINTNEXTLINE(google-explicit-constructor): a string as a template argument
  constexpr Name(const char (&text)[N]) { std::copy_n(text, N, value); }
  char value[N]{};
};

template <Name Program>
bool mark(LogState& state, const LogLine&, const Found&) {
  state.front_end = Program.value;
  return false;
}

// "Welcome to KoboldCpp - Version 1.59.1"
bool read_kobold(LogState& state, const LogLine&, const Found& found) {
  state.front_end = "koboldcpp";
  state.log.version = std::string(trim(found.rest));
  return false;
}

// "Initializing dynamic library: koboldcpp_cublas.so": the library names the backend
bool read_kobold_library(LogState& state, const LogLine& line, const Found& found) {
  const std::string_view backend = backend_of_library(found.rest);
  // koboldcpp_default, _failsafe, _noavx2: the CPU ones have no word of their own
  state.event(LogEventKind::backend_loaded, backend.empty() ? "CPU" : backend, line.text,
              line.number);
  return false;
}

// "Namespace(... gpulayers=0 ...)"
bool read_kobold_layers(LogState& state, const LogLine& line, const Found& found) {
  std::string_view rest = found.rest;
  const auto layers = take_int(rest);
  if (!layers || *layers < -1 || *layers > 1'000'000) return false;
  OffloadPlan plan;
  plan.requested = static_cast<int>(*layers);
  plan.line = line.number;
  state.log.plan = plan;
  if (*layers != 0) {
    state.event(LogEventKind::gpu_layers_asked, std::to_string(*layers), line.text, line.number);
  }
  return false;
}

// "Process:1.23s (12.3ms/T = 81.30T/s)": seconds, milliseconds per token, tokens per second
struct KoboldSpan {
  std::optional<double> ms;
  std::optional<double> rate;
};
KoboldSpan kobold_span(std::string_view text, std::string_view label) {
  KoboldSpan span;
  const std::size_t at = text.find(label);
  if (at == std::string_view::npos) return span;
  text.remove_prefix(at + label.size());
  const auto seconds = take_double(text);
  if (seconds && *seconds >= 0) span.ms = *seconds * 1000;
  if (const auto rate = between(text, "= ", "T/s")) span.rate = parse_double(*rate);
  if (span.rate && *span.rate <= 0) span.rate.reset();
  return span;
}

// "CtxLimit:1024/4096, Amt:200/200, Init:0.00s, Process:1.23s (12.3ms/T = 81.30T/s), Generate:9.87s
// (49.3ms/T = 20.27T/s), Total:11.10s"
bool read_kobold_timing(LogState& state, const LogLine& line, const Found& found) {
  EngineTimings timings;
  timings.line = line.number;
  const KoboldSpan process = kobold_span(found.rest, "Process:");
  const KoboldSpan generate = kobold_span(found.rest, "Generate:");
  const KoboldSpan total = kobold_span(found.rest, "Total:");
  timings.prompt_ms = process.ms;
  timings.prefill_tokens_per_second = process.rate;
  timings.eval_ms = generate.ms;
  timings.decode_tokens_per_second = generate.rate;
  timings.total_ms = total.ms;
  if (const auto amount = between(found.rest, "Amt:", "/")) timings.eval_runs = parse_int(*amount);
  state.log.timings.push_back(timings);
  return false;
}

// "Load Text Model OK: False"
bool read_kobold_loaded(LogState& state, const LogLine& line, const Found& found) {
  if (!found.rest.starts_with("False")) return false;
  state.event(LogEventKind::load_failed, "", line.text, line.number);
  state.fail_load(line.text, line.number);
  return false;
}

// "link_cuda_dso: GPU support loaded"                                            llamafile
bool read_llamafile_gpu(LogState& state, const LogLine& line, const Found&) {
  state.front_end = "llamafile";
  state.event(LogEventKind::backend_loaded, "CUDA", line.text, line.number);
  return false;
}

// "Strict GPU VRAM cap is ON", "Num CPU Expert Layers: 0", "Num Offload Layers: max"       LM
// Studio
bool read_studio_cap(LogState& state, const LogLine& line, const Found& found) {
  state.front_end = "LM Studio";
  if (found.rest.starts_with("ON")) {
    state.event(LogEventKind::memory_guard, "LM Studio", line.text, line.number);
  }
  return false;
}

bool read_studio_layers(LogState& state, const LogLine& line, const Found& found) {
  state.front_end = "LM Studio";
  std::string_view rest = found.rest;
  const auto layers = take_int(rest);
  const bool experts = found.rule->marker.contains("Expert");
  if (!layers || (experts && *layers == 0)) return false;
  state.event(LogEventKind::memory_guard, "LM Studio", line.text, line.number);
  return false;
}

constexpr LineRule kRules[] = {
    {"Welcome to KoboldCpp - Version ", read_kobold},
    {"Initializing dynamic library: ", read_kobold_library},
    {"gpulayers=", read_kobold_layers},
    {"CtxLimit:", read_kobold_timing},
    {"Load Text Model OK: ", read_kobold_loaded},
    {"link_cuda_dso: GPU support loaded", read_llamafile_gpu},
    {"link_cuda_dso: ", mark<"llamafile">},
    {"extract_cuda_dso: ", mark<"llamafile">},
    {"import_cuda_impl: ", mark<"llamafile">},
    {"Strict GPU VRAM cap is ", read_studio_cap},
    {"Num Offload Layers: ", read_studio_layers},
    {"Num CPU Expert Layers: ", read_studio_layers},
    {"[LM STUDIO SERVER]", mark<"LM Studio">},
    {"HAVE_FANCY_SIMD", mark<"ik_llama.cpp">},
    {" GRPC(", mark<"LocalAI">},
    {"[CORTEX]", mark<"cortex">},
};

}  // namespace

std::span<const LineRule> front_end_rules() { return kRules; }

}  // namespace picchio
