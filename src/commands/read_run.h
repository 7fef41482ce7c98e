// From a run as recorded to a run as judged: the same code for a live run, replay and the
// self-test.
#pragma once

#include "evidence/run.h"
#include "evidence/verdict.h"

namespace picchio {

struct Judged {
  Run run;
  Verdict verdict;
};

/// Reads every pass's log, makes the account, judges. Pure.
[[nodiscard]] Judged judge_recorded(RawRun raw);

/// The same of a model that lies there and was asked nothing: no rates are missed.
[[nodiscard]] Judged judge_loaded(RawRun raw);

}  // namespace picchio
