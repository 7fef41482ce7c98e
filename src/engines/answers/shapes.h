// What the readers of the single APIs share. Private to answers/.
#pragma once

#include "engines/answers/stream.h"
#include "evidence/server.h"

namespace picchio::answers {

/// Generated text came, perhaps of the thinking.
void note_piece(ServerAnswer& answer, const Message& message, bool thinking);

/// The words of an error member, which is a string or an object with a message; empty: no error.
[[nodiscard]] std::string error_words(const Json& root);

// One message of each API into the answer.
void take_ollama(const Json& root, const Message& message, ServerAnswer& answer);
void take_llama_server(const Json& root, const Message& message, ServerAnswer& answer);
void take_openai(const Json& root, const Message& message, ServerAnswer& answer);
void take_lm_studio(const Json& root, const Message& message, ServerAnswer& answer);
void take_koboldcpp(const Json& root, const Message& message, ServerAnswer& answer);

/// llama-server's "timings", which others that embed it send too.
void take_timings(const Json& timings, ServerAnswer& answer);

/// What the counters around the request tell.
void take_prometheus(const RawExchange& exchange, ServerAnswer& answer);
void take_kobold_perf(const RawExchange& exchange, ServerAnswer& answer);

}  // namespace picchio::answers
