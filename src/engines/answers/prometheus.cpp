#include "engines/answers/prometheus.h"

#include "base/text.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace picchio::answers {
namespace {

struct Sample {
  std::string_view name;
  std::string model;         // its label "model_name"; empty: it has none
  std::string_view written;  // the number
  double value = 0;
};

/// A label's value from behind its first quote on, up to and with the last one. False: it has none.
bool take_quoted(std::string_view& text, std::string& out) {
  while (!text.empty()) {
    const char c = text.front();
    text.remove_prefix(1);
    if (c == '"') return true;
    if (c != '\\') {
      out += c;
      continue;
    }
    if (text.empty()) return false;
    out += text.front() == 'n' ? '\n' : text.front();
    text.remove_prefix(1);
  }
  return false;
}

/// "{a="b",c="d"}" off the front. False: it is cut or no list of labels.
bool take_labels(std::string_view& text, std::string& model) {
  text.remove_prefix(1);
  while (true) {
    text = trim(text);
    if (take_prefix(text, "}")) return true;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) return false;
    const std::string_view key = trim(text.substr(0, equals));
    text = trim(text.substr(equals + 1));
    std::string value;
    if (!take_prefix(text, "\"") || !take_quoted(text, value)) return false;
    if (key == "model_name") model = std::move(value);
    text = trim(text);
    take_prefix(text, ",");
  }
}

std::optional<Sample> sample_of(std::string_view line) {
  if (line.empty() || line.front() == '#') return std::nullopt;
  const std::size_t end = line.find_first_of("{ ");
  if (end == std::string_view::npos) return std::nullopt;
  Sample out;
  out.name = line.substr(0, end);
  // Buckets of histograms, of which there are hundreds.
  if (out.name.ends_with("_bucket")) return std::nullopt;
  std::string_view rest = line.substr(end);
  if (rest.front() == '{' && !take_labels(rest, out.model)) return std::nullopt;
  rest = trim(rest);
  out.written = rest.substr(0, rest.find(' '));
  const auto value = parse_double(out.written);
  if (!value || !std::isfinite(*value)) return std::nullopt;
  out.value = *value;
  return out;
}

double step_of(const Sample& sample) {
  // What a C++ stream prints of a floating number unless told otherwise.
  constexpr int kStreamDigits = 6;
  if (sample.value == 0) return 0;
  const std::string_view mantissa = sample.written.substr(0, sample.written.find_first_of("eE"));
  const auto digits = std::ranges::count_if(mantissa, is_digit);
  // 345678.4 s stands as "345678"; what is counted is whole by nature.
  const bool whole = sample.written.find_first_of(".eE") == std::string_view::npos &&
                     !sample.name.contains("seconds");
  if (whole || digits > kStreamDigits) return 0;
  return std::pow(10.0, std::floor(std::log10(std::abs(sample.value))) - (kStreamDigits - 1));
}

}  // namespace

Counters read_prometheus(std::string_view text) {
  Counters out;
  for (const std::string_view line : split_lines(text)) {
    if (const auto sample = sample_of(line)) out[std::string(sample->name)] += sample->value;
  }
  return out;
}

Exposition read_exposition(std::string_view text, std::string_view model) {
  constexpr std::size_t kMostModels = 16;
  Exposition out;
  for (const std::string_view line : split_lines(text)) {
    const auto sample = sample_of(line);
    if (!sample) continue;
    if (!sample->model.empty() && out.models.size() < kMostModels &&
        std::ranges::find(out.models, sample->model) == out.models.end()) {
      out.models.push_back(sample->model);
    }
    if (!model.empty() && !sample->model.empty() && sample->model != model) continue;
    Metric& metric = out.series[std::string(sample->name)];
    metric.value += sample->value;
    metric.step += step_of(*sample);
  }
  return out;
}

}  // namespace picchio::answers
