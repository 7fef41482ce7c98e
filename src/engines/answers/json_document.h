// JSON from servers: parsed within bounds, its members read without believing their types. Include
// only from a .cpp.
#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace picchio::answers {

using Json = nlohmann::json;

/// The longest one taken apart: a parsed document is up to sixteen times its text.
inline constexpr std::size_t kMostDocumentBytes = std::size_t{2} << 20U;

/// Absent: longer than that, nested deeper than any answer is, or no JSON.
[[nodiscard]] std::optional<Json> parse_document(std::string_view text);

/// As text; what is no UTF-8 in it becomes U+FFFD.
[[nodiscard]] std::string written(const Json& document);

/// Null for what is absent or of another kind.
[[nodiscard]] const Json* member(const Json& object, const char* key);
[[nodiscard]] const Json* object_in(const Json& object, const char* key);

/// A list of that name; an empty one for what is absent, no list, or no document at all.
[[nodiscard]] const Json& rows_in(const std::optional<Json>& document, const char* key);

/// Empty for what is absent or no string.
[[nodiscard]] std::string text_in(const Json& object, const char* key);
[[nodiscard]] bool flag_in(const Json& object, const char* key);

/// How many there are of something: whole, not negative, below 10^15. A count written as 128.0 is
/// one.
[[nodiscard]] std::optional<std::int64_t> count_in(const Json& object, const char* key);

/// A length of time or a rate: finite and not negative.
[[nodiscard]] std::optional<double> amount_in(const Json& object, const char* key);

}  // namespace picchio::answers
