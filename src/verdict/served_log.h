// Whose load a server's log tells of: several models can write into one. Pure.
#pragma once

#include "evidence/run.h"

namespace picchio {

/// Of a log in which another model was loaded than the one that was measured, or the same one in
/// two places, nothing about placement is kept: the lines of two loads at once cannot be told
/// apart, and nobody tells whose the last one was. False: then it was so.
bool keep_own_load(EngineLog& log, const ServerFacts& server);

}  // namespace picchio
