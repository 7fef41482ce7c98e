#include "gguf/tensor_table.h"

#include "gguf/checked.h"
#include "gguf/types.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

namespace picchio::gguf {
namespace {

constexpr std::size_t kMaxName = 63;         // GGML_MAX_NAME less the NUL
constexpr std::uint32_t kMaxDimensions = 4;  // GGML_MAX_DIMS

using Names = std::set<std::string_view>;  // ordered: no choice of names makes it slow

Result<std::string_view> read_name(HeaderBytes& in, std::uint64_t number, Names& names) {
  const std::size_t at = in.position();
  auto name = in.text({"the name of tensor", "", number});
  if (!name) return name;
  if (name->size() > kMaxName) {
    return fail(ErrorKind::malformed,
                "the name of tensor {} at byte {} has {} bytes, engines take {}", number, at,
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
  tensor.elements = 1;
  for (std::uint32_t i = 0; i < *dimensions; ++i) {
    const std::size_t ne_at = in.position();
    const auto ne = in.number<std::int64_t>(part);
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

Result<> read_type(HeaderBytes& in, HeaderTensor& tensor) {
  const std::size_t at = in.position();
  const auto id = in.number<std::uint32_t>({"the type of tensor", tensor.name});
  if (!id) return std::unexpected(id.error());
  const TensorType* type = tensor_type(*id);
  if (type == nullptr) {
    return fail(ErrorKind::unsupported, "tensor '{}' has type {} at byte {}, which is not known",
                shown(tensor.name), *id, at);
  }
  if (type->block == 0) {
    return with_hint(fail(ErrorKind::unsupported,
                          "tensor '{}' has type {} ({}) at byte {}, which engines no longer read",
                          shown(tensor.name), *id, type->name, at),
                     "fetch a newer file of this model, or convert and quantise it again");
  }
  if (tensor.ne[0] % type->block != 0) {
    return fail(ErrorKind::malformed,
                "tensor '{}' has rows of {} elements, not a multiple of the {} that a block of {} "
                "holds (byte {})",
                shown(tensor.name), tensor.ne[0], type->block, type->name, at);
  }
  tensor.type = type->name;
  tensor.bytes = tensor.elements / type->block;
  if (!multiply_by(tensor.bytes, type->block_bytes)) {
    return fail(ErrorKind::malformed, "tensor '{}' takes 2^63 bytes or more (byte {})",
                shown(tensor.name), at);
  }
  return {};
}

Result<> read_tensor(HeaderBytes& in, std::uint64_t number, Names& names, TensorTable& table) {
  const auto name = read_name(in, number, names);
  if (!name) return std::unexpected(name.error());
  HeaderTensor tensor;
  tensor.name = *name;
  if (auto ok = read_shape(in, tensor); !ok) return ok;
  if (auto ok = read_type(in, tensor); !ok) return ok;
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

/// Moves `end`, where the next tensor is due, behind this one. False past 2^63.
bool pass(std::int64_t& end, const HeaderTensor& tensor, std::int64_t alignment) {
  return add_to(end, tensor.bytes) && round_up(end, alignment);
}

bool packs_in_another_order(const std::vector<HeaderTensor>& tensors, std::int64_t alignment) {
  std::vector<const HeaderTensor*> sorted;
  sorted.reserve(tensors.size());
  for (const HeaderTensor& tensor : tensors) sorted.push_back(&tensor);
  // Empty tensors lie at the offset of the one that follows them.
  std::ranges::sort(sorted, {}, [](const HeaderTensor* tensor) {
    return std::pair(tensor->offset, tensor->bytes);
  });
  std::int64_t due = 0;
  return std::ranges::all_of(sorted, [&](const HeaderTensor* tensor) {
    return tensor->offset == due && pass(due, *tensor, alignment);
  });
}

std::unexpected<Error> packing_fault(const TensorTable& table, std::size_t index, std::int64_t due,
                                     std::int64_t alignment) {
  const HeaderTensor& tensor = table.tensors[index];
  const std::string where = fmt::format("tensor '{}' has offset {} at byte {}", shown(tensor.name),
                                        tensor.offset, table.offset_fields[index]);
  if (tensor.offset % alignment != 0) {
    return fail(ErrorKind::malformed, "{}, not a multiple of the alignment {}", where, alignment);
  }
  if (packs_in_another_order(table.tensors, alignment)) {
    return fail(ErrorKind::malformed, "{} where {} is due: the data is not in the table's order",
                where, due);
  }
  if (tensor.offset < due) {
    return fail(ErrorKind::malformed, "{} where {} is due: it overlaps the tensors before it",
                where, due);
  }
  return fail(ErrorKind::malformed, "{} where {} is due: a gap of {} bytes", where, due,
              tensor.offset - due);
}

}  // namespace

Result<TensorTable> read_tensor_table(HeaderBytes& in, std::int64_t count) {
  TensorTable table;
  Names names;
  for (std::int64_t i = 0; i < count; ++i) {
    auto ok = read_tensor(in, static_cast<std::uint64_t>(i), names, table);
    if (!ok) return std::unexpected(std::move(ok).error());
  }
  return table;
}

Result<> check_packing(const TensorTable& table, std::int64_t alignment) {
  std::int64_t due = 0;
  for (std::size_t i = 0; i < table.tensors.size(); ++i) {
    const HeaderTensor& tensor = table.tensors[i];
    if (tensor.offset != due) return packing_fault(table, i, due, alignment);
    if (!pass(due, tensor, alignment)) {
      return fail(ErrorKind::malformed, "the data up to tensor '{}' (byte {}) passes 2^63 bytes",
                  shown(tensor.name), table.offset_fields[i]);
    }
  }
  return {};
}

Result<> check_data_end(const TensorTable& table, std::int64_t data_offset,
                        std::int64_t file_bytes) {
  if (table.tensors.empty()) return {};
  const HeaderTensor& last = table.tensors.back();
  std::int64_t whole = data_offset;
  if (!add_to(whole, last.offset) || !add_to(whole, last.bytes)) {
    return fail(ErrorKind::malformed, "the data of tensor '{}' ends past 2^63 bytes",
                shown(last.name));
  }
  if (whole <= file_bytes) return {};
  const auto end_of = [&](const HeaderTensor& tensor) {
    return data_offset + tensor.offset + tensor.bytes;  // at most `whole`
  };
  const auto outside = std::ranges::find_if(
      table.tensors, [&](const HeaderTensor& tensor) { return end_of(tensor) > file_bytes; });
  return with_hint(
      fail(ErrorKind::malformed,
           "the file is cut off: tensor '{}' ends at byte {}, the file has {}",
           shown(outside->name), end_of(*outside), file_bytes),
      fmt::format("an unfinished download looks like this; the whole file has at least {} bytes",
                  whole));
}

}  // namespace picchio::gguf
