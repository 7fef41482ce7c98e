// An answer's bytes as the messages that they carry, whatever frames them: a JSON document alone, a
// document a line (ollama), or server-sent events. Pure.
#pragma once

#include "base/time.h"
#include "engines/answers/json_document.h"
#include "evidence/server.h"

#include <functional>
#include <optional>
#include <string_view>

namespace picchio::answers {

struct Message {
  std::string_view event;    // the name of a server-sent event; empty: none
  std::string_view text;     // the document's bytes
  std::optional<Micros> at;  // when its last line arrived
};

/// Calls `take` with each message in order. Comments ("... : keepalive 3/12") come as the event
/// ":" with their text. Views into `exchange`, valid during the call.
void for_each_message(const RawExchange& exchange, const std::function<void(const Message&)>& take);

}  // namespace picchio::answers
