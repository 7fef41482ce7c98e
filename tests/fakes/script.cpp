#include "script.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace fake {

Words words_of(const std::string& line) {
  std::istringstream stream(line);
  Words words;
  for (std::string word; stream >> word && word.front() != '#';) words.push_back(word);
  return words;
}

double number(const std::string& text) {
  std::size_t used = 0;
  const double value = std::stod(text, &used);
  if (used != text.size()) throw std::invalid_argument("no number: " + text);
  return value;
}

std::int64_t whole(const std::string& text) { return static_cast<std::int64_t>(number(text)); }

Curve curve(const Words& words, std::size_t from) {
  std::vector<std::pair<double, double>> points;
  for (std::size_t i = from; i < words.size(); ++i) {
    const std::size_t colon = words[i].find(':');
    if (colon == std::string::npos) throw std::invalid_argument("no point: " + words[i]);
    points.emplace_back(number(words[i].substr(0, colon)), number(words[i].substr(colon + 1)));
  }
  return Curve(std::move(points));
}

std::optional<double> Curve::at(double ms) const {
  if (points_.empty()) return std::nullopt;
  // The last point at or before `ms`: of two at one time the second counts.
  const auto after = std::ranges::upper_bound(points_, ms, {}, &std::pair<double, double>::first);
  if (after == points_.begin()) return points_.front().second;
  const auto& before = *(after - 1);
  if (after == points_.end()) return before.second;
  const double part = (ms - before.first) / (after->first - before.first);
  return before.second + part * (after->second - before.second);
}

std::optional<double> Curve::integral(double ms) const {
  if (points_.empty()) return std::nullopt;
  double area = 0;
  double from = 0;
  double value = *at(0);
  for (const auto& [time, next] : points_) {
    if (time > ms) break;
    if (time >= from) area += (time - from) * (value + next) / 2;
    from = std::max(from, time);
    value = next;
  }
  return (area + (ms - from) * (value + *at(ms)) / 2) / 1000;
}

unsigned script_pid(const std::string& text) {
  if (!text.starts_with('@')) return static_cast<unsigned>(std::stoul(text));
  unsigned found = 0;
  std::ifstream(text.substr(1)) >> found;
  return found;
}

void play_script(const char* who, const char* variable,
                 const std::function<void(const std::string&)>& read_line) {
  const char* const path = std::getenv(variable);
  std::ifstream file(path != nullptr ? path : "");
  if (!file) {
    std::fprintf(stderr, "%s: %s names no file that can be read\n", who, variable);
    std::abort();
  }
  int number_of_line = 0;
  for (std::string line; std::getline(file, line);) {
    ++number_of_line;
    try {
      read_line(line);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s: %s:%d: %s: %s\n", who, path, number_of_line, error.what(),
                   line.c_str());
      std::abort();
    }
  }
}

}  // namespace fake
