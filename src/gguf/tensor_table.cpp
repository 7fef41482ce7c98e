#include "gguf/tensor_table.h"

#include "base/text.h"
#include "gguf/checked.h"

#include <set>
#include <string>
#include <utility>

namespace picchio::gguf {
namespace {

constexpr std::size_t kEngineName = 63;       // GGML_MAX_NAME less the NUL
constexpr std::size_t kMaxName = 64U << 10U;  // ours, where engines do not matter
constexpr std::uint32_t kMaxDimensions = 4;   // GGML_MAX_DIMS

using Names = std::set<std::string_view>;  // ordered: no choice of names makes it slow

Result<std::string_view> read_name(HeaderBytes& in, std::uint64_t number, Names& names,
                                   Objections& objections) {
  const std::size_t at = in.position();
  auto name = in.text({"the name of tensor", "", number});
  if (!name) return name;
  if (name->size() > kEngineName) {
    auto ok = objections.raise(
        Objection::long_name,
        fail(ErrorKind::malformed, "the name of tensor {} at byte {} has {} bytes, engines take {}",
             number, at, name->size(), kEngineName));
    if (!ok) return std::unexpected(std::move(ok).error());
  }
  if (name->size() > kMaxName) {
    return fail(ErrorKind::malformed,
                "the name of tensor {} at byte {} has {} bytes, the most is {}", number, at,
                name->size(), kMaxName);
  }
  // The engine keeps names as C strings, so two that differ behind a NUL are one to it.
  *name = name->substr(0, name->find('\0'));
  if (!names.insert(*name).second) {
    return fail(ErrorKind::malformed, "tensor '{}' stands twice, again at byte {}", shown(*name),
                at);
  }
  return name;
}

Result<> read_shape(HeaderBytes& in, HeaderTensor& tensor) {
  const std::size_t at = in.position();
  const Part part{"the shape of tensor", tensor.name};
  const auto dimensions = in.number<std::uint32_t>(part);
  if (!dimensions) return std::unexpected(dimensions.error());
  if (*dimensions > kMaxDimensions) {
    return fail(ErrorKind::malformed, "tensor '{}' has {} dimensions at byte {}, engines take {}",
                shown(tensor.name), *dimensions, at, kMaxDimensions);
  }
  tensor.dimensions = *dimensions;
  tensor.elements = 1;
  for (std::uint32_t i = 0; i < *dimensions; ++i) {
    const std::size_t ne_at = in.position();
    const auto ne = in.length(part);
    if (!ne) return std::unexpected(ne.error());
    if (*ne < 0) {
      return fail(ErrorKind::malformed, "tensor '{}' has a dimension of 2^63 or more at byte {}",
                  shown(tensor.name), ne_at);
    }
    tensor.ne[i] = *ne;
    if (!multiply_by(tensor.elements, *ne)) {
      return fail(ErrorKind::malformed,
                  "the dimensions of tensor '{}' at byte {} multiply past 2^63", shown(tensor.name),
                  at);
    }
  }
  return {};
}

Result<> read_type(HeaderBytes& in, HeaderTensor& tensor, Objections& objections) {
  const std::size_t at = in.position();
  const auto id = in.number<std::uint32_t>({"the type of tensor", tensor.name});
  if (!id) return std::unexpected(id.error());
  return set_type(tensor, tensor_type(*id), std::to_string(*id), at, objections);
}

Result<> read_tensor(HeaderBytes& in, std::uint64_t number, Names& names, TensorTable& table,
                     Objections& objections) {
  const auto name = read_name(in, number, names, objections);
  if (!name) return std::unexpected(name.error());
  HeaderTensor tensor;
  tensor.name = *name;
  if (auto ok = read_shape(in, tensor); !ok) return ok;
  if (auto ok = read_type(in, tensor, objections); !ok) return ok;
  const std::size_t at = in.position();
  const auto offset = in.number<std::int64_t>({"the offset of tensor", tensor.name});
  if (!offset) return std::unexpected(offset.error());
  if (*offset < 0) {
    return fail(ErrorKind::malformed, "tensor '{}' has an offset of 2^63 or more at byte {}",
                shown(tensor.name), at);
  }
  tensor.offset = *offset;
  table.tensors.push_back(std::move(tensor));
  table.offset_fields.push_back(at);
  return {};
}

// Both empty in a table that is no file.
std::string at_byte(std::optional<std::size_t> at) {
  return at ? fmt::format(" at byte {}", *at) : "";
}
std::string byte_in_brackets(std::optional<std::size_t> at) {
  return at ? fmt::format(" (byte {})", *at) : "";
}

/// Of a type that engines do not read.
Result<> object_to_type(const HeaderTensor& tensor, const TensorType* type,
                        std::string_view spelled, std::optional<std::size_t> at,
                        Objections& objections) {
  if (type == nullptr) {
    return objections.raise(
        Objection::unknown_type,
        fail(ErrorKind::unsupported, "tensor '{}' has type {}{}, which is not known",
             shown(tensor.name), spelled, at_byte(at)));
  }
  return objections.raise(
      Objection::removed_type,
      with_hint(fail(ErrorKind::unsupported,
                     "tensor '{}' has type {} ({}){}, which engines no longer read",
                     shown(tensor.name), type->id, type->name, at_byte(at)),
                "fetch a newer file of this model, or convert and quantise it again"));
}

}  // namespace

Result<> set_type(HeaderTensor& tensor, const TensorType* type, std::string_view spelled,
                  std::optional<std::size_t> at, Objections& objections) {
  if (type == nullptr || type->removed) {
    if (auto ok = object_to_type(tensor, type, spelled, at, objections); !ok) return ok;
  }
  tensor.type = type != nullptr ? std::string(type->name) : fmt::format("type {}", spelled);
  if (type == nullptr || type->block == 0) return {};
  if (tensor.ne[0] % type->block != 0) {
    return fail(ErrorKind::malformed,
                "tensor '{}' has rows of {} elements, not a multiple of the {} that a block of {} "
                "holds{}",
                shown(tensor.name), tensor.ne[0], type->block, type->name, byte_in_brackets(at));
  }
  std::int64_t bytes = tensor.elements / type->block;
  if (!multiply_by(bytes, type->block_bytes)) {
    return fail(ErrorKind::malformed, "tensor '{}' takes 2^63 bytes or more{}", shown(tensor.name),
                byte_in_brackets(at));
  }
  tensor.bytes = bytes;
  return {};
}

Result<TensorTable> read_tensor_table(HeaderBytes& in, std::int64_t count, Objections& objections) {
  TensorTable table;
  Names names;
  for (std::int64_t i = 0; i < count; ++i) {
    in.expect_less_behind(in.layout().least_tensor_bytes());
    auto ok = read_tensor(in, static_cast<std::uint64_t>(i), names, table, objections);
    if (!ok) return std::unexpected(std::move(ok).error());
  }
  return table;
}

}  // namespace picchio::gguf
