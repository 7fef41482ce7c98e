// Runs made by hand for the tests of report/: each shows one shape of result.
#pragma once

#include "evidence/run.h"
#include "evidence/verdict.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace picchio::samples {

struct Sample {
  std::string name;
  Run run;
  Verdict verdict;
};

inline constexpr std::int64_t kMiB = std::int64_t{1} << 20;

inline DeviceAccount account(std::string name, std::string description, DeviceKind kind,
                             std::int64_t weights_mib, std::int64_t kv_mib) {
  DeviceAccount out;
  out.name = std::move(name);
  out.description = std::move(description);
  out.kind = kind;
  out.weights_bytes = weights_mib * kMiB;
  out.kv_bytes = kv_mib * kMiB;
  out.compute_bytes = 505 * kMiB;
  return out;
}

inline Pass pass(double wall, double load, double prompt, double eval) {
  Pass out;
  out.wall_seconds = wall;
  out.load_seconds = load;
  out.prefill_seconds = prompt;
  out.decode_seconds = eval;
  out.timings.load_ms = load * 1000;
  out.timings.prompt_ms = prompt * 1000;
  out.timings.prompt_tokens = 767;
  out.timings.eval_ms = eval * 1000;
  out.timings.eval_runs = 127;
  out.lanes.prefill = 767 / prompt;
  out.lanes.decode = 127 / eval;
  out.lanes.wallclock = 128 / wall;
  out.log.engine = "llama.cpp";
  out.log.version = "b9430";
  out.log.sampling = {0.8, 40, 0.95, 0.05, 7};
  Load main;
  main.parameters = 8.95e9;
  main.weight_bytes = 5669554176;
  main.model_name = "Qwen3.5-9B";
  main.file_type = "Q4_K - Medium";
  main.claim = LayerClaim{33, 33, 512};
  main.splits = GraphSplits{2, 2, 1500, 700, false};
  main.kv_type_k = "f16";
  main.kv_type_v = "f16";
  main.n_ctx = 4096;
  out.log.loads.push_back(main);
  return out;
}

inline void set_threads(Run& run, int threads, int cores) {
  run.raw.machine.logical_cores = cores;
  for (Pass& pass : run.passes) {
    pass.log.threads = threads;
    pass.log.cores = cores;
  }
}

inline void add_pass(Run& run, Pass pass) {
  RawPass raw;
  raw.exit_code = 0;
  raw.prompt_prefix = "Run 7978b8f3 pass 0" + std::to_string(run.passes.size() + 1) + ". ";
  run.raw.passes.push_back(std::move(raw));
  run.passes.push_back(std::move(pass));
}

inline Run base_run() {
  Run run;
  run.raw.picchio_version = "0.1.0";
  run.raw.engine = {"/usr/bin/llama-completion", "llama-completion", "9430 (d48a56eff)", "b9430"};
  run.raw.model_label = "Qwen3.5-9B-Q4_K_M.gguf";
  run.raw.machine.chip = "AMD EPYC 7402 24-Core Processor";
  run.raw.machine.os = "Linux 5.15.0-119-generic";
  run.raw.machine.ram_bytes = std::int64_t{504} << 30;
  run.raw.machine.gpus_known = true;
  run.context = 4096;
  run.raw.telemetry.none_because = "no GPU meter on this machine";
  return run;
}

inline void add_testimonies(Verdict& verdict, Word word) {
  verdict.testimonies = {
      {Witness::claim, Word::gpu, "the engine says 33/33 layers on GPU (line 512)"},
      {Witness::allocation, word, "4861 of 5407 MiB of weights, the rest is the input embedding"},
      {Witness::process, std::nullopt, "the engine's process could not be read"},
      {Witness::gpu_meter, std::nullopt, "no GPU meter on this machine"}};
}

/// A GPU in use as a meter saw it; figures of the established tool's published blocks.
inline void add_gpu_use(Run& run, const std::string& name, double work, double gib, double watts,
                        double joules_per_token) {
  run.raw.telemetry.none_because.clear();
  run.raw.telemetry.hz = 10;
  MeteredGpu gpu;
  gpu.meter = "nvml";
  gpu.name = name;
  gpu.index = static_cast<int>(run.gpu_use.size());
  run.raw.telemetry.gpus.push_back(gpu);
  GpuUse use;
  use.gpu = gpu.index;
  use.in_use = true;
  use.idle_busy = 0;
  use.idle_watts = 18;
  use.idle_samples = 20;
  use.memory_step = static_cast<std::int64_t>(gib * 1024 * 1024 * 1024);
  use.work.busy_median = work;
  use.work.watts = watts;
  use.work.samples = 90;
  use.decode = use.work;
  use.decode.tokens = 381;
  use.decode.joules = joules_per_token * 381;
  run.gpu_use.push_back(use);
}

inline Sample healthy_cuda() {
  Sample out{"healthy_cuda", base_run(), {}};
  Run& run = out.run;
  add_pass(run, pass(4.9, 2.3, 0.1126, 0.9230));
  add_pass(run, pass(5.3, 2.5, 0.1134, 0.9203));
  add_pass(run, pass(4.8, 2.4, 0.1131, 0.9190));
  set_threads(run, 48, 96);
  for (Pass& each : run.passes) each.cpu = {1.2, 1.04};
  run.raw.passes.front().cached_fraction = 1.0;
  run.warm_prefill = {6763.3, 6746, 6780, ""};
  run.warm_decode = {138.0, 137.6, 138.4, ""};
  run.warm_wallclock = {25.2, 24.1, 26.3, ""};
  Placement& placement = run.placement;
  placement.shape = Shape::gpu;
  placement.reason = "all weights but the input embedding are on CUDA0";
  placement.devices = {
      account("CUDA0", "NVIDIA GeForce RTX 4090", DeviceKind::hardware_gpu, 4861, 128),
      account("CPU", "", DeviceKind::host, 546, 0)};
  placement.layers_on_gpu = 33;
  placement.layers_total = 33;
  placement.layers_claimed = 33;
  placement.weights_on_gpu_fraction = 4861.0 / 5407.0;
  placement.kv_on = KvPlace::gpu;
  placement.host_by_design_bytes = 546 * kMiB;
  placement.missing_bytes = 0;
  Roofline roofline;
  roofline.tokens_per_second = 138.0;
  roofline.weight_bytes = 4861 * kMiB;
  roofline.cache_bytes = 76 * kMiB;
  roofline.depth = 825;
  roofline.devices = {
      {"CUDA0", "RTX 4090", 4937 * kMiB, 1008e9, "the table's RTX 4090", false, true}};
  roofline.device_limit = 194.7;
  roofline.host_untested = "the speed of this machine's RAM was not measured";
  run.roofline = roofline;
  out.verdict.state = State::healthy;
  out.verdict.rule = "healthy";
  out.verdict.sentence = "The GPU did the work. Quote the warm median decode: 138.0 tok/s.";
  add_testimonies(out.verdict, Word::gpu);
  return out;
}

// The figures of the established tool's published block of an Apple M5.
inline Sample healthy_metal() {
  Sample out = healthy_cuda();
  out.name = "healthy_metal";
  Run& run = out.run;
  run.passes.clear();
  run.raw.passes.clear();
  add_pass(run, pass(9.727643457998056, 1.78, 1.2547, 6.07));
  add_pass(run, pass(8.24, 1.0, 1.3, 6.0));
  add_pass(run, pass(8.19, 1.0, 1.3, 6.0));
  run.passes[0].lanes = {584.9, 21.0, 13.1, "", "", ""};
  set_threads(run, 4, 10);
  run.warm_prefill = {588.0, 585, 591, ""};
  run.warm_decode = {21.1, 21.0, 21.2, ""};
  run.warm_wallclock = {15.5, 15.4, 15.5, ""};
  run.raw.machine.chip = "Apple M5";
  run.raw.machine.os = "macOS 26.5.1";
  run.raw.machine.ram_bytes = std::int64_t{32} << 30;
  run.placement.devices[0].name = "MTL0";
  run.placement.devices[0].description = "Apple M5";
  out.verdict.sentence = "The GPU did the work. Quote the warm median decode: 21.1 tok/s.";
  add_gpu_use(run, "Apple M5", 99, 6.01, 11.0, 0.52);
  return out;
}

inline Sample lost_gpu() {
  Sample out = healthy_cuda();
  out.name = "lost_gpu";
  add_gpu_use(out.run, "NVIDIA GeForce RTX 4090", 99, 6.01, 343, 4.61);
  out.run.gpu_use[0].lost = "NVML says GPU is lost";
  out.verdict.state = State::conflicting_evidence;
  out.verdict.sentence = "The log says: all on CUDA0. The GPU meter says: the GPU vanished.";
  return out;
}

inline Sample driver_mismatch() {
  Sample out = healthy_cuda();
  out.name = "driver_mismatch";
  out.run.raw.telemetry.none_because =
      "NVML does not start: the kernel runs driver 550.54.14, the library is of another version";
  return out;
}

inline Sample throttled() {
  Sample out = healthy_cuda();
  out.name = "throttled";
  add_gpu_use(out.run, "NVIDIA GeForce RTX 4090", 99, 6.01, 343, 4.61);
  out.run.gpu_use[0].throttled_share = 0.6;
  out.run.gpu_use[0].work.busy_median.reset();
  return out;
}

inline Sample partial() {
  Sample out = healthy_cuda();
  out.name = "partial";
  Run& run = out.run;
  run.raw.user_args = {"-ngl", "10", "--no-kv-offload-some", "-c", "4096"};
  Placement& placement = run.placement;
  placement.shape = Shape::partial;
  placement.reason = "2912 MiB of weights beyond the embedding are on the host";
  placement.devices = {
      account("CUDA0", "NVIDIA GeForce RTX 4090", DeviceKind::hardware_gpu, 1949, 40),
      account("CPU", "", DeviceKind::host, 3458, 88)};
  placement.layers_on_gpu = 10;
  placement.weights_on_gpu_fraction = 1949.0 / 5407.0;
  placement.kv_on = KvPlace::mixed;
  placement.missing_bytes = 2912 * kMiB;
  out.verdict.state = State::partial_offload;
  out.verdict.rule = "partial-offload";
  out.verdict.sentence =
      "10 of 33 layers are on the GPU; 2912 MiB of weights beyond the embedding are read from host "
      "memory. Prefill: 5 s per 2500 tokens.";
  out.verdict.cause = Cause{"ngl_too_low", "forced by flag: -ngl 10",
                            "drop -ngl 10: the 24111 MiB of CUDA0 hold all 33 layers"};
  add_testimonies(out.verdict, Word::partial);
  run.passes[0].remarks = {"the engine's clock and ours differ by 12 %"};
  return out;
}

inline Sample llvmpipe() {
  Sample out = healthy_cuda();
  out.name = "llvmpipe";
  Run& run = out.run;
  Placement& placement = run.placement;
  placement.shape = Shape::software_device;
  placement.reason = "Vulkan0 is llvmpipe, a software renderer on this machine's CPU";
  placement.devices = {
      account("Vulkan0", "llvmpipe (LLVM 22.1.8, 256 bits)", DeviceKind::software, 15, 32),
      account("CPU", "", DeviceKind::host, 0, 0)};
  placement.layers_on_gpu = 0;
  placement.layers_total = 9;
  placement.layers_claimed = 9;
  placement.weights_on_gpu_fraction = 0.0;
  placement.kv_on = KvPlace::cpu;
  placement.missing_bytes = 15 * kMiB;
  set_threads(run, 2, 2);
  for (Pass& each : run.passes) each.cpu = {1.98, 1.93};
  out.verdict.state = State::silent_cpu_fallback;
  out.verdict.rule = "software-device";
  out.verdict.sentence = "The engine's GPU is llvmpipe, which renders on this machine's CPU.";
  out.verdict.cause =
      Cause{"software_device", "Vulkan0 is llvmpipe (LLVM 22.1.8, 256 bits): a CPU, not a GPU",
            "install the GPU's own Vulkan driver, or set GGML_VK_VISIBLE_DEVICES to the real card"};
  add_testimonies(out.verdict, Word::cpu);
  return out;
}

inline Sample cpu_only() {
  Sample out = healthy_cuda();
  out.name = "cpu_only";
  Run& run = out.run;
  Placement& placement = run.placement;
  placement.shape = Shape::cpu;
  placement.reason = "every buffer is host memory";
  placement.devices = {account("CPU", "", DeviceKind::host, 5407, 128)};
  placement.layers_on_gpu = 0;
  placement.weights_on_gpu_fraction = 0.0;
  placement.kv_on = KvPlace::cpu;
  placement.missing_bytes = 4861 * kMiB;
  for (Pass& each : run.passes) each.cpu = {47.5, 46.91};
  run.raw.passes.front().cached_fraction = 0.0;
  out.verdict.state = State::cpu_only_machine;
  out.verdict.rule = "cpu-only-machine";
  out.verdict.sentence = "This machine has no GPU that the engine could use. The rates stand.";
  add_testimonies(out.verdict, Word::cpu);
  return out;
}

inline Sample remote() {
  Sample out = healthy_cuda();
  out.name = "remote";
  Run& run = out.run;
  run.raw.user_args = {"--rpc", "127.0.0.1:50052"};
  Placement& placement = run.placement;
  placement.shape = Shape::remote;
  placement.reason = "90% of the weights lie on RPC0[127.0.0.1:50052]";
  placement.devices = {account("RPC0[127.0.0.1:50052]", "", DeviceKind::remote, 4861, 128),
                       account("CPU", "", DeviceKind::host, 546, 0)};
  placement.layers_on_gpu = 0;
  placement.weights_on_gpu_fraction = 0.0;
  placement.kv_on = std::nullopt;
  placement.missing_bytes = std::nullopt;
  out.verdict.state = State::no_placement_evidence;
  out.verdict.rule = "remote";
  out.verdict.sentence = "90% of the weights lie on RPC0[127.0.0.1:50052], unseen from here.";
  return out;
}

inline Sample conflict() {
  Sample out = healthy_cuda();
  out.name = "conflict";
  out.verdict.state = State::conflicting_evidence;
  out.verdict.rule = "decode-beyond-bandwidth";
  out.verdict.sentence =
      "The buffers say CUDA0, but 60.1 of 96 cores were busy in decode. Neither is believed.";
  for (Pass& each : out.run.passes) each.cpu = {60, 60.1};
  out.run.disagreement = "pass 2 put 31 of 33 layers on the GPU, pass 1 33 of 33";
  return out;
}

inline Sample no_timing() {
  Sample out = healthy_cuda();
  out.name = "no_timing";
  for (Pass& each : out.run.passes) {
    each.timings = {};
    each.lanes = {};
    each.load_seconds.reset();
    each.prefill_seconds.reset();
    each.decode_seconds.reset();
    each.log.sampling = {};
  }
  out.run.warm_prefill = {};
  out.run.warm_decode = {};
  out.run.warm_wallclock = {};
  out.verdict.state = State::no_timing_evidence;
  out.verdict.rule = "no-timing";
  out.verdict.sentence = "The engine ran but printed no rates that can be read.";
  return out;
}

inline Sample one_pass() {
  Sample out = healthy_cuda();
  out.name = "one_pass";
  out.run.passes.resize(1);
  out.run.raw.passes.resize(1);
  out.run.raw.passes[0].cache_dropped = true;
  out.run.warm_prefill = {};
  out.run.warm_decode = {};
  out.run.warm_wallclock = {};
  out.run.raw.prompt_note = "the prompt was shortened to 300 tokens to fit a context of 512";
  return out;
}

inline Sample abstaining() {
  Sample out = healthy_cuda();
  out.name = "abstaining";
  out.run.passes[0].lanes.prefill_abstain = "12x slower than its siblings: shaders were compiled";
  out.run.warm_prefill.abstain = "the engine reused 512 cached prompt tokens";
  for (Pass& each : out.run.passes) each.remarks = {"64 tokens were generated, 128 were asked"};
  return out;
}

/// Nothing was read at all: the least a renderer can be given.
inline Sample empty() { return {"empty", {}, {}}; }

inline Sample unknown_cause() {
  Sample out = partial();
  out.name = "unknown_cause";
  out.verdict.cause.reset();
  return out;
}

inline Sample two_cards() {
  Sample out = partial();
  out.name = "two_cards";
  Placement& placement = out.run.placement;
  placement.devices = {
      account("CUDA0", "NVIDIA GeForce RTX 3090", DeviceKind::hardware_gpu, 20582, 900),
      account("CUDA1", "NVIDIA GeForce RTX 3090", DeviceKind::hardware_gpu, 20275, 900),
      account("CPU", "", DeviceKind::host, 1512, 100)};
  placement.layers_on_gpu = 78;
  placement.layers_total = 81;
  placement.weights_on_gpu_fraction = 40857.0 / 42369.0;
  add_gpu_use(out.run, "NVIDIA GeForce RTX 3090", 54, 21.0, 262.5, 6.1);
  add_gpu_use(out.run, "NVIDIA GeForce RTX 3090", 47, 20.6, 244.1, 5.9);
  return out;
}

/// A server of which no line tells a placement. Its own claim: 100 % of 20.3 GiB.
inline Sample ollama() {
  Sample out = healthy_cuda();
  out.name = "ollama";
  out.run.placement = {};
  out.run.placement.reason = "the log holds no line that tells where the weights are";
  out.run.raw.model.reset();
  out.run.raw.model_label = "qwen3.6:35b-a3b";
  ServerFacts& server = out.run.raw.server.emplace();
  server.kind = ServerKind::ollama;
  server.url = "http://127.0.0.1:11434";
  server.version = "0.31.1";
  server.model = "qwen3.6:35b-a3b";
  server.local = true;
  server.process = "llama-server";
  server.loads_on_request = true;
  server.no_log_because = "its standard error is a terminal";
  server.quant = "Q4_K_M";
  server.weight_bytes = 21'809'531'452;
  server.parameters = 34.7e9;
  Micros first{4'200'000};
  for (Pass& each : out.run.passes) {
    each.log = {};
    ServerAnswer& answer = each.answer.emplace();
    answer.finished = true;
    answer.stop = "length";
    answer.prompt_tokens = answer.evaluated_tokens = 770;
    answer.generated_tokens = 128;
    answer.prefill_source = answer.decode_source = RateSource::engine;
    answer.first_token = first;
    answer.last_token = first + Micros(4'100'000);
    answer.pieces = 128;
    answer.thinking_pieces = 128;
    each.claim = ServerClaim{21'809'531'452, 21'809'531'452, 4096};
    first = Micros(900'000);
  }
  out.verdict.rule = "meter-acquits";
  out.verdict.sentence =
      "The GPU did the work: its meter saw it 96% busy in decode, as the server says.";
  return out;
}

/// Another machine's, by our clock, with drafts.
inline Sample distant_server() {
  Sample out = ollama();
  out.name = "distant_server";
  ServerFacts& server = *out.run.raw.server;
  server.kind = ServerKind::llama_server;
  server.url = "http://192.0.2.7:8080";
  server.version = "b11669-Debian";
  server.model = "";
  server.local = false;
  server.loads_on_request = false;
  server.unseen_because = server.no_log_because = "it runs on another machine";
  for (Pass& each : out.run.passes) {
    each.claim.reset();
    each.answer->prefill_source = RateSource::clock;
    each.answer->drafted = 120;
    each.answer->drafts_accepted = 96;
    each.remarks = {"speculative: 96 of 120 drafted tokens accepted, 7.8 steps/s"};
  }
  out.run.gpu_use.clear();
  out.run.raw.telemetry = {};
  out.run.raw.telemetry.none_because = "the server runs elsewhere";
  out.verdict.state = State::no_placement_evidence;
  out.verdict.rule = "nothing-tells";
  out.verdict.sentence = "Nothing tells where the model ran.";
  return out;
}

/// Its claim is refuted.
inline Sample lying_server() {
  Sample out = ollama();
  out.name = "lying_server";
  out.verdict.state = State::silent_cpu_fallback;
  out.verdict.rule = "gpu-stood-by";
  out.verdict.sentence = "The CPU did the work while GeForce RTX 4090 stood by.";
  return out;
}

inline std::vector<Sample> all() {
  return {healthy_cuda(), healthy_metal(), partial(),        llvmpipe(),    cpu_only(),
          remote(),       conflict(),      no_timing(),      one_pass(),    abstaining(),
          empty(),        unknown_cause(), two_cards(),      lost_gpu(),    driver_mismatch(),
          throttled(),    ollama(),        distant_server(), lying_server()};
}

}  // namespace picchio::samples
