// optional -> null for every renderer of JSON; include only from a .cpp.
#pragma once

#include "report/json_parts.h"

#include <nlohmann/json.hpp>

#include <optional>

namespace picchio::report {

template <class T>
[[nodiscard]] Json value_or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

}  // namespace picchio::report
