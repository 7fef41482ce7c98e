// A model of a server that is running already.
#pragma once

#include "commands/measure_server.h"
#include "commands/progress.h"
#include "commands/sweep/fit_check.h"
#include "commands/sweep/subject.h"
#include "engines/servers/server.h"
#include "os/http.h"
#include "os/signals.h"

#include <memory>
#include <optional>

namespace picchio {

class ServerSubject : public SweepSubject {
 public:
  /// Asks the server which model it has, and waits for one that is loading.
  [[nodiscard]] static Result<std::unique_ptr<ServerSubject>> open(ServerRequest request,
                                                                   os::HttpClient& client,
                                                                   os::Interrupts& interrupts,
                                                                   Progress& progress);

  [[nodiscard]] std::optional<ContextLimit> limit() const override;
  [[nodiscard]] bool context_is_fixed() const override { return !context_is_ours_; }
  [[nodiscard]] TierOutlook outlook(std::int64_t context) override;
  [[nodiscard]] Result<RawRun> measure(const TierPasses& passes, const PassSink& sink) override;

 private:
  ServerSubject(ServerRequest request, os::HttpClient& client, os::Interrupts& interrupts,
                Progress& progress);

  ServerRequest request_;
  os::HttpClient& client_;
  os::Interrupts& interrupts_;
  Progress& progress_;
  std::unique_ptr<servers::Server> server_;
  servers::ServedModel model_;
  bool context_is_ours_ = false;
  std::optional<FitCheck> fit_;
};

}  // namespace picchio
