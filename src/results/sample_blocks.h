// Blocks for this folder's tests.
#pragma once

namespace picchio::results {

inline constexpr const char* kGpuBlock =
    "model    Tiny-8B-Q4_K_M.gguf, 8.03 B, 4.58 GiB, llama.cpp b9430\n"
    "gpu      ENGAGED: 33/33 layers on GPU (CUDA: GeForce RTX 4090)\n"
    "bytes    weights 100% gpu, kv gpu, 4.3 GiB on CUDA0,\n"
    "         embedding 0.28 GiB host\n"
    "os       gpu idle 0%, work 98%, mem +5.5 GiB, 343 W, 2.60 J/tok\n"
    "settings temp 0.8, top-k 40, top-p 0.95, min-p 0.05, seed 7\n"
    "ctx 4096         prefill         decode      wallclock\n"
    "  cold      4821.4 tok/s    130.2 tok/s     41.0 tok/s\n"
    "  warm mid  4900.0 tok/s    132.1 tok/s     60.5 tok/s\n"
    "  warm span    4890~4911    131.9~132.4      60.1~60.9\n"
    "where the cold pass went (3.1 s, 8/16 threads)\n"
    "  load weights    1.9 s  #################...........   61%\n"
    "  prefill         0.2 s  ##..........................    6%\n"
    "  decode          1.0 s  #########...................   32%\n"
    "  engine misc     0.0 s  ............................    1%\n"
    "VERDICT: HEALTHY. The GPU did the work. Quote the warm median\n"
    "  decode: 132.1 tok/s.\n"
    "-- picchio v0.1.0 mp1 on AMD Ryzen 9 + GeForce RTX 4090, 64 GB, Linux 6.8\n";

inline constexpr const char* kOnePassBlock =
    "model    qwen3:8b, ollama 0.12.3\n"
    "gpu      NO EVIDENCE (ollama gave no memory split)\n"
    "settings not recorded: the ollama api returns no sampling settings\n"
    "ctx ?            prefill         decode      wallclock\n"
    "  cold           abstain     21.0 tok/s            n/a\n"
    "VERDICT: NO PLACEMENT EVIDENCE. Nothing tells.\n"
    "-- picchio v0.1.0 mp1 on Intel N100, ? GB, Linux 6.1\n";

}  // namespace picchio::results
