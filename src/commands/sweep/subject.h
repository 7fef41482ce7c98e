// What can be measured at several context sizes: an engine that picchio starts, or a server.
#pragma once

#include "base/result.h"
#include "commands/measure.h"
#include "engines/llama_cpp/prompt.h"
#include "evidence/run.h"

#include <cstdint>
#include <optional>
#include <string>

namespace picchio {

/// More than this no prompt may fill.
struct ContextLimit {
  std::int64_t tokens = 0;
  std::string because;  // "the server gives a request 4096 tokens; start it with a larger -c"
  bool hard = false;    // false: it would go on, and badly
};

/// What of a context is known before it is measured.
struct TierOutlook {
  std::string why_not;  // it cannot be held: which memory lacks how much; empty: it can
  std::string note;     // what to expect; empty: nothing
};

struct TierPasses {
  llama_cpp::Prompting prompting;
  int passes = 1;
  bool metered = true;
  Micros timeout{};
};

/// A MeasureRequest or a ServerRequest for them.
template <class Request>
[[nodiscard]] Request request_for(Request request, const TierPasses& passes) {
  request.prompting = passes.prompting;
  request.passes = passes.passes;
  request.timeout = passes.timeout;
  if (!passes.metered) request.meter_hz.reset();
  return request;
}

class SweepSubject {
 public:
  SweepSubject() = default;
  SweepSubject(const SweepSubject&) = delete;
  SweepSubject& operator=(const SweepSubject&) = delete;
  virtual ~SweepSubject() = default;

  [[nodiscard]] virtual std::optional<ContextLimit> limit() const = 0;
  /// A server's: the sizes are depths in it.
  [[nodiscard]] virtual bool context_is_fixed() const = 0;
  [[nodiscard]] virtual TierOutlook outlook(std::int64_t context) = 0;
  [[nodiscard]] virtual Result<RawRun> measure(const TierPasses& passes, const PassSink& sink) = 0;
};

}  // namespace picchio
