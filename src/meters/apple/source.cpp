#include "meters/apple/source.h"

#include "base/text.h"

#include <algorithm>
#include <array>
#include <limits>

namespace picchio::meters::apple {
namespace {

struct Reader {
  std::string_view key;
  void (*take)(Statistics&, std::int64_t);
};

// A percentage a little above is rounding; far above it is no percentage.
void take_busy(Statistics& statistics, std::int64_t value) {
  constexpr std::int64_t kMostPercent = 200;
  if (value < 0 || value > kMostPercent) return;
  statistics.busy_percent = std::min(static_cast<double>(value), 100.0);
}

constexpr Reader kReaders[] = {
    {"Device Utilization %", take_busy},
    {"GPU Activity(%)", take_busy},  // AMD and Intel, where the first is not told
    {"In use system memory",
     [](Statistics& statistics, std::int64_t value) {
       if (value >= 0) statistics.memory_bytes = value;
     }},
    {"Temperature(C)",
     [](Statistics& statistics, std::int64_t value) {
       if (value > 0 && value < 200) statistics.temperature_celsius = static_cast<double>(value);
     }},
    {"Core Clock(MHz)",
     [](Statistics& statistics, std::int64_t value) {
       if (value > 0 && value < 100'000) statistics.clock_mhz = static_cast<double>(value);
     }},
};

constexpr auto kKeys = [] {
  std::array<std::string_view, std::size(kReaders)> keys;
  std::ranges::transform(kReaders, keys.begin(), &Reader::key);
  return keys;
}();

}  // namespace

std::span<const std::string_view> statistics_keys() { return kKeys; }

void take_statistic(Statistics& statistics, std::string_view key, std::int64_t value) {
  const auto reader = std::ranges::find(kReaders, key, &Reader::key);
  if (reader != std::end(kReaders)) reader->take(statistics, value);
}

std::optional<int> pid_of_creator(std::string_view text) {
  if (!take_prefix(text, "pid ")) return std::nullopt;
  const auto pid = take_int(text);
  if (!pid || *pid <= 0 || *pid > std::numeric_limits<int>::max()) return std::nullopt;
  if (!text.empty() && text.front() != ',') return std::nullopt;
  return static_cast<int>(*pid);
}

void add_gpu_time(std::optional<std::int64_t>& sum, std::int64_t ns) {
  const std::int64_t before = sum.value_or(0);
  if (ns < 0 || ns > std::numeric_limits<std::int64_t>::max() - before) return;
  sum = before + ns;
}

}  // namespace picchio::meters::apple
