// What `guard` concludes from a command's log while it is written, and from its processes. Pure:
// bytes, looks and times in, findings out; the verdict's own rules decide.
#pragma once

#include "engines/log_reader.h"
#include "evidence/run.h"
#include "evidence/verdict.h"
#include "machine/engine_look.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace picchio {

/// Known before the command says anything.
struct GuardScene {
  Machine machine;
  std::vector<std::string> arguments;              // of the engine, without its name
  std::map<std::string, std::string> environment;  // what steers placement
  /// Header of the model that the log or the command names; nullopt: it cannot be read here.
  std::function<std::optional<ModelFile>(const std::string& path)> header;
};

/// On what a finding rests.
enum class GuardSource {
  log_and_process,
  log_alone,  // the engine is none of the command's processes, or they cannot be looked into
  process,    // the log does not tell
};

struct GuardFinding {
  Micros at{};        // since the command began
  std::string model;  // as the log or the command names it; untrusted; empty: not told
  GuardSource source = GuardSource::process;
  Verdict verdict;
  Placement placement;
};

class GuardJudge {
 public:
  explicit GuardJudge(GuardScene scene);

  /// A piece of the log, cut anywhere.
  void feed(std::string_view bytes, Micros now);

  /// Some of the log is missing here.
  void gap();

  /// The command's processes are to be looked at before the next conclude().
  [[nodiscard]] bool wants_look(Micros now) const;
  void look(EngineLook look, Micros now);

  /// Findings that were not there before: another model, or another state. Each load of a main
  /// model is judged by itself, so that a batch of the log that holds several gives several.
  /// `ended`: the command has, and nothing more comes.
  [[nodiscard]] std::vector<GuardFinding> conclude(Micros now, bool ended);

  [[nodiscard]] bool engine_seen() const { return engine_seen_ || log_.has_placement_lines; }
  [[nodiscard]] bool incomplete() const { return incomplete_; }
  [[nodiscard]] const EngineLog& log() const { return log_; }
  [[nodiscard]] const std::vector<GuardFinding>& findings() const { return findings_; }

 private:
  void add_line(std::string_view line);
  void refresh();
  [[nodiscard]] bool newest_is_done(const Load& load, Micros now, bool ended) const;
  /// `mains`: where log_ has its main loads; `which` of them.
  [[nodiscard]] bool load_is_done(const std::vector<std::size_t>& mains, std::size_t which,
                                  Micros now, bool ended) const;
  /// `log`: of one load; nullptr: it does not tell.
  [[nodiscard]] GuardFinding judge_now(Micros now, const EngineLog* log);
  /// Puts it on record when it is news. `load`: that it is about; nullptr: none of the log.
  std::optional<GuardFinding> announce(GuardFinding finding, const Load* load);
  [[nodiscard]] bool is_news(const GuardFinding& finding, int load_line) const;

  GuardScene scene_;
  EngineLogStream stream_;
  EngineLog log_;
  std::string partial_;
  bool changed_ = false;
  bool skipping_ = false;  // the line under way has lost its beginning
  bool incomplete_ = false;
  Micros last_telling_{};
  EngineLook look_;
  std::optional<Micros> looked_at_;
  std::optional<Micros> model_since_;  // looks have shown an engine with its model open
  bool engine_seen_ = false;
  std::vector<GuardFinding> findings_;
  int announced_line_ = -1;  // the load that the latest finding is about; 0: none of the log
};

}  // namespace picchio
