#include "commands/monitor/output.h"

#include "base/text.h"
#include "commands/terminal.h"
#include "kept/folder.h"
#include "os/file.h"
#include "report/monitored.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace picchio {
namespace {

// A server that falls with every other probe would fill the disk.
constexpr int kMostRuns = 32;

bool tells_of_a_fall(const MonitorEvent& event) {
  return event.kind == MonitorEvent::Kind::standing && is_fall(event.to);
}

}  // namespace

MonitorOutput::MonitorOutput(MonitorOutputOptions options) : options_(std::move(options)) {
  colour_ = options_.json || options_.rows ? stderr_wants_colour() : stdout_wants_colour();
  if (options_.rows) writer_.emplace(*options_.rows, kProbeTable, probe_columns());
}

Result<MonitorOutput> MonitorOutput::open(MonitorOutputOptions options) {
  MonitorOutput out(std::move(options));
  const std::string& folder = out.options_.keep_logs;
  if (folder.empty()) return out;
  if (const Result<> made = os::make_dirs(folder); !made) return std::unexpected(made.error());
  Result<os::AppendFile> log = os::AppendFile::open(folder + "/monitor.jsonl");
  if (!log) return std::unexpected(log.error());
  out.log_ = *std::move(log);
  return out;
}

void MonitorOutput::note(std::string_view text) const {
  print_stderr(fmt::format("picchio: {}\n", text));
}

Result<> MonitorOutput::print(std::string_view text) const { return print_stdout(text); }

/// Text is the product unless another one is; then it is for whoever looks on.
Result<> MonitorOutput::print_text(const std::string& line) const {
  if (!options_.json && !options_.rows) return print_stdout(line);
  print_stderr(line);
  return {};
}

void MonitorOutput::cannot_keep(const Error& error) {
  if (std::exchange(told_of_disk_, true)) return;
  print_stderr(fmt::format("picchio: not everything is kept: {}\n", plain(error.message)));
}

void MonitorOutput::keep(std::string_view text) {
  if (!log_) return;
  const Result<> kept = log_->append(text);
  if (!kept) cannot_keep(kept.error());
  if (kept) told_of_disk_ = false;
}

void MonitorOutput::keep_run(const Judged& judged, std::int64_t probe) {
  if (options_.keep_logs.empty() || runs_kept_ >= kMostRuns) return;
  ++runs_kept_;
  const std::string folder = fmt::format("{}/probe-{:06}", options_.keep_logs, probe);
  Result<> kept = kept::write_run(folder, judged.run.raw);
  if (kept) kept = kept::write_pass(folder, judged.run.raw, 0);
  if (!kept) cannot_keep(kept.error());
}

void MonitorOutput::reopen() {
  if (!log_) return;
  if (const Result<> done = log_->reopen(); !done) cannot_keep(done.error());
}

Result<> MonitorOutput::tell(const Probe& probe, std::span<const MonitorEvent> events,
                             const MonitorStatus& status, const std::optional<Judged>& judged) {
  std::string json = probe_json(probe, status.standing);
  for (const MonitorEvent& event : events) json += event_json(event);
  keep(json);
  if (judged && probe.end == ProbeEnd::answered && std::ranges::any_of(events, tells_of_a_fall)) {
    keep_run(*judged, probe.number);
  }
  if (options_.json) {
    if (const Result<> printed = print(json); !printed) return printed;
  }
  if (writer_) {
    std::string rows = std::exchange(rows_begun_, true) ? "" : writer_->begin();
    rows += writer_->row(probe_cells(probe, status.standing));
    if (const Result<> printed = print(rows); !printed) return printed;
  }
  std::string text;
  if (!options_.quiet) text += probe_line(probe, status.standing) + "\n";
  for (const MonitorEvent& event : events) text += event_line(event, colour_) + "\n";
  return text.empty() ? Result<>() : print_text(text);
}

Result<> MonitorOutput::finish(const MonitorStatus& status, const MonitorEnding& ending) {
  const std::string json =
      monitor_summary_json(status, ending.verdict, static_cast<int>(ending.code), ending.residency);
  keep(json);
  if (options_.json) {
    if (const Result<> printed = print(json); !printed) return printed;
  }
  if (writer_) {
    const std::string rows = (rows_begun_ ? "" : writer_->begin()) + writer_->end();
    if (const Result<> printed = print(rows); !printed) return printed;
  }
  return print_text(monitor_summary(status, ending.verdict, ending.residency));
}

}  // namespace picchio
