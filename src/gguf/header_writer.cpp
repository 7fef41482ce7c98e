#include "gguf/header_writer.h"

#include "base/text.h"
#include "gguf/checked.h"
#include "gguf/types.h"

#include <bit>
#include <limits>
#include <optional>

namespace picchio::gguf {
namespace {

// The format's numbers for the types of values.
constexpr std::uint32_t kUint32 = 4;
constexpr std::uint32_t kInt32 = 5;
constexpr std::uint32_t kFloat32 = 6;
constexpr std::uint32_t kBool = 7;
constexpr std::uint32_t kString = 8;
constexpr std::uint32_t kArray = 9;
constexpr std::uint32_t kInt64 = 11;
constexpr std::uint32_t kVersion = 3;
constexpr std::int64_t kAlignment = 32;
constexpr std::size_t kMostDimensions = 4;

/// Little-endian, as files are.
template <class T>
void put(std::string& out, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    out += static_cast<char>((static_cast<std::uint64_t>(value) >> (8 * i)) & 0xFFU);
  }
}

void put_text(std::string& out, std::string_view text) {
  put(out, std::uint64_t{text.size()});
  out += text;
}

std::int64_t padded(std::int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// Of the data; nothing for a shape that no tensor has.
std::optional<std::int64_t> bytes_of(const TensorType& type, const TableRow& row) {
  const auto& shape = row.shape;
  if (shape.empty() || shape.size() > kMostDimensions || type.block <= 0) return std::nullopt;
  if (shape.front() % type.block != 0) return std::nullopt;
  std::int64_t bytes = type.block_bytes;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t factor = i == 0 ? shape[i] / type.block : shape[i];
    if (factor < 0 || !multiply_by(bytes, factor)) return std::nullopt;
  }
  return bytes;
}

}  // namespace

void HeaderWriter::begin(std::string_view key, std::uint32_t type) {
  put_text(pairs_, key);
  put(pairs_, type);
  ++keys_;
}

void HeaderWriter::add(std::string_view key, bool value) {
  begin(key, kBool);
  put(pairs_, std::uint8_t{value});
}

void HeaderWriter::add(std::string_view key, std::int64_t value) {
  if (value >= 0 && value <= std::numeric_limits<std::uint32_t>::max()) {
    begin(key, kUint32);
    put(pairs_, static_cast<std::uint32_t>(value));
  } else if (value < 0 && value >= std::numeric_limits<std::int32_t>::min()) {
    begin(key, kInt32);
    put(pairs_, static_cast<std::int32_t>(value));
  } else {
    begin(key, kInt64);
    put(pairs_, value);
  }
}

void HeaderWriter::add(std::string_view key, double value) {
  begin(key, kFloat32);
  put(pairs_, std::bit_cast<std::uint32_t>(static_cast<float>(value)));
}

void HeaderWriter::add(std::string_view key, std::string_view value) {
  begin(key, kString);
  put_text(pairs_, value);
}

void HeaderWriter::add(std::string_view key, std::span<const std::int64_t> values) {
  begin(key, kArray);
  put(pairs_, kInt64);
  put(pairs_, std::uint64_t{values.size()});
  for (const std::int64_t value : values) put(pairs_, value);
}

void HeaderWriter::add_texts(std::string_view key, std::int64_t count) {
  begin(key, kArray);
  put(pairs_, kString);
  put(pairs_, static_cast<std::uint64_t>(count));
  pairs_.append(static_cast<std::size_t>(count) * sizeof(std::uint64_t), '\0');
}

Result<> HeaderWriter::add_tensor(const TableRow& row) {
  const TensorType* type = tensor_type(std::string_view(row.type));
  if (type == nullptr) {
    return fail(ErrorKind::unsupported, "tensor '{}' is of the unknown type '{}'", plain(row.name),
                plain(row.type));
  }
  const auto bytes = bytes_of(*type, row);
  constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;
  if (!bytes || *bytes > kMostBytes - data_bytes_) {
    return fail(ErrorKind::malformed, "tensor '{}' has a shape that no {} tensor has",
                plain(row.name), type->name);
  }
  put_text(table_, row.name);
  put(table_, static_cast<std::uint32_t>(row.shape.size()));
  for (const std::int64_t extent : row.shape) put(table_, extent);
  put(table_, type->id);
  put(table_, data_bytes_);
  data_bytes_ += padded(*bytes);
  ++tensors_;
  return {};
}

std::string HeaderWriter::bytes() const {
  std::string out = "GGUF";
  put(out, kVersion);
  put(out, tensors_);
  put(out, keys_);
  out += pairs_;
  out += table_;
  return out;
}

std::int64_t HeaderWriter::file_bytes() const {
  constexpr std::int64_t kFixed = 24;
  return padded(kFixed + static_cast<std::int64_t>(pairs_.size() + table_.size())) + data_bytes_;
}

}  // namespace picchio::gguf
