#include "engines/answers/stream.h"

#include "base/text.h"

#include <cstddef>

namespace picchio::answers {
namespace {

bool is_one_document(std::string_view body) {
  const std::string_view text = trim(body);
  if (!text.starts_with('{')) return false;
  // Several objects, a line each, are a stream: then the first line alone is one.
  const std::size_t end = text.find('\n');
  return end == std::string_view::npos || !parse_document(text.substr(0, end));
}

std::string_view value_of(std::string_view field) {
  return field.starts_with(' ') ? field.substr(1) : field;
}

}  // namespace

void for_each_message(const RawExchange& exchange,
                      const std::function<void(const Message&)>& take) {
  const std::string_view body = exchange.body;
  const auto stamp = [&](std::size_t line) -> std::optional<Micros> {
    if (line >= exchange.line_stamps.size()) return std::nullopt;
    return exchange.line_stamps[line];
  };
  if (is_one_document(body)) {
    const bool stamped = !exchange.line_stamps.empty();
    take({"", trim(body), stamped ? std::optional(exchange.line_stamps.back()) : std::nullopt});
    return;
  }
  std::string_view event;
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < body.size(); ++number) {
    const std::size_t end = std::min(body.find('\n', begin), body.size());
    std::string_view line = body.substr(begin, end - begin);
    begin = end + 1;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) {
      event = {};  // the end of one server-sent event
    } else if (line.front() == '{') {
      take({"", line, stamp(number)});
    } else if (line.front() == ':') {
      take({":", trim(line.substr(1)), stamp(number)});
    } else if (take_prefix(line, "event:")) {
      event = value_of(line);
    } else if (take_prefix(line, "data:")) {
      take({event, value_of(line), stamp(number)});
    } else if (take_prefix(line, "error:")) {
      // llama-server's word for a failure in the middle of a stream.
      take({"error", value_of(line), stamp(number)});
    }
  }
}

}  // namespace picchio::answers
