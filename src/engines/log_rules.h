// The rule tables, one per family of lines. Within a line rules run in this order.
#pragma once

#include "engines/log_state.h"

#include <span>

namespace picchio {

[[nodiscard]] std::span<const LineRule> unwrapping_rules();  // lines that hold other lines
[[nodiscard]] std::span<const LineRule> load_rules();        // model, layers, buffers
[[nodiscard]] std::span<const LineRule> early_load_rules();  // the same in 2023
[[nodiscard]] std::span<const LineRule> context_rules();     // context, KV, graph, flash attention
[[nodiscard]] std::span<const LineRule> fit_rules();         // automatic fit, memory table
[[nodiscard]] std::span<const LineRule> device_rules();      // enumeration by every backend
[[nodiscard]] std::span<const LineRule> timing_rules();      // rates, sampling, threads, version
[[nodiscard]] std::span<const LineRule> bench_rules();       // llama-bench
[[nodiscard]] std::span<const LineRule> ollama_rules();      // slog: discovery, plan, Go engine
[[nodiscard]] std::span<const LineRule> front_end_rules();   // koboldcpp, llamafile, LM Studio ...
[[nodiscard]] std::span<const LineRule> event_rules();       // what a cause can rest on

}  // namespace picchio
