// Hand-made logs, headers and runs for this folder's tests.
#pragma once

#include "evidence/run.h"

#include <string>
#include <utility>
#include <vector>

namespace picchio::test {

constexpr std::int64_t kMiB = std::int64_t{1024} * 1024;

inline std::int64_t mib(double value) { return static_cast<std::int64_t>(value * kMiB); }

inline DeviceKind kind_of_name(const std::string& name) {
  if (name.starts_with("RPC")) return DeviceKind::remote;
  if (name.starts_with("CPU") || name.ends_with("_Host")) return DeviceKind::host;
  return DeviceKind::hardware_gpu;
}

inline BufferLine buffer(const std::string& name, BufferUse use, double size) {
  BufferLine line;
  line.buffer = name;
  line.kind = kind_of_name(name);
  line.device = name.substr(0, name.find("_Mapped"));
  if (line.kind == DeviceKind::host) line.device = "CPU";
  line.use = use;
  line.bytes = mib(size);
  line.copy = name == "CPU_REPACK";
  line.mapped = name.ends_with("_Mapped");
  return line;
}

inline BufferLine weights(const std::string& name, double size) {
  return buffer(name, BufferUse::weights, size);
}
inline BufferLine kv(const std::string& name, double size) {
  return buffer(name, BufferUse::kv, size);
}

inline Device device(const std::string& name, const std::string& description,
                     DeviceKind kind = DeviceKind::hardware_gpu) {
  Device out;
  out.name = name;
  out.description = description;
  out.kind = kind;
  return out;
}

inline LogEvent event(LogEventKind kind, const std::string& text, const std::string& subject = "") {
  return {kind, subject, text, 1};
}

/// A log of one main load: what most tests change one thing of.
inline EngineLog log_of(std::vector<BufferLine> buffers, int on_gpu = -1, int total = 0) {
  EngineLog log;
  log.engine = "llama.cpp";
  log.has_placement_lines = true;
  Load load;
  load.buffers = std::move(buffers);
  if (on_gpu >= 0) load.claim = LayerClaim{on_gpu, total, 1};
  log.loads.push_back(load);
  return log;
}

/// An 8.4 GiB model, all 41 layers on a card.
inline EngineLog full_cuda() {
  EngineLog log =
      log_of({weights("CPU_Mapped", 281.25), weights("CUDA0", 8351.36), kv("CUDA0", 800)}, 41, 41);
  log.devices.push_back(device("CUDA0", "NVIDIA GeForce RTX 4070"));
  log.devices.back().selected = true;
  log.loads.back().devices = {"CUDA0"};
  log.loads.back().splits = GraphSplits{2, std::nullopt, std::nullopt, 1, false};
  return log;
}

/// The same model, all of it in host memory, with the card listed.
inline EngineLog cpu_with_card() {
  EngineLog log = log_of({weights("CPU_Mapped", 8632.61), kv("CPU", 800)}, 0, 41);
  log.devices.push_back(device("CUDA0", "NVIDIA GeForce RTX 4070"));
  return log;
}

inline EngineLog cpu_log() { return log_of({weights("CPU_Mapped", 8632.61), kv("CPU", 800)}); }

/// 8 blocks of 100 MiB, an embedding of 50, a head of 60; `tied` leaves the head out.
inline ModelFile header(bool tied = false) {
  ModelFile model;
  model.block_count = 8;
  model.tied_output = tied;
  const auto add = [&](const std::string& name, double size, int block) {
    TensorInfo tensor;
    tensor.name = name;
    tensor.bytes = mib(size);
    tensor.block = block;
    model.tensor_bytes += tensor.bytes;
    model.tensors.push_back(tensor);
  };
  add("token_embd.weight", 50, -1);
  for (int i = 0; i < 8; ++i) {
    add("blk." + std::to_string(i) + ".attn_q.weight", 40, i);
    add("blk." + std::to_string(i) + ".ffn_up.weight", 60, i);
  }
  if (!tied) add("output.weight", 60, -1);
  model.token_embd_bytes = mib(50);
  model.always_host_bytes = mib(50);
  model.bytes_per_token = model.tensor_bytes - (tied ? 0 : mib(50));
  return model;
}

inline EngineTimings timings(double prompt_rate = 600, double decode_rate = 20,
                             std::int64_t prompt = 730, std::int64_t runs = 127) {
  EngineTimings out;
  out.prompt_tokens = prompt;
  out.prompt_ms = static_cast<double>(prompt) * 1000 / prompt_rate;
  out.eval_runs = runs;
  out.eval_ms = static_cast<double>(runs) * 1000 / decode_rate;
  out.load_ms = 1800;
  return out;
}

inline ProcessFacts process_facts(std::vector<std::string> libraries,
                                  std::vector<std::string> nodes = {}) {
  ProcessFacts facts;
  facts.readable = true;
  facts.libraries = std::move(libraries);
  facts.device_nodes = std::move(nodes);
  return facts;
}

/// What was recorded of a run of `logs`, one pass each, with a card in the machine.
inline RawRun raw_run(std::size_t passes) {
  RawRun raw;
  raw.machine.gpus_known = true;
  MachineGpu gpu;
  gpu.name = "NVIDIA 10de:2786";
  raw.machine.gpus.push_back(gpu);
  raw.passes.resize(passes);
  for (RawPass& pass : raw.passes) pass.wall = Micros(10'000'000);
  return raw;
}

}  // namespace picchio::test
