// The one way a failure travels: a value with a sentence a person can act on.
#pragma once

#include <fmt/format.h>

#include <expected>
#include <string>
#include <utility>

namespace picchio {

/// What a caller may decide on. The sentence is for people, the kind for code.
enum class ErrorKind { not_found, denied, unsupported, malformed, timed_out, interrupted, failed };

struct Error {
  ErrorKind kind = ErrorKind::failed;
  std::string message;  // what was tried, on what, and why not: one line, lower case, no full stop
  std::string hint;     // the way out, or empty; never what the user already did
};

template <class T = void>
using Result = std::expected<T, Error>;

/// `return fail(ErrorKind::denied, "cannot open '{}'", path);`
template <class... Args>
[[nodiscard]] std::unexpected<Error> fail(ErrorKind kind, fmt::format_string<Args...> text,
                                          Args&&... args) {
  return std::unexpected(Error{kind, fmt::format(text, std::forward<Args>(args)...), {}});
}

/// The same error with a way out beside it.
[[nodiscard]] inline std::unexpected<Error> with_hint(std::unexpected<Error> error,
                                                      std::string hint) {
  Error out = std::move(error).error();
  out.hint = std::move(hint);
  return std::unexpected(std::move(out));
}

}  // namespace picchio
