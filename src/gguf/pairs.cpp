#include "gguf/pairs.h"

#include <iterator>

namespace picchio::gguf {
namespace {

struct ValueType {
  std::string_view name;
  std::uint64_t least_bytes;
};

constexpr ValueType kTypes[] = {{"u8", 1},  {"i8", 1},  {"u16", 2},  {"i16", 2},    {"u32", 4},
                                {"i32", 4}, {"f32", 4}, {"bool", 1}, {"string", 8}, {"array", 12},
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

Result<> pass_array(HeaderBytes& in, std::string_view key) {
  const std::size_t at = in.position();
  const Part part{"the array of key", key};
  const auto type = in.number<std::uint32_t>(part);
  if (!type) return std::unexpected(type.error());
  if (*type == kArray) {
    return fail(ErrorKind::unsupported,
                "key '{}' is an array of arrays at byte {}, which no engine reads", shown(key), at);
  }
  if (*type >= std::size(kTypes)) {
    return fail(ErrorKind::malformed,
                "the array of key '{}' has element type {} at byte {}, which is none", shown(key),
                *type, at);
  }
  const auto count = in.number<std::uint64_t>(part);
  if (!count) return std::unexpected(count.error());
  const std::uint64_t size = kTypes[*type].least_bytes;
  const std::uint64_t room = in.file_bytes_after(in.position()) / size;
  if (*count > room) {
    return with_hint(
        fail(ErrorKind::malformed,
             "the array of key '{}' claims {} elements at byte {}, the file has room for {}",
             shown(key), *count, at + 4, room),
        kDownloadHint);
  }
  if (*type != kString) return in.skip(part, *count * size);
  for (std::uint64_t i = 0; i < *count; ++i) {
    const auto element = in.text(part);
    if (!element) return std::unexpected(element.error());
  }
  return {};
}

Result<> pass_value(HeaderBytes& in, std::string_view key, std::uint32_t type) {
  if (type == kArray) return pass_array(in, key);
  const Part part{"the value of key", key};
  if (type != kString) return in.skip(part, kTypes[type].least_bytes);
  const auto value = in.text(part);
  if (!value) return std::unexpected(value.error());
  return {};
}

}  // namespace

Result<Pairs> Pairs::read(HeaderBytes& in, std::int64_t count) {
  Pairs pairs(in.all());
  for (std::int64_t i = 0; i < count; ++i) {
    auto ok = pairs.read_pair(in, static_cast<std::uint64_t>(i));
    if (!ok) return std::unexpected(std::move(ok).error());
  }
  return pairs;
}

Result<> Pairs::read_pair(HeaderBytes& in, std::uint64_t number) {
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
  return pass_value(in, *key, *type);
}

std::unexpected<Error> Pairs::wrong_type(std::string_view key, const Value& value,
                                         std::string_view wanted) {
  return fail(ErrorKind::malformed, "key '{}' at byte {} is of type {}, not {}", shown(key),
              value.position, kTypes[value.type].name, wanted);
}

Result<std::optional<std::int64_t>> Pairs::integer(std::string_view key) const {
  const auto found = values_.find(key);
  if (found == values_.end()) return std::nullopt;
  ByteReader in(bytes_, found->second.position);
  std::optional<std::int64_t> value;
  switch (found->second.type) {
    case kU8:
      value = in.number<std::uint8_t>();
      break;
    case kI8:
      value = in.number<std::int8_t>();
      break;
    case kU16:
      value = in.number<std::uint16_t>();
      break;
    case kI16:
      value = in.number<std::int16_t>();
      break;
    case kU32:
      value = in.number<std::uint32_t>();
      break;
    case kI32:
      value = in.number<std::int32_t>();
      break;
    case kU64:
    case kI64:
      value = in.number<std::int64_t>();
      break;  // a u64 above 2^63 is negative here
    default:
      return wrong_type(key, found->second, "an integer");
  }
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
  return ByteReader(bytes_, found->second.position).number<std::uint32_t>();
}

Result<std::optional<std::string_view>> Pairs::text(std::string_view key) const {
  const auto found = values_.find(key);
  if (found == values_.end()) return std::nullopt;
  if (found->second.type != kString) return wrong_type(key, found->second, "string");
  ByteReader in(bytes_, found->second.position);
  return in.text(in.number<std::uint64_t>().value_or(0));
}

Result<std::optional<bool>> Pairs::boolean(std::string_view key) const {
  const auto found = values_.find(key);
  if (found == values_.end()) return std::nullopt;
  if (found->second.type != kBool) return wrong_type(key, found->second, "bool");
  // Any byte but 0 is true, as the engine has it.
  return ByteReader(bytes_, found->second.position).number<std::uint8_t>().value_or(0) != 0;
}

std::size_t Pairs::position_of(std::string_view key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? 0 : found->second.position;
}

}  // namespace picchio::gguf
