// A moment of the calendar, for records that outlive their run. Intervals never come from it.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace picchio {

/// UTC; microseconds, so that runs of one second keep their order.
using Moment = std::chrono::sys_time<std::chrono::microseconds>;

/// RFC 3339: "2026-11-29T15:12:32.004711Z".
[[nodiscard]] std::string to_rfc3339(Moment at);

/// RFC 3339 in UTC ("Z"), with none to nine digits of a second. Nothing before 2000 or after 2199:
/// such a clock was never set.
[[nodiscard]] std::optional<Moment> moment_from_rfc3339(std::string_view text);

}  // namespace picchio
