// One line of a block at a time, each without its label: what block_reader.cpp puts together. Pure.
// False: the text is not what such a line holds, and the figures are as they were.
#pragma once

#include "evidence/figures.h"

#include <string_view>

namespace picchio::results {

/// "Qwen3.5-9B-Q4_K_M.gguf, 8.95 B, Q4_K_M, 5.28 GiB, llama.cpp b9430": only the name and the
/// engine are always there.
bool read_model(std::string_view text, RunFigures& out);

/// "PARTIAL: 10/33 layers on GPU (CUDA: GeForce RTX 4090 x2) [-ngl 10]".
bool read_gpu(std::string_view text, PlacementFigures& out);

/// "weights 62.0% gpu, kv gpu, 4.7 GiB on CUDA0, 0.50 GiB host".
bool read_bytes(std::string_view text, PlacementFigures& out);

/// "gpu idle 0%, work 99%, mem +6.0 GiB, 11.0 W, 0.52 J/tok, throttled".
bool read_os(std::string_view text, MeterFigures& out);

/// "6.9 of 8 cores in decode, 8 threads".
bool read_cpu(std::string_view text, CpuFigures& out);

/// "temp 0.8, top-k 40, top-p 0.95, min-p 0.05, seed 7" or "not recorded: ...".
bool read_settings(std::string_view text, RunFigures& out);

enum class RateRow { cold, warm };

/// "584.9 tok/s  n/a  abstain".
bool read_rates(std::string_view text, RateRow row, RunFigures& out);

/// "585~591  21.0~21.2  -".
bool read_spans(std::string_view text, RunFigures& out);

/// What stands in the brackets: "9.7 s, 4/10 threads, weights cached".
bool read_cold_pass(std::string_view text, ColdPassFigures& out);

/// "1.8 s  #####.......................   18%".
bool read_phase(std::string_view text, PhaseFigures& out);

/// "HEALTHY. The GPU did the work."
bool read_verdict(std::string_view text, RunFigures& out);

/// Behind "-- picchio ": "v0.1.0 mp1 on Apple M5, 32 GB, macOS 26.5.1".
bool read_footer(std::string_view text, RunFigures& out);

}  // namespace picchio::results
