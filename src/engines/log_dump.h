// An EngineLog as text, for goldens: one fact per line, nothing that was not read.
#pragma once

#include "evidence/engine_log.h"

#include <string>

namespace picchio {

[[nodiscard]] std::string dump(const EngineLog& log);

}  // namespace picchio
