#include "gguf/pairs.h"

#include <iterator>

namespace picchio::gguf {
namespace {

struct ValueType {
  std::string_view name;
  std::uint64_t bytes;  // 0: the value itself says
};

constexpr ValueType kTypes[] = {{"u8", 1},  {"i8", 1},  {"u16", 2},  {"i16", 2},    {"u32", 4},
                                {"i32", 4}, {"f32", 4}, {"bool", 1}, {"string", 0}, {"array", 0},
                                {"u64", 8}, {"i64", 8}, {"f64", 8}};

constexpr std::uint32_t kU8 = 0;
constexpr std::uint32_t kI8 = 1;
constexpr std::uint32_t kU16 = 2;
constexpr std::uint32_t kI16 = 3;
constexpr std::uint32_t kU32 = 4;
constexpr std::uint32_t kI32 = 5;
constexpr std::uint32_t kBool = 7;
constexpr std::uint32_t kString = 8;
constexpr std::uint32_t kArray = 9;
constexpr std::uint32_t kU64 = 10;
constexpr std::uint32_t kI64 = 11;

constexpr int kMaxDepth = 8;  // of arrays in arrays; no file is known to have any

/// The least that a value of this type takes.
std::uint64_t least_bytes(std::uint32_t type, const Layout& layout) {
  if (type == kString) return layout.length_bytes();
  if (type == kArray) return 4 + layout.length_bytes();
  return kTypes[type].bytes;
}

struct ArrayHead {
  std::uint32_t type = 0;
  std::uint64_t count = 0;
};

Result<ArrayHead> read_array_head(HeaderBytes& in, std::string_view key, int depth,
                                  Objections& objections) {
  const std::size_t at = in.position();
  const Part part{"the array of key", key};
  const auto type = in.number<std::uint32_t>(part);
  if (!type) return std::unexpected(type.error());
  if (*type == kArray && depth == 1) {  // told once a key, however many there are
    auto ok = objections.raise(
        Objection::nested_array,
        fail(ErrorKind::unsupported,
             "key '{}' is an array of arrays at byte {}, which no engine reads", shown(key), at));
    if (!ok) return std::unexpected(std::move(ok).error());
  }
  if (*type >= std::size(kTypes)) {
    return fail(ErrorKind::malformed,
                "the array of key '{}' has element type {} at byte {}, which is none", shown(key),
                *type, at);
  }
  const std::size_t count_at = in.position();
  const auto signed_count = in.length(part);
  if (!signed_count) return std::unexpected(signed_count.error());
  const auto count = static_cast<std::uint64_t>(*signed_count);
  const std::uint64_t room = in.file_bytes_after(in.position()) / least_bytes(*type, in.layout());
  if (count > room) {
    return with_hint(
        fail(ErrorKind::malformed,
             "the array of key '{}' claims {} elements at byte {}, {} has room for {}", shown(key),
             count, count_at, in.file_bytes() ? "the file" : "a header", room),
        kDownloadHint);
  }
  return ArrayHead{*type, count};
}

// NOLINTNEXTLINE(misc-no-recursion): at most kMaxDepth deep
Result<> pass_array(HeaderBytes& in, std::string_view key, int depth, Objections& objections) {
  const std::size_t at = in.position();
  const auto head = read_array_head(in, key, depth, objections);
  if (!head) return std::unexpected(head.error());
  const Part part{"the array of key", key};
  if (head->type == kString) return in.skip_texts(part, head->count);
  if (head->type != kArray) return in.skip(part, head->count * kTypes[head->type].bytes);
  if (depth == kMaxDepth) {
    return fail(ErrorKind::malformed, "key '{}' has arrays in arrays {} deep at byte {}",
                shown(key), depth + 1, at);
  }
  for (std::uint64_t i = 0; i < head->count; ++i) {
    if (auto ok = pass_array(in, key, depth + 1, objections); !ok) return ok;
  }
  return {};
}

Result<> pass_value(HeaderBytes& in, std::string_view key, std::uint32_t type,
                    Objections& objections) {
  if (type == kArray) return pass_array(in, key, 1, objections);
  const Part part{"the value of key", key};
  if (type != kString) return in.skip(part, kTypes[type].bytes);
  const auto value = in.text(part);
  if (!value) return std::unexpected(value.error());
  return {};
}

}  // namespace

Result<Pairs> Pairs::read(HeaderBytes& in, std::int64_t count, Objections& objections) {
  Pairs pairs(in.all(), in.layout());
  for (std::int64_t i = 0; i < count; ++i) {
    in.expect_less_behind(in.layout().least_pair_bytes());
    auto ok = pairs.read_pair(in, static_cast<std::uint64_t>(i), objections);
    if (!ok) return std::unexpected(std::move(ok).error());
  }
  return pairs;
}

Result<> Pairs::read_pair(HeaderBytes& in, std::uint64_t number, Objections& objections) {
  const std::size_t at = in.position();
  const auto key = in.text({"key", "", number});
  if (!key) return std::unexpected(key.error());
  if (key->empty()) return fail(ErrorKind::malformed, "key {} at byte {} is empty", number, at);
  const std::size_t type_at = in.position();
  const auto type = in.number<std::uint32_t>({"the type of key", *key});
  if (!type) return std::unexpected(type.error());
  if (*type >= std::size(kTypes)) {
    return fail(ErrorKind::malformed, "key '{}' has value type {} at byte {}, which is none",
                shown(*key), *type, type_at);
  }
  if (!values_.try_emplace(*key, Value{*type, in.position()}).second) {
    return fail(ErrorKind::malformed, "key '{}' stands twice, again at byte {}", shown(*key), at);
  }
  return pass_value(in, *key, *type, objections);
}

std::unexpected<Error> Pairs::wrong_type(std::string_view key, const Value& value,
                                         std::string_view wanted) {
  return fail(ErrorKind::malformed, "key '{}' at byte {} is of type {}, not {}", shown(key),
              value.position, kTypes[value.type].name, wanted);
}

std::optional<std::int64_t> Pairs::read_integer(ByteReader& in, std::uint32_t type) {
  switch (type) {
    case kU8:
      return in.number<std::uint8_t>();
    case kI8:
      return in.number<std::int8_t>();
    case kU16:
      return in.number<std::uint16_t>();
    case kI16:
      return in.number<std::int16_t>();
    case kU32:
      return in.number<std::uint32_t>();
    case kI32:
      return in.number<std::int32_t>();
    case kU64:
    case kI64:
      return in.number<std::int64_t>();  // a u64 above 2^63 is negative here
    default:
      return std::nullopt;
  }
}

Result<std::optional<std::int64_t>> Pairs::integer(std::string_view key) const {
  const auto found = values_.find(key);
  if (found == values_.end()) return std::nullopt;
  ByteReader in = reader_at(found->second);
  const std::optional<std::int64_t> value = read_integer(in, found->second.type);
  if (!value) return wrong_type(key, found->second, "an integer");
  if (value < 0) {
    return fail(ErrorKind::malformed, "key '{}' at byte {} is negative, or 2^63 or more",
                shown(key), found->second.position);
  }
  return value;
}

Result<std::optional<std::uint32_t>> Pairs::exact_u32(std::string_view key) const {
  const auto found = values_.find(key);
  if (found == values_.end()) return std::nullopt;
  if (found->second.type != kU32) return wrong_type(key, found->second, "u32");
  return reader_at(found->second).number<std::uint32_t>();
}

Result<std::optional<std::string_view>> Pairs::text(std::string_view key) const {
  const auto found = values_.find(key);
  if (found == values_.end()) return std::nullopt;
  if (found->second.type != kString) return wrong_type(key, found->second, "string");
  ByteReader in = reader_at(found->second);
  return in.text(length(in));
}

Result<std::optional<bool>> Pairs::boolean(std::string_view key) const {
  const auto found = values_.find(key);
  if (found == values_.end()) return std::nullopt;
  if (found->second.type != kBool) return wrong_type(key, found->second, "bool");
  // Any byte but 0 is true, as the engine has it.
  return reader_at(found->second).number<std::uint8_t>().value_or(0) != 0;
}

std::size_t Pairs::position_of(std::string_view key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? 0 : found->second.position;
}

std::uint64_t Pairs::length(ByteReader& in) const {
  if (layout_.wide) return in.number<std::uint64_t>().value_or(0);
  return in.number<std::uint32_t>().value_or(0);
}

std::optional<std::int64_t> Pairs::if_integer(std::string_view key) const {
  const auto value = integer(key);
  return value ? *value : std::nullopt;
}

std::optional<std::string_view> Pairs::if_text(std::string_view key) const {
  const auto value = text(key);
  return value ? *value : std::nullopt;
}

std::optional<std::int64_t> Pairs::if_array_size(std::string_view key) const {
  const auto found = values_.find(key);
  if (found == values_.end() || found->second.type != kArray) return std::nullopt;
  ByteReader in = reader_at(found->second);
  (void)in.skip(4);  // the element type, which was read before
  return static_cast<std::int64_t>(length(in));
}

std::optional<PerLayer> Pairs::if_per_layer(std::string_view key, std::size_t most) const {
  PerLayer out;
  const auto found = values_.find(key);
  if (found == values_.end()) return out;
  out.given = true;
  ByteReader in = reader_at(found->second);
  std::uint32_t type = found->second.type;
  std::uint64_t count = 1;
  if (type == kArray) {
    out.array = true;
    type = in.number<std::uint32_t>().value_or(kArray);
    count = length(in);
    out.length = static_cast<std::int64_t>(count);
  }
  for (; count > 0 && out.values.size() < most; --count) {
    std::optional<std::int64_t> value;
    if (type == kBool) {
      value = in.number<std::uint8_t>().value_or(0) != 0 ? 1 : 0;
    } else {
      value = read_integer(in, type);
    }
    if (!value || value < 0) return std::nullopt;
    out.values.push_back(*value);
  }
  return out;
}

std::optional<std::string> Pairs::if_texts(std::string_view key, std::size_t most) const {
  const auto found = values_.find(key);
  if (found == values_.end() || found->second.type != kArray) return std::nullopt;
  ByteReader in = reader_at(found->second);
  if (in.number<std::uint32_t>() != kString) return std::nullopt;
  std::string joined;
  for (std::uint64_t left = length(in); left > 0 && joined.size() < most; --left) {
    if (!joined.empty()) joined += ", ";
    joined += in.text(length(in)).value_or("").substr(0, most);
  }
  return joined;
}

std::vector<std::string_view> Pairs::keys_that_begin(std::string_view with) const {
  std::vector<std::string_view> keys;
  for (auto at = values_.lower_bound(with); at != values_.end() && at->first.starts_with(with);
       ++at) {
    keys.push_back(at->first);
  }
  return keys;
}

}  // namespace picchio::gguf
