// The fields of a run's figures by name, each described once for writing and reading; include only
// from a .cpp. A field added to one of these structs is added here: the round trip in
// record_json_test.cpp fills all it knows of.
#pragma once

#include "evidence/stored_run.h"
#include "kept/json_archive.h"

#include <array>
#include <optional>
#include <span>
#include <string>

namespace picchio {

inline constexpr std::array kStates = {
    State::healthy,           State::cpu_only_machine,    State::no_placement_evidence,
    State::partial_offload,   State::silent_cpu_fallback, State::conflicting_evidence,
    State::no_timing_evidence};
inline constexpr std::array kEngagements = {Engagement::engaged, Engagement::partial,
                                            Engagement::not_engaged, Engagement::no_evidence};
inline constexpr std::array kWitnesses = {
    Witness::claim,   Witness::allocation, Witness::device,    Witness::schedule,
    Witness::process, Witness::gpu_meter,  Witness::cpu_meter, Witness::timing};
inline constexpr std::array kWords = {Word::gpu, Word::partial, Word::cpu};

/// A word that a later picchio knows leaves the field absent.
template <class E>
[[nodiscard]] std::optional<E> by_name(std::span<const E> all, std::string_view name) {
  for (const E each : all) {
    if (name_of(each) == name) return each;
  }
  return std::nullopt;
}

template <class A>
inline constexpr bool kReads = std::is_same_v<A, kept::Reader>;

template <class A, class E, std::size_t N>
void describe_word(A& archive, const char* key, kept::Ref<A, std::optional<E>> value,
                   const std::array<E, N>& all) {
  std::optional<std::string> name;
  if (value) name = std::string(name_of(*value));
  archive(key, name);
  if constexpr (kReads<A>) value = name ? by_name<E>(all, *name) : std::nullopt;
}

template <class A>
void describe(A& archive, kept::Ref<A, Rate> value) {
  archive("value", value.value);
  archive("abstains", value.abstains);
}

template <class A>
void describe(A& archive, kept::Ref<A, LaneFigures> value) {
  archive("cold", value.cold);
  archive("warm", value.warm);
  archive("low", value.low);
  archive("high", value.high);
}

template <class A>
void describe(A& archive, kept::Ref<A, PhaseFigures> value) {
  archive("seconds", value.seconds);
  archive("percent", value.percent);
  archive("marks", value.marks);
}

template <class A>
void describe(A& archive, kept::Ref<A, ColdPassFigures> value) {
  archive("seconds", value.seconds);
  archive("threads", value.threads);
  archive("cores", value.cores);
  archive("cache", value.cache);
  archive("load", value.load);
  archive("prefill", value.prefill);
  archive("decode", value.decode);
  archive("misc", value.misc);
}

template <class A>
void describe(A& archive, kept::Ref<A, DeviceBytes> value) {
  archive("device", value.device);
  archive("bytes", value.bytes);
  archive("note", value.note);
}

template <class A>
void describe(A& archive, kept::Ref<A, PlacementFigures> value) {
  describe_word<A, Engagement>(archive, "engagement", value.engagement, kEngagements);
  archive("reason", value.reason);
  archive("layers_on_gpu", value.layers_on_gpu);
  archive("layers_total", value.layers_total);
  archive("claimed_share", value.claimed_share);
  archive("backend", value.backend);
  archive("device", value.device);
  archive("device_count", value.device_count);
  archive("arguments", value.arguments);
  archive("gpu_share", value.gpu_share);
  archive("kv", value.kv);
  archive("devices", value.devices);
}

template <class A>
void describe(A& archive, kept::Ref<A, MeterFigures> value) {
  archive("not_sampled", value.not_sampled);
  archive("idle_percent", value.idle_percent);
  archive("work_percent", value.work_percent);
  archive("memory_bytes", value.memory_bytes);
  archive("watts", value.watts);
  archive("joules_per_token", value.joules_per_token);
  archive("throttled", value.throttled);
}

template <class A>
void describe(A& archive, kept::Ref<A, CpuFigures> value) {
  archive("busy_cores", value.busy_cores);
  archive("cores", value.cores);
  archive("threads", value.threads);
}

template <class A>
void describe(A& archive, kept::Ref<A, MachineFigures> value) {
  archive("chip", value.chip);
  archive("gpu", value.gpu);
  archive("gpu_count", value.gpu_count);
  archive("ram_gib", value.ram_gib);
  archive("os", value.os);
}

template <class A>
void describe(A& archive, kept::Ref<A, BuildFigures> value) {
  archive("kv_type_k", value.kv_type_k);
  archive("kv_type_v", value.kv_type_v);
  archive("flash_attention", value.flash_attention);
  archive("n_batch", value.batch);
  archive("n_ubatch", value.ubatch);
  archive("driver", value.driver);
  archive("bits_per_weight", value.bits_per_weight);
  archive("prompt_tokens", value.prompt_tokens);
  archive("filled_tokens", value.filled_tokens);
  archive("cache_bytes", value.cache_bytes);
  archive("compute_bytes", value.compute_bytes);
  archive("allocated_bytes", value.allocated_bytes);
  archive("gpu_allocated_bytes", value.gpu_allocated_bytes);
}

template <class A>
void describe(A& archive, kept::Ref<A, Sampling> value) {
  archive("temperature", value.temperature);
  archive("top_k", value.top_k);
  archive("top_p", value.top_p);
  archive("min_p", value.min_p);
  archive("seed", value.seed);
}

template <class A>
void describe(A& archive, kept::Ref<A, RunFigures> value) {
  archive("model", value.model);
  archive("parameters", value.parameters);
  archive("quant", value.quant);
  archive("weight_bytes", value.weight_bytes);
  archive("engine", value.engine);
  archive("build", value.build);
  archive("placement", value.placement);
  archive("meter", value.meter);
  archive("cpu", value.cpu);
  archive("sampling", value.sampling);
  archive("context", value.context);
  archive("prefill", value.lane(Lane::prefill));
  archive("decode", value.lane(Lane::decode));
  archive("wallclock", value.lane(Lane::wallclock));
  archive("only_one_pass", value.only_one_pass);
  archive("server_was_warm", value.server_was_warm);
  archive("cold_pass", value.cold_pass);
  describe_word<A, State>(archive, "state", value.state, kStates);
  archive("sentence", value.sentence);
  archive("why", value.why);
  archive("fix", value.fix);
  archive("version", value.version);
  archive("protocol", value.protocol);
  archive("machine", value.machine);
  archive("more", value.more);
}

template <class A>
void describe(A& archive, kept::Ref<A, Testimony> value) {
  std::optional<Witness> witness = value.witness;
  describe_word<A, Witness>(archive, "witness", witness, kWitnesses);
  if constexpr (kReads<A>) value.witness = witness.value_or(Witness::claim);
  describe_word<A, Word>(archive, "word", value.word, kWords);
  archive("sentence", value.sentence);
}

}  // namespace picchio
