// Where the findings of a monitor go: standard output, the kept log, the kept runs of falls.
#pragma once

#include "base/result.h"
#include "commands/read_run.h"
#include "evidence/monitored.h"
#include "os/append_file.h"
#include "report/rows.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace picchio {

struct MonitorOutputOptions {
  std::string keep_logs;
  bool json = false;
  std::optional<RowFormat> rows;
  bool quiet = false;
};

struct MonitorEnding {
  MonitorVerdict verdict;
  ExitCode code = ExitCode::ok;
  std::optional<ResidencyReport> residency;  // of --residency
};

class MonitorOutput {
 public:
  /// Makes the folder; a log that is there goes on.
  [[nodiscard]] static Result<MonitorOutput> open(MonitorOutputOptions options);

  /// An error: standard output cannot be written. A disk that is full is said once and does not end
  /// a watch.
  [[nodiscard]] Result<> tell(const Probe& probe, std::span<const MonitorEvent> events,
                              const MonitorStatus& status, const std::optional<Judged>& judged);

  /// For people, on stderr.
  void note(std::string_view text) const;

  /// Begins a new log where the old one was moved away.
  void reopen();

  [[nodiscard]] Result<> finish(const MonitorStatus& status, const MonitorEnding& ending);

 private:
  explicit MonitorOutput(MonitorOutputOptions options);

  [[nodiscard]] Result<> print(std::string_view text) const;
  [[nodiscard]] Result<> print_text(const std::string& line) const;
  void keep(std::string_view text);
  void keep_run(const Judged& judged, std::int64_t probe);
  void cannot_keep(const Error& error);

  MonitorOutputOptions options_;
  bool colour_ = false;
  std::optional<RowWriter> writer_;
  bool rows_begun_ = false;
  std::optional<os::AppendFile> log_;
  bool told_of_disk_ = false;
  int runs_kept_ = 0;
};

}  // namespace picchio
