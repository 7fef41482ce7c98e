#include "engines/log_state.h"

#include "base/text.h"
#include "engines/log_devices.h"
#include "engines/log_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace picchio {
namespace {

constexpr std::size_t kMaxEvents = 400;
constexpr std::size_t kMaxNotes = 100;
constexpr std::size_t kMaxText = 400;
// Far beyond any real log; they keep a hostile one from costing time by the square of its length.
constexpr std::size_t kMaxLoads = 1000;
constexpr std::size_t kMaxBuffers = 4096;
constexpr std::size_t kMaxDevices = 256;
constexpr std::size_t kMaxRows = 256;
// Lines between two compute lines of one reservation; more means that another one began.
constexpr int kReservationGap = 12;

}  // namespace

std::int64_t bytes_of_mib(double mib) {
  constexpr double kMiB = 1024.0 * 1024.0;
  // Beyond 8 EiB no number means anything, and the conversion would be undefined.
  constexpr double kLimit = 8.0e12;
  return static_cast<std::int64_t>(std::llround(std::clamp(mib, -kLimit, kLimit) * kMiB));
}

bool is_projector_line(std::string_view text) {
  for (const std::string_view name :
       {"clip_", "alloc_compute_meta:", "reserve_compute_meta:", "mtmd_", "load_hparams:"}) {
    if (text.starts_with(name)) return true;
  }
  return false;
}

std::size_t LogState::open_load(LoadRole role, int line) {
  Load load;
  load.role = role;
  load.first_line = line;
  load.last_line = line;
  LoadNotes notes;
  if (role == LoadRole::main && !log.loads.empty()) {
    // "loading model 'x'" stood before the planning pass, the load itself comes after it.
    for (std::size_t i = log.loads.size(); i-- > 0 && load.model_path.empty();) {
      if (log.loads[i].role != LoadRole::main) continue;
      if (load_notes[i].body || log.loads[i].failure || load_notes[i].process != process_) break;
      load.model_path = log.loads[i].model_path;
    }
  }
  notes.in_fit = in_fit_;
  notes.extra_probe = in_fit_ && extra_probe_;
  notes.process = process_;
  if (log.loads.size() >= kMaxLoads) forget_oldest_loads();
  log.loads.push_back(std::move(load));
  load_notes.push_back(std::move(notes));
  return log.loads.size() - 1;
}

// A journal of months: only the newest loads can still count.
void LogState::forget_oldest_loads() {
  constexpr std::size_t kHalf = kMaxLoads / 2;
  log.loads.erase(log.loads.begin(), log.loads.begin() + kHalf);
  load_notes.erase(load_notes.begin(), load_notes.begin() + kHalf);
  for (std::optional<std::size_t>* index : {&current_, &projector_, &table_}) {
    if (*index && **index < kHalf) index->reset();
    if (*index) **index -= kHalf;
  }
}

Load& LogState::load(int line) {
  if (!current_) current_ = open_load(in_fit_ ? LoadRole::probe : LoadRole::main, line);
  log.loads[*current_].last_line = line;
  return log.loads[*current_];
}

LoadNotes& LogState::notes(int line) { return load_notes[index_of(load(line))]; }

std::size_t LogState::index_of(const Load& load) const {
  return static_cast<std::size_t>(&load - log.loads.data());
}

Load& LogState::fresh_load(int line) {
  if (current_ && load_notes[*current_].body) end_load();
  return load(line);
}

Load& LogState::start_load(LoadRole role, int line) {
  const bool reuse = current_ && role == LoadRole::main && !load_notes[*current_].body &&
                     log.loads[*current_].role == LoadRole::main;
  if (!reuse) {
    end_load();
    current_ = open_load(role, line);
  }
  return load(line);
}

Load& LogState::projector(int line) {
  if (!projector_) projector_ = open_load(LoadRole::projector, line);
  log.loads[*projector_].last_line = line;
  return log.loads[*projector_];
}

void LogState::end_load() {
  current_.reset();
  projector_.reset();
}

void LogState::fail_load(std::string_view why, int line) {
  if (!current_) return;
  const LoadNotes& now = load_notes[*current_];
  if (now.weights && now.context && now.pending_failure.empty()) {
    // This load works; the one that failed came after it and said nothing else.
    const LoadRole role = log.loads[*current_].role;
    end_load();
    current_ = open_load(role, line);
  }
  Load& failed = load(line);
  if (!failed.failure) failed.failure = std::string(why.substr(0, kMaxText));
  end_load();
}

void LogState::doubt_load(std::string_view why, int line) {
  if (!current_) return;
  LoadNotes& doubt = notes(line);
  doubt.body = true;
  if (doubt.pending_failure.empty()) doubt.pending_failure = std::string(why.substr(0, kMaxText));
}

void LogState::begin_fit(int line, bool extra_model) {
  end_load();
  in_fit_ = true;
  extra_probe_ = extra_model;
  current_ = open_load(LoadRole::probe, line);
}

void LogState::end_fit() {
  if (in_fit_) end_load();
  in_fit_ = false;
  extra_probe_ = false;
}

void LogState::close_compute(int line) {
  if (!current_) return;
  LoadNotes& now = notes(line);
  now.compute_open = false;
  now.pending_failure.clear();
}

void LogState::add_buffer(Load& target, BufferLine buffer) {
  log.has_placement_lines = true;
  const int line = buffer.line;
  if (target.buffers.size() >= kMaxBuffers) return;
  if (!current_ || &target != &log.loads[*current_]) {
    target.buffers.push_back(std::move(buffer));
    return;
  }
  LoadNotes& now = load_notes[*current_];
  now.body = true;
  if (buffer.use == BufferUse::weights) {
    now.weights = true;
    // A weight buffer after "cudaMalloc failed": the loader went on by itself.
    now.pending_failure.clear();
  } else {
    now.context = true;
  }
  if (buffer.use == BufferUse::compute) {
    const bool same = now.compute_open && line - now.compute_line <= kReservationGap;
    if (!same) {
      std::erase_if(target.buffers, [&now](const BufferLine& old) {
        return old.use == BufferUse::compute && old.line >= now.context_line;
      });
    }
    now.compute_open = true;
    now.compute_line = line;
    now.pending_failure.clear();
  }
  target.buffers.push_back(std::move(buffer));
}

std::size_t LogState::load_of_table(int line) {
  if (current_ &&
      (in_fit_ || load_notes[*current_].no_alloc || log.loads[*current_].role == LoadRole::probe)) {
    return *current_;
  }
  for (std::size_t i = log.loads.size(); i-- > 0;) {
    const Load& that = log.loads[i];
    if (that.role == LoadRole::main && !load_notes[i].side_model && !that.failure) return i;
  }
  return index_of(load(line));  // a log that was cut down to its table
}

void LogState::begin_table(int line) {
  const std::size_t index = load_of_table(line);
  table_ = index;
  log.loads[index].breakdown.clear();
}

void LogState::add_table_row(MemoryRow row, int line) {
  if (!table_) begin_table(line);
  const std::size_t index = table_.value_or(0);
  Load& load = log.loads[index];
  log.has_placement_lines = true;
  load_notes[index].pending_failure.clear();
  load.last_line = std::max(load.last_line, line);
  if (load.breakdown.size() < kMaxRows) load.breakdown.push_back(std::move(row));
}

Device& LogState::device(std::string_view name, int line) {
  const std::string known = device_name(name);
  for (Device& device : log.devices) {
    if (device.name == known) return device;
  }
  Device device;
  device.name = known;
  device.line = line;
  if (is_host_device(known)) device.kind = DeviceKind::host;
  if (known.starts_with("RPC")) {
    device.kind = DeviceKind::remote;
    device.kind_reason = "RPC device";
  }
  if (log.devices.size() >= kMaxDevices) log.devices.pop_back();
  log.devices.push_back(std::move(device));
  return log.devices.back();
}

void LogState::describe(Device& device, std::string_view description) {
  description = trim(description);
  // The memory table cuts vendors' names: a longer form of the same name is the whole one.
  if (device.description.empty() || (description.size() > device.description.size() &&
                                     description.ends_with(device.description))) {
    device.description = std::string(description);
  }
  if (device.kind != DeviceKind::hardware_gpu) return;
  const std::string_view words = software_words(device.name, description);
  if (words.empty()) return;
  device.kind = DeviceKind::software;
  device.kind_reason = std::string(words);
}

void LogState::event(LogEventKind kind, std::string_view subject, std::string_view text, int line) {
  text = trim(text).substr(0, kMaxText);
  if (log.events.size() >= kMaxEvents) return;
  if (!known_events_.emplace(kind, std::string(text)).second) return;
  log.events.push_back({kind, std::string(subject), std::string(text), line});
}

void LogState::forget_events(std::initializer_list<LogEventKind> kinds) {
  const auto is_of = [kinds](LogEventKind kind) {
    return std::ranges::find(kinds, kind) != kinds.end();
  };
  std::erase_if(log.events, [&](const LogEvent& event) { return is_of(event.kind); });
  std::erase_if(known_events_, [&](const auto& known) { return is_of(known.first); });
}

void LogState::note(int line, std::string_view text) {
  if (log.notes.size() >= kMaxNotes) return;
  log.notes.push_back(fmt::format("line {}: cannot read '{}'", line, plain(text.substr(0, 120))));
}

void LogState::restart_process(int line) {
  log.events.clear();
  known_events_.clear();
  log.devices.clear();
  log.plan.reset();
  log.fit.reset();
  listed_devices.clear();
  restart_line = line;
  end_load();
  in_fit_ = false;
  next_process();
}

}  // namespace picchio
