// A model file, with an engine that picchio starts for each pass.
#pragma once

#include "commands/measure.h"
#include "commands/progress.h"
#include "commands/sweep/fit_check.h"
#include "commands/sweep/subject.h"
#include "os/signals.h"

namespace picchio {

class EngineSubject : public SweepSubject {
 public:
  EngineSubject(MeasureRequest request, os::Interrupts& interrupts, Progress& progress);

  [[nodiscard]] std::optional<ContextLimit> limit() const override;
  [[nodiscard]] bool context_is_fixed() const override { return false; }
  [[nodiscard]] TierOutlook outlook(std::int64_t context) override { return fit_.outlook(context); }
  [[nodiscard]] Result<RawRun> measure(const TierPasses& passes, const PassSink& sink) override;

 private:
  MeasureRequest request_;
  os::Interrupts& interrupts_;
  Progress& progress_;
  FitCheck fit_;
};

}  // namespace picchio
