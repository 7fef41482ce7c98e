#include "machine/server_log.h"

#include "base/text.h"
#include "os/file.h"
#include "os/process.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

namespace picchio {
namespace {

constexpr std::int64_t kMostCgroup = std::int64_t{1} << 16;
constexpr std::int64_t kMostFdInfo = std::int64_t{1} << 16;
// Enough to tell two logs apart by: lines carry times and numbers.
constexpr std::int64_t kTellingBytes = 256;
constexpr Micros kJournalPatience = std::chrono::seconds(10);

std::string under(const std::string& root, std::string_view path) {
  return (root.ends_with('/') ? root.substr(0, root.size() - 1) : root) + std::string(path);
}

bool is_regular(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

/// A file that was opened for appending ("server >>log") may begin with an older process.
bool opened_for_appending(const std::string& root, int pid, int fd) {
  const auto text =
      os::read_file(under(root, fmt::format("/proc/{}/fdinfo/{}", pid, fd)), kMostFdInfo);
  if (!text) return true;
  for (std::string_view line : split_lines(*text)) {
    if (!take_prefix(line, "flags:")) continue;
    std::int64_t flags = 0;
    for (const char c : trim(line)) {
      if (c < '0' || c > '7') return true;
      flags = flags * 8 + (c - '0');
    }
    constexpr std::int64_t kAppend = 02000;  // O_APPEND of every architecture that Linux has
    return (flags & kAppend) != 0;
  }
  return true;
}

std::string kind_of_target(std::string_view target) {
  if (target.starts_with("/dev/pts/") || target.starts_with("/dev/tty")) return "a terminal";
  if (target.starts_with("pipe:")) return "a pipe to another program";
  if (target.starts_with("socket:")) return "a socket";
  if (target == "/dev/null") return "thrown away";
  return "no file";
}

std::string now_as_journal_time() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  constexpr std::int64_t kMillion = 1'000'000;
  return fmt::format("@{}.{:06}", micros / kMillion, micros % kMillion);
}

}  // namespace

SystemdUnit unit_in_cgroup(std::string_view text) {
  for (const std::string_view line : split_lines(text)) {
    // The innermost one: a user's manager is itself a unit of the system's.
    const std::vector<std::string_view> parts = split(line, '/');
    for (std::size_t i = parts.size(); i-- > 0;) {
      if (!parts[i].ends_with(".service") || parts[i].starts_with("user@")) continue;
      return {std::string(parts[i]), line.contains("/user@")};
    }
  }
  return {};
}

ServerLog ServerLog::of(const std::string& root, int pid, const std::string& fallback,
                        const os::Interrupts& interrupts) {
  ServerLog out(interrupts);
  std::string stderr_kind;
  for (const int fd : {2, 1}) {
    const std::string link = under(root, fmt::format("/proc/{}/fd/{}", pid, fd));
    const Result<std::string> target = os::read_link(link);
    if (!target) {
      out.none_because_ = "its open files may not be looked at";
      continue;
    }
    if (is_regular(link)) {
      out.path_ = link;
      out.may_hold_older_ = opened_for_appending(root, pid, fd);
      out.source_ = fd == 2 ? "its standard error (a file)" : "its standard output (a file)";
      out.mark();
      return out;
    }
    if (fd == 2) stderr_kind = kind_of_target(*target);
  }
  const auto cgroup = os::read_file(under(root, fmt::format("/proc/{}/cgroup", pid)), kMostCgroup);
  const SystemdUnit unit = cgroup ? unit_in_cgroup(*cgroup) : SystemdUnit{};
  if (!unit.name.empty() && os::find_on_path("journalctl")) {
    out.unit_ = unit.name;
    out.user_unit_ = unit.user;
    out.source_ = "the journal of " + unit.name;
    out.mark();
    return out;
  }
  if (!fallback.empty() && is_regular(fallback)) {
    out.path_ = fallback;
    out.source_ = fallback;
    out.mark();
    return out;
  }
  if (!stderr_kind.empty()) out.none_because_ = "its standard error is " + stderr_kind;
  return out;
}

std::string ServerLog::before() const {
  if (path_.empty() || may_hold_older_) return {};
  return os::read_part(path_, std::max<std::int64_t>(0, mark_ - kMostServerLog),
                       std::min(mark_, kMostServerLog))
      .value_or("");
}

void ServerLog::mark() {
  marked_time_ = now_as_journal_time();
  std::error_code failed;
  const auto size = path_.empty() ? 0 : std::filesystem::file_size(path_, failed);
  mark_ = failed ? 0 : static_cast<std::int64_t>(size);
  before_mark_ = bytes_before_mark(kTellingBytes);
}

std::string ServerLog::appended() const {
  if (!unit_.empty()) return journal();
  if (path_.empty()) return {};
  return os::read_part(path_, mark_, kMostServerLog).value_or("");
}

std::string ServerLog::take() {
  if (!unit_.empty()) {
    // Twice is better than never.
    const std::string now = now_as_journal_time();
    std::string text = journal();
    marked_time_ = now;
    return text;
  }
  if (path_.empty()) return {};
  std::error_code failed;
  const auto size = static_cast<std::int64_t>(std::filesystem::file_size(path_, failed));
  if (failed) return {};
  // Rotation by copy and truncation: what came after it may be more than there was before.
  const bool anew = size < mark_ || bytes_before_mark(std::ssize(before_mark_)) != before_mark_;
  if (anew) mark_ = 0;
  skipped_ = size - mark_ > kMostServerLog;
  mark_ = std::max(mark_, size - kMostServerLog);
  std::string text = os::read_part(path_, mark_, size - mark_).value_or("");
  mark_ += static_cast<std::int64_t>(text.size());
  before_mark_ = bytes_before_mark(kTellingBytes);
  return text;
}

std::string ServerLog::bytes_before_mark(std::int64_t count) const {
  const std::int64_t bytes = std::min(count, mark_);
  if (path_.empty() || bytes <= 0) return {};
  return os::read_part(path_, mark_ - bytes, bytes).value_or("");
}

std::string ServerLog::journal() const {
  const auto program = os::find_on_path("journalctl");
  if (!program) return {};
  const Result<os::Capture> capture =
      os::run_simple({*program, user_unit_ ? "--user-unit" : "--unit", unit_, "--since",
                      marked_time_, "--output", "cat", "--no-pager", "--quiet"},
                     kJournalPatience, kMostServerLog, *interrupts_);
  // One without the right to read it prints nothing.
  return capture && capture->exit_code == 0 ? capture->stdout_head : "";
}

}  // namespace picchio
