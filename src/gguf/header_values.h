// What a header keeps of its key/value pairs.
#pragma once

#include "base/result.h"
#include "gguf/header.h"
#include "gguf/objections.h"
#include "gguf/pairs.h"

namespace picchio::gguf {

[[nodiscard]] Result<> take_values(const Pairs& pairs, Header& header, Objections& objections);

}  // namespace picchio::gguf
