// Whose load a server's log tells of: several models can write into one. Pure.
#pragma once

#include "evidence/run.h"

namespace picchio {

/// Of a log in which another model was loaded than the one that was measured nothing about
/// placement is kept: the lines of two loads at once cannot be told apart. False: then it was so.
bool keep_own_load(EngineLog& log, const ServerFacts& server);

}  // namespace picchio
