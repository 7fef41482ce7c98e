#include "evidence/shard_name.h"

#include "base/text.h"

#include <algorithm>

namespace picchio {
namespace {

bool is_number(std::string_view digits) {
  return digits.size() == 5 &&
         std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::optional<ShardName> shard_name(std::string_view path) {
  constexpr std::string_view kEnd = "-00001-of-00001.gguf";
  if (path.size() <= kEnd.size()) return std::nullopt;
  const std::string_view end = path.substr(path.size() - kEnd.size());
  const std::string_view number = end.substr(1, 5);
  const std::string_view count = end.substr(10, 5);
  if (end.front() != '-' || end.substr(6, 4) != "-of-" || end.substr(15) != ".gguf" ||
      !is_number(number) || !is_number(count)) {
    return std::nullopt;
  }
  ShardName name{std::string(path.substr(0, path.size() - kEnd.size())),
                 parse_int(number).value_or(0), parse_int(count).value_or(0)};
  if (name.number < 1 || name.number > name.count) return std::nullopt;
  return name;
}

}  // namespace picchio
