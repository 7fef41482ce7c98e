// One answer of a server, read. Pure.
#pragma once

#include "evidence/server.h"

#include <optional>
#include <string>
#include <string_view>

namespace picchio::answers {

/// Whatever the bytes are, this returns: what cannot be read stays absent, and an answer without
/// its end has `finished` false.
[[nodiscard]] ServerAnswer read_answer(ServerKind kind, const RawExchange& exchange);

/// A row of ollama's /api/ps; absent for what is none.
[[nodiscard]] std::optional<ServerClaim> read_claim(std::string_view row);

/// The reason in an error's body, in any shape that servers use, fit for one line; empty: it holds
/// none ({"error": "..."}, {"error": {"message": "..."}}, {"message": ...}, {"detail": ...}).
[[nodiscard]] std::string reason_in(std::string_view body);

/// Whether `line` (without its line end) brings generated text: what our stopwatch looks for while
/// an answer is still coming.
[[nodiscard]] bool brings_text(ServerKind kind, std::string_view line);

}  // namespace picchio::answers
