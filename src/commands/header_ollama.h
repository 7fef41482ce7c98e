// The header of a model that only an ollama server has: of a store that may not be read, or on
// another machine.
#pragma once

#include "base/result.h"
#include "engines/ollama/show.h"
#include "gguf/header.h"
#include "os/signals.h"

#include <string>

namespace picchio {

/// What OLLAMA_HOST's server tells of a model. Errors: no server, no such model, a model without a
/// table (a cloud model).
[[nodiscard]] Result<ollama::ShownModel> shown_by_server(const std::string& tag,
                                                         const os::Interrupts& interrupts);

/// The same as the header that it was taken from, but for texts that it leaves out.
[[nodiscard]] Result<gguf::Header> header_of_server(const std::string& tag, gguf::Accept accept,
                                                    const os::Interrupts& interrupts);

}  // namespace picchio
