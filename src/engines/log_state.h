// What the readers of single lines share: the log read so far, and which load a line belongs to.
#pragma once

#include "evidence/engine_log.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace picchio {

/// What a load's role and its buffers' meaning will be decided on at the end.
struct LoadNotes {
  bool body = false;     // a line that only a load under way prints was seen
  bool weights = false;  // a weight buffer was seen
  bool context = false;  // KV or compute buffers were seen: the weights are done
  bool in_fit = false;
  bool no_alloc = false;
  bool vocab_only = false;
  bool side_model = false;   // "partial load - used 18 of 866 tensors"
  bool extra_probe = false;  // planning pass of a draft model
  bool flash_tensor_on_cpu = false;
  bool compute_open = false;    // inside one reservation's compute lines
  int compute_line = 0;         // last of them
  int context_line = 0;         // where the newest context of this load began
  std::string pending_failure;  // an allocation failed; a later success takes it back
  int process = 0;
  std::optional<std::int64_t> graph_nodes;
  // 2023: one line for the whole cache, none for its place
  std::optional<std::int64_t> kv_self_bytes;
  int kv_self_line = 0;
  bool v_cache_on_gpu = false;
  bool k_cache_on_gpu = false;
  bool old_forms = false;  // "mem required" or "VRAM used" was seen
};

/// Columns of a llama-bench table.
struct BenchTable {
  std::vector<std::string> columns;
  std::string last_row;    // configuration of the row before, to pair pp with tg
  bool generates = false;  // of the JSON record under way
};

/// One state per log. Owns what it returns; references to loads and devices live until the next
/// call that can add one.
class LogState {
 public:
  EngineLog log;

  /// The load that lines belong to now; made (main, or probe inside the fit) when there is none.
  Load& load(int line);
  LoadNotes& notes(int line);
  /// For a line that only the beginning of a load prints: continues a load that has shown nothing
  /// yet, else starts another.
  Load& fresh_load(int line);
  /// For a line that names the role: always another load, except a main one that is still empty.
  Load& start_load(LoadRole role, int line);
  Load& projector(int line);
  void end_load();

  /// The load failed. Without one under way the line is an event only.
  void fail_load(std::string_view why, int line);
  /// A failed allocation: fatal unless the load goes on to succeed.
  void doubt_load(std::string_view why, int line);

  void begin_fit(int line, bool extra_model);
  void end_fit();
  [[nodiscard]] bool in_fit() const { return in_fit_; }

  /// Adds a buffer line to the load, replacing what an earlier reservation said.
  void add_buffer(Load& target, BufferLine buffer);
  void close_compute(int line);

  /// A new memory table: the planning pass's while one is under way, else the main load's.
  void begin_table(int line);
  void add_table_row(MemoryRow row, int line);

  Device& device(std::string_view name, int line);
  void describe(Device& device, std::string_view description);

  /// Adds an event once; repeats of the same text are dropped, and so is what comes after the
  /// four-hundredth: a log can hold an error line per token.
  void event(LogEventKind kind, std::string_view subject, std::string_view text, int line);
  void forget_events(std::initializer_list<LogEventKind> kinds);
  void note(int line, std::string_view text);

  /// A server started anew: what an earlier process found no longer counts.
  void restart_process(int line);
  void next_process() { ++process_; }

  /// Text to be read as further lines under the same number: JSON messages, glued lines.
  std::vector<std::string> again;

  // Facts that need a later line to mean something.
  std::vector<LoadNotes> load_notes;  // beside log.loads
  std::string cuda_word = "CUDA";     // of "found 1 ROCm devices", for the rows below it
  std::string last_vulkan;            // the device that "Device type is CPU" speaks of
  std::string metal_description;
  std::optional<std::int64_t> metal_bytes;
  int metal_line = 0;
  std::string opencl_platform;
  bool layers_flag_open = false;  // "--n-gpu-layers" ended its line; the number is on the next
  bool worker_devices = false;    // rows below are an RPC worker's own devices
  std::vector<std::string> listed_devices;  // rows of a device list
  int listed_line = 0;
  int available_line = 0;  // "Available devices:" of --list-devices
  std::string listed_text;
  bool draft_hint = false;  // some line spoke of a draft model
  int restart_line = 0;
  int config_line = 0;                 // ollama's "server config"
  std::optional<double> running_rate;  // of a server's progress line, if nothing better comes
  int running_line = 0;
  std::string cached_request;  // whose "kv cache rm" line was read last
  BenchTable bench;
  bool ollama = false;
  std::string front_end;  // koboldcpp, llamafile...: outranks "llama.cpp"

 private:
  std::size_t open_load(LoadRole role, int line);
  void forget_oldest_loads();
  [[nodiscard]] std::size_t index_of(const Load& load) const;
  std::size_t load_of_table(int line);

  std::optional<std::size_t> current_;
  std::optional<std::size_t> projector_;
  std::optional<std::size_t> table_;
  bool in_fit_ = false;
  bool extra_probe_ = false;
  int process_ = 0;
  std::set<std::pair<LogEventKind, std::string>> known_events_;
};

/// One line without its wrappers.
struct LogLine {
  std::string_view text;
  char level = 0;
  int number = 0;
};

struct LineRule;

/// Where a rule's marker stands: `head` in front of it (wrappers gone), `rest` behind it.
struct Found {
  std::string_view head;
  std::string_view rest;
  const LineRule* rule = nullptr;
};

/// A row of a rule table. `read` returns true when no further rule may see the line.
struct LineRule {
  std::string_view marker;
  bool (*read)(LogState&, const LogLine&, const Found&) = nullptr;
  LogEventKind kind = LogEventKind::engine_error;  // for rules that only make events
  std::string_view subject = {};
};

[[nodiscard]] std::int64_t bytes_of_mib(double mib);
/// True for lines of the image encoder (mmproj), whose buffers are not the language model's.
[[nodiscard]] bool is_projector_line(std::string_view text);

}  // namespace picchio
