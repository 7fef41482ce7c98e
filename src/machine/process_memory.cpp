#include "machine/process_memory.h"

#include "base/text.h"
#include "os/file.h"

#include <fmt/format.h>

#include <limits>

namespace picchio {
namespace {

// 1.5 KiB on a laptop; the list of allowed CPUs and nodes grows it on large machines.
constexpr std::int64_t kMostStatusBytes = std::int64_t{1} << 20;

/// "   12345 kB", which are KiB.
std::optional<std::int64_t> bytes_of(std::string_view text) {
  constexpr std::int64_t kKiB = 1024;
  const auto count = take_int(text);
  if (!count || *count < 0 || *count > std::numeric_limits<std::int64_t>::max() / kKiB) {
    return std::nullopt;
  }
  if (trim(text) != "kB") return std::nullopt;
  return *count * kKiB;
}

}  // namespace

std::optional<Residency> parse_residency(std::string_view status) {
  std::optional<std::int64_t> resident;
  std::optional<std::int64_t> files;
  std::optional<std::int64_t> swapped = 0;
  for (std::string_view line : split_lines(status)) {
    if (take_prefix(line, "VmRSS:")) resident = bytes_of(line);
    if (take_prefix(line, "RssFile:")) files = bytes_of(line);
    if (take_prefix(line, "VmSwap:")) swapped = bytes_of(line);
  }
  if (!resident || !files || !swapped) return std::nullopt;
  return Residency{*resident, *files, *swapped};
}

std::optional<Residency> residency_of(const std::string& root, int pid) {
  const std::string_view slash = root.ends_with('/') ? "" : "/";
  const auto text =
      os::read_file(fmt::format("{}{}proc/{}/status", root, slash, pid), kMostStatusBytes);
  return text ? parse_residency(*text) : std::nullopt;
}

}  // namespace picchio
