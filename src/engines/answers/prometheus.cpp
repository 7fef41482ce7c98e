#include "engines/answers/prometheus.h"

#include "base/text.h"

#include <cmath>

namespace picchio::answers {

Counters read_prometheus(std::string_view text) {
  Counters out;
  for (std::string_view line : split_lines(text)) {
    if (line.empty() || line.front() == '#') continue;
    const std::size_t end = line.find_first_of("{ ");
    if (end == std::string_view::npos) continue;
    const std::string_view name = line.substr(0, end);
    // Buckets of histograms, of which there are hundreds.
    if (name.ends_with("_bucket")) continue;
    std::string_view rest = line.substr(end);
    if (rest.front() == '{') {
      const std::size_t close = rest.find("} ");
      if (close == std::string_view::npos) continue;
      rest = rest.substr(close + 2);
    }
    rest = trim(rest);
    const auto value = parse_double(rest.substr(0, rest.find(' ')));
    if (value && std::isfinite(*value)) out[std::string(name)] += *value;
  }
  return out;
}

}  // namespace picchio::answers
