// Where an ollama server answers.
#pragma once

#include "base/result.h"

#include <string>
#include <string_view>

namespace picchio::ollama {

/// The base URL that OLLAMA_HOST means to a client: "http://127.0.0.1:11434", no slash at its end.
/// As ollama reads it: port 11434 unless a scheme is written (80, 443); "0.0.0.0" and "::" are what
/// a server listens on, a client goes to loopback; a bare number is a host's name; a port that is
/// no number up to 65535 is the usual one. Pure.
[[nodiscard]] Result<std::string> base_url(std::string_view ollama_host);

/// The same from the environment.
[[nodiscard]] Result<std::string> base_url();

}  // namespace picchio::ollama
