// One probe of a server after another: a small fixed completion, and what the meters, the processes
// and the server's log say meanwhile, judged as a run of one pass.
#pragma once

#include "base/result.h"
#include "commands/meter_recorder.h"
#include "commands/monitor/load_log.h"
#include "commands/progress.h"
#include "commands/read_run.h"
#include "commands/server_scene.h"
#include "commands/target.h"
#include "engines/servers/passive_reader.h"
#include "evidence/monitored.h"
#include "os/http.h"
#include "os/signals.h"

#include <cstdint>
#include <optional>
#include <string>

namespace picchio {

struct ProbeOptions {
  Target target;
  std::string model;  // which of a server's; of a tag the tag
  std::string api_key;
  Micros timeout{};
  bool light = false;    // a short prompt and few tokens
  bool passive = false;  // nothing is asked of the model
  bool residency = false;
  std::optional<double> meter_hz;  // absent: --no-telemetry
};

class Prober {
 public:
  /// Asks who answers; an error when nobody does, or when it tells no counters to be passive with.
  /// Everything outlives the prober.
  [[nodiscard]] static Result<Prober> open(ProbeOptions options, os::HttpClient& client,
                                           os::Interrupts& interrupts);

  /// The one error is of kind interrupted; whatever else goes wrong is the probe's end.
  [[nodiscard]] Result<Probe> probe(std::int64_t number, Micros since);

  [[nodiscard]] const servers::DetectedServer& detected() const { return detected_; }
  /// The run that the latest answered probe was judged by; nullopt: there was none.
  [[nodiscard]] const std::optional<Judged>& judged() const { return judged_; }
  /// Bytes of the weights on disk, as the header or the server tells.
  [[nodiscard]] std::optional<std::int64_t> weight_bytes() const { return weight_bytes_; }

 private:
  Prober(ProbeOptions options, servers::DetectedServer detected, os::HttpClient& client,
         os::Interrupts& interrupts);

  [[nodiscard]] Result<> find_server_again();
  [[nodiscard]] bool answers_at_all();
  [[nodiscard]] Result<> ask(ServerScene& scene, Probe& probe);
  [[nodiscard]] Result<> open_reader();
  [[nodiscard]] Result<> look(ServerScene& scene, Probe& probe);
  void judge_at_rest(ServerScene& scene, Micros since, Probe& probe);
  void take_log(ServerScene& scene, RawPass& pass, Probe& probe);
  [[nodiscard]] RawRun run_of(ServerScene& scene, RawPass pass, const Probe& probe);
  void judge(ServerScene& scene, RawPass pass, Probe& probe);
  void take_verdict(Probe& probe) const;
  void take_run(const Run& run, Probe& probe) const;
  void take_placement(const Run& run, Probe& probe) const;

  ProbeOptions options_;
  servers::DetectedServer detected_;
  os::HttpClient* client_;
  os::Interrupts* interrupts_;
  std::unique_ptr<Progress> silent_;
  std::unique_ptr<MeterRecorder> meters_;
  std::optional<servers::PassiveReader> reader_;
  bool lost_ = false;                   // it has to be found again
  std::optional<ServerLogReader> log_;  // goes on from probe to probe
  std::optional<int> log_of_server_;    // whose it is
  std::optional<int> log_of_engine_;    // whose loads load_log_ holds
  bool log_taken_ = false;
  LoadLog load_log_;
  std::optional<Judged> judged_;
  std::optional<std::int64_t> weight_bytes_;
};

}  // namespace picchio
