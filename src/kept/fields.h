// The fields of a recorded run by name, each described once for writing and reading; include only
// from a .cpp. A field added to one of these structs is added here: the round trip in
// codec_test.cpp fills every byte it knows of.
#pragma once

#include "evidence/run.h"
#include "kept/json_archive.h"

namespace picchio::kept {

template <class A>
void describe(A& archive, Ref<A, EngineProgram> value) {
  archive("path", value.path);
  archive("name", value.name);
  archive("version", value.version);
  archive("build", value.build);
}

template <class A>
void describe(A& archive, Ref<A, MachineGpu> value) {
  archive("name", value.name);
  archive("vendor", value.vendor);
  archive("address", value.address);
  archive("driver", value.driver);
  archive("source", value.source);
  archive("can_compute", value.can_compute);
  archive("no_compute_reason", value.no_compute_reason);
}

template <class A>
void describe(A& archive, Ref<A, BrokenLink> value) {
  archive("cause", value.cause);
  archive("found", value.found);
  archive("remedy", value.remedy);
}

template <class A>
void describe(A& archive, Ref<A, MemoryModules> value) {
  archive("slots", value.slots);
  archive("filled", value.filled);
}

template <class A>
void describe(A& archive, Ref<A, Machine> value) {
  archive("chip", value.chip);
  archive("os", value.os);
  archive("distribution", value.distribution);
  archive("ram_bytes", value.ram_bytes);
  archive("logical_cores", value.logical_cores);
  archive("gpus", value.gpus);
  archive("gpus_known", value.gpus_known);
  archive("gpus_unknown_reason", value.gpus_unknown_reason);
  archive("broken_links", value.broken_links);
  archive("ram_bytes_per_second", value.ram_bytes_per_second);
  archive("last_level_cache_bytes", value.last_level_cache_bytes);
  archive("memory_modules", value.memory_modules);
}

template <class A>
void describe(A& archive, Ref<A, ModelFile> value) {
  archive("path", value.path);
  archive("name", value.name);
  archive("architecture", value.architecture);
  archive("file_type", value.file_type);
  archive("file_bytes", value.file_bytes);
  archive("tensor_bytes", value.tensor_bytes);
  archive("parameters", value.parameters);
  archive("shards", value.shards);
  archive("block_count", value.block_count);
  archive("context_length", value.context_length);
  archive("expert_count", value.expert_count);
  archive("expert_used_count", value.expert_used_count);
  archive("nextn_predict_layers", value.nextn_predict_layers);
  archive("tied_output", value.tied_output);
  archive("always_host_bytes", value.always_host_bytes);
  archive("skipped_bytes", value.skipped_bytes);
  archive("token_embd_bytes", value.token_embd_bytes);
  archive("bytes_per_token", value.bytes_per_token);
  archive("tensors", value.tensors);
}

template <class A>
void describe(A& archive, Ref<A, LocalWorker> value) {
  archive("endpoint", value.endpoint);
  archive("process", value.process);
  archive("libraries", value.libraries);
  archive("device_nodes", value.device_nodes);
}

template <class A>
void describe(A& archive, Ref<A, ProcessFacts> value) {
  archive("readable", value.readable);
  archive("libraries", value.libraries);
  archive("device_nodes", value.device_nodes);
  archive("processes", value.processes);
  archive("workers", value.workers);
  archive("renderer", value.renderer);
}

/// All of an exchange but the answer's body and stamps, which are files of their own.
template <class A>
void describe(A& archive, Ref<A, RawExchange> value) {
  archive("request", value.request);
  archive("prompt_bytes", value.prompt_bytes);
  archive("latency_us", value.latency);
  archive("claim", value.claim);
  archive("counters_before", value.counters_before);
  archive("counters_after", value.counters_after);
}

template <class A>
void describe(A& archive, Ref<A, ServerFacts> value) {
  archive("kind", value.kind);
  archive("url", value.url);
  archive("version", value.version);
  archive("model", value.model);
  archive("model_file", value.model_file);
  archive("local", value.local);
  archive("unseen_because", value.unseen_because);
  archive("process", value.process);
  archive("command_line", value.command_line);
  archive("loads_on_request", value.loads_on_request);
  archive("log_source", value.log_source);
  archive("no_log_because", value.no_log_because);
  archive("quant", value.quant);
  archive("weight_bytes", value.weight_bytes);
  archive("parameters", value.parameters);
  archive("context", value.context);
  archive("notes", value.notes);
}

/// All of a pass but its log and stamps, which are files of their own.
template <class A>
void describe(A& archive, Ref<A, RawPass> value) {
  archive("wall_us", value.wall);
  archive("exit_code", value.exit_code);
  archive("prompt_prefix", value.prompt_prefix);
  archive("argv", value.argv);
  archive("stdout_bytes", value.stdout_bytes);
  archive("stdout_reads", value.stdout_reads);
  archive("first_token_us", value.first_token);
  archive("last_token_us", value.last_token);
  archive("cached_fraction", value.cached_fraction);
  archive("cache_dropped", value.cache_dropped);
  archive("repeats", value.repeats);
  archive("process", value.process);
  archive("cpu", value.cpu);
  archive("began_us", value.began);
  archive("exchange", value.exchange);
}

/// All of a run but its passes.
template <class A>
void describe(A& archive, Ref<A, RawRun> value) {
  archive("picchio_version", value.picchio_version);
  archive("protocol", value.protocol);
  archive("engine", value.engine);
  archive("model_label", value.model_label);
  archive("user_args", value.user_args);
  archive("environment", value.environment);
  archive("context_asked", value.context_asked);
  archive("tokens_asked", value.tokens_asked);
  archive("prompt_note", value.prompt_note);
  archive("machine", value.machine);
  archive("model", value.model);
  archive("server", value.server);
}

}  // namespace picchio::kept
