// Looks at what a server does for others: GET /metrics, and llama-server's /slots while it is at a
// request. Nothing is asked of the model.
#pragma once

#include "base/result.h"
#include "engines/answers/passive.h"
#include "engines/servers/detect.h"

#include <optional>
#include <string>

namespace picchio::servers {

class PassiveReader {
 public:
  /// `model`: whose figures, of a server with several; empty: of all. `patience`: how long a look
  /// may take; an llama-server of older builds answers only between two batches. The client must
  /// outlive the reader. Errors: a server of a kind that tells no counters, a router without a
  /// name.
  [[nodiscard]] static Result<PassiveReader> open(const DetectedServer& detected,
                                                  os::HttpClient& client, std::string model,
                                                  Micros patience);

  /// What happened since the last look that succeeded; at the first one nothing yet, see
  /// PassiveReading::first. A server that does not answer, loads or fails is a reading that says
  /// so. Errors are what no later look would mend, with what would: counters that are switched off,
  /// a key that is wanted; and an interrupt.
  [[nodiscard]] Result<answers::PassiveReading> look();

  /// Another process answers from now on: its counters are no continuation.
  void forget() { before_.reset(); }

 private:
  PassiveReader(ServerKind kind, bool router, Asker asker, std::string model)
      : kind_(kind), router_(router), asker_(std::move(asker)), model_(std::move(model)) {}

  [[nodiscard]] std::string path(std::string_view name) const;
  [[nodiscard]] Result<answers::PassiveReading> refused(const os::HttpResponse& answer);
  void add_slots(answers::CounterLook& look);

  ServerKind kind_;
  bool router_;
  Asker asker_;
  std::string model_;
  bool tells_slots_ = true;
  std::optional<answers::CounterLook> before_;
};

}  // namespace picchio::servers
