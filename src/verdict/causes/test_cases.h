// Test support: runs and logs with the cause that each must be given, by the part of the table that
// finds it.
#pragma once

#include "verdict/causes/evidence.h"
#include "verdict/test_values.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace picchio::test {

using MeasuredRun = picchio::Run;
using Kind = LogEventKind;

struct Case {
  const char* name;
  const char* id;  // "none": no cause
  EngineLog log;
  bool measured = false;
  std::vector<std::string> args = {};
  std::map<std::string, std::string> environment = {};
  std::function<void(MeasuredRun&)> change = {};
};

[[nodiscard]] std::vector<Case> settings_cases();
[[nodiscard]] std::vector<Case> engine_cases();
[[nodiscard]] std::vector<Case> memory_cases();
[[nodiscard]] std::vector<Case> speed_cases();

// Logs that several parts begin with.

inline EngineLog plus(EngineLog log, LogEventKind kind, const std::string& text,
                      const std::string& subject = "") {
  log.events.push_back(event(kind, text, subject));
  log.events.back().line = 90;
  return log;
}

inline EngineLog change(EngineLog log, const std::function<void(EngineLog&)>& apply) {
  apply(log);
  return log;
}

inline EngineLog llvmpipe(const std::string& name) {
  EngineLog log = log_of({weights("CPU", 300), weights(name, 1900)}, 29, 29);
  log.devices.push_back(device(name, "llvmpipe (LLVM 22.1.8, 256 bits)", DeviceKind::software));
  return log;
}

inline EngineLog partial(int on_gpu = 22) {
  return log_of({weights("CPU", 1720), weights("CUDA0", 2965), kv("CUDA0", 100)}, on_gpu, 33);
}

inline EngineLog experts_on_host() {
  return log_of({weights("CPU_Mapped", 16500), weights("CUDA0", 1400), kv("CUDA0", 100)}, 49, 49);
}

inline EngineLog cache_on_host() {
  return log_of({weights("CPU", 107), weights("CUDA0", 8694), kv("CPU", 4900)}, 41, 41);
}

inline EngineLog tied_head_on_host() {
  EngineLog log = log_of({weights("CPU_Mapped", 50), weights("CUDA0", 800), kv("CUDA0", 9)}, 9, 9);
  log.loads.back().splits = GraphSplits{3, std::nullopt, std::nullopt, 1, false};
  return log;
}

inline EngineLog none_of_ollama() {
  EngineLog log = log_of({weights("CPU", 5600)}, 0, 31);
  log.engine = "ollama";
  log.devices.push_back(device("CUDA0", "RTX 3050"));
  return log;
}

inline EngineLog built(std::int64_t build, EngineLog log) {
  log.engine = "llama.cpp";
  log.build = build;
  return log;
}

/// 22 of 33 layers beside a cache of 4.9 GiB; 1.7 GiB of weights were left out.
inline EngineLog long_context(std::int64_t context) {
  EngineLog log = log_of({weights("CPU", 1720), weights("CUDA0", 2965), kv("CUDA0", 4900)}, 22, 33);
  log.engine = "ollama";
  log.loads.back().n_ctx = context;
  return log;
}

inline EngineLog crowded_card(double free) {
  EngineLog log = partial();
  log.engine = "ollama";
  log.devices.push_back(device("CUDA0", "a card"));
  log.devices.back().total_bytes = mib(8192);
  log.devices.back().free_bytes = mib(free);
  return log;
}

inline EngineLog second_try() {
  EngineLog log = partial();
  log.engine = "ollama";
  Load failed;
  failed.claim = LayerClaim{33, 33, 1};
  failed.failure = "cudaMalloc failed: out of memory";
  log.loads.insert(log.loads.begin(), failed);
  return log;
}

inline EngineLog on_integrated() {
  EngineLog log = full_cuda();
  log.devices[0].integrated = true;
  log.devices.push_back(device("CUDA1", "NVIDIA GeForce RTX 4070"));
  log.devices.back().integrated = false;
  return log;
}

inline EngineLog odd_kv() {
  EngineLog log = full_cuda();
  log.loads.back().splits = GraphSplits{84, std::nullopt, std::nullopt, 1, false};
  log.loads.back().kv_type_k = "q5_1";
  log.loads.back().kv_type_v = "q5_1";
  log.loads.back().flash_attention = true;
  return log;
}

inline EngineLog with_side_model(LoadRole role) {
  EngineLog log = full_cuda();
  Load side;
  side.role = role;
  side.buffers = {weights("CPU", 500)};
  log.loads.push_back(side);
  return log;
}

}  // namespace picchio::test
