// A /metrics text. Pure.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace picchio::answers {

/// By the series' name; sums over its labels, since a server with one model has one of each.
using Counters = std::map<std::string, double, std::less<>>;

/// Lines that cannot be read, numbers that are none and the buckets of histograms are left out.
[[nodiscard]] Counters read_prometheus(std::string_view text);

struct Metric {
  double value = 0;
  /// What one step of the last digit is worth where the number may have been cut: llama-server
  /// prints six digits, so a total of 100,000 s moves by whole seconds. 0: it stands in full.
  double step = 0;
};

struct Exposition {
  std::map<std::string, Metric, std::less<>>
      series;  // sums over the labels that were not told apart
  std::vector<std::string>
      models;  // that "model_name" labels name, each once, at most 16; untrusted
};

/// As read_prometheus(). Of `model` alone where series say whose they are; empty: of all.
[[nodiscard]] Exposition read_exposition(std::string_view text, std::string_view model);

}  // namespace picchio::answers
