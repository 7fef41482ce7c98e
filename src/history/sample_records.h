// Records made from random numbers for the tests of history/: every field set, strings of any
// bytes. A field that is added to one of the structs stops this file from compiling.
#pragma once

#include "evidence/stored_run.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace picchio::samples {

class Filler {
 public:
  explicit Filler(unsigned seed) : random_(seed) {}

  bool coin() { return random_() % 2 == 0; }

  void fill(std::string& out) {
    static const std::vector<std::string> texts = {"",
                                                   "plain",
                                                   "with \"quotes\", commas and \\",
                                                   "line\nbreak",
                                                   "Pfad/\xc3\xbc/\xf0\x9f\x9a\x80",
                                                   "\xff\xfe",
                                                   std::string("nul\0inside", 10),
                                                   "\xed\xa0\x80",
                                                   "\x1b[31mred",
                                                   "{\"hex\": \"41\"}"};
    out = texts[random_() % texts.size()];
  }
  void fill(bool& out) { out = coin(); }
  void fill(int& out) { out = static_cast<int>(random_()); }
  void fill(std::int64_t& out) {
    out = coin() ? std::numeric_limits<std::int64_t>::min() : static_cast<std::int64_t>(random_());
  }
  void fill(double& out) { out = std::uniform_real_distribution<double>(0, 1e9)(random_); }
  void fill(State& out) { out = static_cast<State>(random_() % 7); }
  void fill(Engagement& out) { out = static_cast<Engagement>(random_() % 4); }
  void fill(Witness& out) { out = static_cast<Witness>(random_() % 8); }
  void fill(Word& out) { out = static_cast<Word>(random_() % 3); }
  void fill(Moment& out) {
    out = Moment(std::chrono::microseconds(1'700'000'000'000'000 +
                                           static_cast<std::int64_t>(random_() % (1ULL << 50))));
  }
  template <class T>
  void fill(std::optional<T>& out) {
    out.reset();
    if (coin()) fill(out.emplace());
  }
  template <class T>
  void fill(std::vector<T>& out) {
    out.resize(random_() % 4);
    for (T& each : out) fill(each);
  }
  template <class T, std::size_t N>
  void fill(std::array<T, N>& out) {
    for (T& each : out) fill(each);
  }

  template <class... T>
  void each(T&... values) {
    (fill(values), ...);
  }

  void fill(Rate& value) {
    auto& [a, b] = value;
    each(a, b);
  }
  void fill(LaneFigures& value) {
    auto& [a, b, c, d] = value;
    each(a, b, c, d);
  }
  void fill(PhaseFigures& value) {
    auto& [a, b, c] = value;
    each(a, b, c);
  }
  void fill(ColdPassFigures& value) {
    auto& [a, b, c, d, e, f, g, h] = value;
    each(a, b, c, d, e, f, g, h);
  }
  void fill(DeviceBytes& value) {
    auto& [a, b, c] = value;
    each(a, b, c);
  }
  void fill(PlacementFigures& value) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l] = value;
    each(a, b, c, d, e, f, g, h, i, j, k, l);
  }
  void fill(MeterFigures& value) {
    auto& [a, b, c, d, e, f, g] = value;
    each(a, b, c, d, e, f, g);
  }
  void fill(CpuFigures& value) {
    auto& [a, b, c] = value;
    each(a, b, c);
  }
  void fill(MachineFigures& value) {
    auto& [a, b, c, d, e] = value;
    each(a, b, c, d, e);
  }
  void fill(BuildFigures& value) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = value;
    each(a, b, c, d, e, f, g, h, i, j, k, l, m);
  }
  void fill(Sampling& value) {
    auto& [a, b, c, d, e] = value;
    each(a, b, c, d, e);
  }
  void fill(RunFigures& value) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w] = value;
    each(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w);
    // A run has a model.
    if (value.model.empty()) value.model = "m";
  }
  void fill(Testimony& value) {
    auto& [a, b, c] = value;
    each(a, b, c);
  }
  void fill(RecordedRun& value) {
    auto& [a, b, c, d, e, f, g, h] = value;
    each(a, b, c, d, e, f, g, h);
  }

 private:
  std::mt19937_64 random_;
};

inline RecordedRun random_record(unsigned seed) {
  RecordedRun out;
  Filler(seed).fill(out);
  return out;
}

/// A plain run of a model on one machine.
inline RecordedRun record(const std::string& model, double decode, std::int64_t second = 0) {
  RecordedRun out;
  out.at = Moment(std::chrono::seconds(1'790'000'000 + second));
  out.host = "box";
  out.model_key = "/models/" + model;
  out.model_file = out.model_key;
  out.rule = "all_on_gpu";
  out.testimonies = {{Witness::allocation, Word::gpu, "5.3 GiB on CUDA0"}};
  RunFigures& figures = out.figures;
  figures.model = model;
  figures.engine = "llama.cpp";
  figures.build = "b9430";
  figures.state = State::healthy;
  figures.protocol = "mp1";
  figures.version = "0.1.0";
  figures.context = 4096;
  figures.machine = {"AMD EPYC", "GeForce RTX 4090", 1, 64.0, "Linux 6.1.0"};
  figures.more.driver = "550.1";
  figures.more.kv_type_k = "f16";
  figures.more.kv_type_v = "f16";
  figures.placement.gpu_share = 1.0;
  figures.lane(Lane::prefill) = {
      {10 * decode, false}, {10 * decode, false}, 10 * decode, 10 * decode};
  figures.lane(Lane::decode) = {{decode, false}, {decode, false}, decode - 0.1, decode + 0.1};
  figures.lane(Lane::wallclock) = {
      {decode / 2, false}, {decode / 2, false}, decode / 2, decode / 2};
  return out;
}

}  // namespace picchio::samples
