// Recorded runs made from random numbers for the tests of kept/: every field set, strings of any
// bytes, numbers of any size.
#pragma once

#include "evidence/run.h"

#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace picchio::samples {

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}

  std::int64_t whole() {
    switch (below(4)) {
      case 0:
        return std::numeric_limits<std::int64_t>::max();
      case 1:
        return std::numeric_limits<std::int64_t>::min();
      case 2:
        return 0;
      default:
        return static_cast<std::int64_t>(engine_());
    }
  }
  int number() { return static_cast<int>(engine_()); }
  double real() { return std::uniform_real_distribution<double>(-1e9, 1e9)(engine_); }
  bool coin() { return below(2) == 0; }
  std::uint64_t below(std::uint64_t limit) { return engine_() % limit; }

  std::string bytes() {
    std::string out;
    for (std::uint64_t i = below(24); i > 0; --i) out += static_cast<char>(below(256));
    return out;
  }
  std::string text() {
    static const std::vector<std::string> texts = {"",
                                                   "plain",
                                                   "with \"quotes\" and \\",
                                                   "line\nbreak",
                                                   "Pfad/\xc3\xbc/\xf0\x9f\x9a\x80",
                                                   "\xff\xfe",
                                                   std::string("nul\0inside", 10),
                                                   "\xed\xa0\x80",
                                                   "\xc0\x80",
                                                   "{\"hex\": \"41\"}"};
    return coin() ? bytes() : texts[below(texts.size())];
  }
  std::vector<std::string> texts() {
    std::vector<std::string> out;
    for (std::uint64_t i = below(5); i > 0; --i) out.push_back(text());
    return out;
  }
  template <class T>
  std::optional<T> maybe(T value) {
    return coin() ? std::optional<T>(std::move(value)) : std::nullopt;
  }
  Micros time() { return Micros(whole()); }

 private:
  std::mt19937_64 engine_;
};

inline Machine random_machine(Random& random) {
  Machine out{random.text(),
              random.text(),
              random.text(),
              random.maybe(random.whole()),
              random.maybe(random.number()),
              {},
              random.coin(),
              random.text(),
              {{random.text(), random.text(), random.text()}},
              random.maybe(random.real()),
              random.maybe(MemoryModules{random.number(), random.number()}),
              random.maybe(random.whole())};
  for (std::uint64_t i = random.below(3); i > 0; --i) {
    out.gpus.push_back({random.text(), random.text(), random.text(), random.text(), random.text(),
                        random.coin(), random.text()});
  }
  return out;
}

inline ModelFile random_model(Random& random) {
  ModelFile out;
  out.path = random.text();
  out.name = random.text();
  out.architecture = random.text();
  out.file_type = random.text();
  out.file_bytes = random.whole();
  out.tensor_bytes = random.whole();
  out.parameters = random.whole();
  for (std::uint64_t i = random.below(40); i > 0; --i) {
    out.tensors.push_back(
        {random.text(), random.text(), random.whole(), random.whole(), random.number()});
  }
  out.shards = random.texts();
  out.block_count = random.maybe(random.whole());
  out.context_length = random.maybe(random.whole());
  out.expert_count = random.maybe(random.whole());
  out.expert_used_count = random.maybe(random.whole());
  out.nextn_predict_layers = random.maybe(random.whole());
  out.tied_output = random.coin();
  out.always_host_bytes = random.whole();
  out.skipped_bytes = random.whole();
  out.token_embd_bytes = random.whole();
  out.bytes_per_token = random.whole();
  return out;
}

inline ServerFacts random_server(Random& random) {
  ServerFacts out;
  out.kind = static_cast<ServerKind>(random.below(10));
  out.url = random.text();
  out.version = random.text();
  out.model = random.text();
  out.model_file = random.text();
  out.local = random.coin();
  out.unseen_because = random.text();
  out.process = random.text();
  out.command_line = random.texts();
  out.loads_on_request = random.coin();
  out.log_source = random.text();
  out.no_log_because = random.text();
  out.quant = random.text();
  out.weight_bytes = random.maybe(random.whole());
  out.parameters = random.maybe(random.real());
  out.context = random.maybe(random.whole());
  out.notes = random.texts();
  return out;
}

/// A pass of a server has the stamps of the answer in place of the log's.
inline void answer(Random& random, RawPass& pass) {
  pass.line_stamps.clear();
  RawExchange& out = pass.exchange.emplace();
  out.request = random.text();
  out.prompt_bytes = random.maybe(random.whole());
  for (std::uint64_t i = random.below(6); i > 0; --i) {
    out.body += random.bytes() + "\n";
    out.line_stamps.push_back(random.time());
  }
  out.latency = random.maybe(random.time());
  out.claim = random.text();
  out.counters_before = random.text();
  out.counters_after = random.text();
}

inline RawPass random_pass(Random& random) {
  RawPass out;
  out.argv = random.texts();
  for (std::uint64_t i = random.below(6); i > 0; --i) {
    out.log += random.bytes() + "\n";
    out.line_stamps.push_back(random.time());
  }
  out.stdout_bytes = random.whole();
  out.first_token = random.maybe(random.time());
  out.last_token = random.maybe(random.time());
  out.stdout_reads = random.whole();
  out.wall = Micros(static_cast<std::int64_t>(random.below(1'000'000'000)));
  out.exit_code = random.number();
  for (std::uint64_t i = random.below(9); i > 0; --i) {
    out.cpu.push_back({random.time(), random.real()});
  }
  out.cached_fraction = random.maybe(random.real());
  out.cache_dropped = random.coin();
  out.repeats = random.number();
  out.process = {random.coin(), random.texts(), random.texts(), random.texts(), {}, random.text()};
  for (std::uint64_t i = random.below(3); i > 0; --i) {
    out.process.workers.push_back({random.text(), random.text(), random.texts(), random.texts()});
  }
  out.prompt_prefix = random.text();
  out.began = random.maybe(Micros(static_cast<std::int64_t>(random.below(1'000'000'000))));
  return out;
}

inline RawRun random_run(unsigned seed) {
  Random random(seed);
  RawRun out;
  out.picchio_version = random.text();
  out.protocol = random.text();
  out.engine = {random.text(), random.text(), random.text(), random.text()};
  out.machine = random_machine(random);
  if (random.coin()) out.model = random_model(random);
  out.model_label = random.text();
  out.user_args = random.texts();
  for (std::uint64_t i = random.below(4); i > 0; --i)
    out.environment[random.text()] = random.text();
  out.context_asked = random.whole();
  out.tokens_asked = random.whole();
  out.prompt_note = random.text();
  for (std::uint64_t i = 1 + random.below(4); i > 0; --i) out.passes.push_back(random_pass(random));
  if (random.coin()) {
    out.server = random_server(random);
    for (RawPass& pass : out.passes) answer(random, pass);
  }
  return out;
}

}  // namespace picchio::samples
