// Why an engine failed, from its last words.
#pragma once

#include "base/result.h"

#include <string>
#include <string_view>

namespace picchio::llama_cpp {

/// The error for a run that ended with `exit_code` (128 + signal when it was killed) and wrote
/// `log`: program, exit code, the telling line of the log, and as hint the likely reason with a way
/// out. An engine that says nothing is reported as having said nothing.
[[nodiscard]] Error failure_of(std::string_view program, int exit_code, std::string_view log);

/// True when the end of the log seems to be missing: no rates after a good end, or no telling line
/// after a bad one. llama.cpp writes its log from a thread of its own and can exit before that
/// thread is done (seen with build 11669: more often than not where every core is busy). Engines
/// that print no rates at all look the same.
[[nodiscard]] bool log_may_be_cut(int exit_code, std::string_view log);

}  // namespace picchio::llama_cpp
