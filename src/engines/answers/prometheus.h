// A /metrics text. Pure.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace picchio::answers {

/// By the series' name; sums over its labels, since a server with one model has one of each.
using Counters = std::map<std::string, double, std::less<>>;

/// Lines that cannot be read, numbers that are none and the buckets of histograms are left out.
[[nodiscard]] Counters read_prometheus(std::string_view text);

}  // namespace picchio::answers
