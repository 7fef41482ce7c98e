// Any bytes as a model file: read as a whole file, as the beginning of a huge one (so that sizes
// past the input can be priced), as a stream and as a shard, as what engines load and as what can
// be read. Besides crashing, an answer that breaks its contract counts.
#include "base/text.h"
#include "gguf/card.h"
#include "gguf/header.h"
#include "gguf/model.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace {

using picchio::Card;
using picchio::CardTensor;
using picchio::Error;
using picchio::ErrorKind;
using picchio::ModelFile;
using picchio::Result;
using picchio::TypeRow;
using picchio::gguf::Accept;
using picchio::gguf::Header;
using picchio::gguf::HeaderTensor;
using picchio::gguf::TableRow;

constexpr const char* kPath = "m-00001-of-00002.gguf";

void require(bool holds) {
  if (!holds) std::abort();
}

/// Fit for a terminal as it is, and one line.
void check(const std::string& sentence) { require(sentence == picchio::plain(sentence)); }

void check(const Error& error) {
  require(!error.message.empty());
  check(error.message);
  check(error.hint);
}

std::int64_t least_bytes(const HeaderTensor& tensor) { return tensor.bytes.value_or(0); }

void check(const Header& header, std::size_t size) {
  require(header.version >= 1 && header.version <= 3);
  require(header.tensors.size() <= size / 20);
  require(header.header_bytes <= static_cast<std::int64_t>(size));
  require(header.data_offset >= header.header_bytes);
  require(header.sources.size() <= picchio::gguf::kMaxSources);
  for (const auto& source : header.sources) {
    require(source.value.size() <= picchio::gguf::kMaxSourceBytes);
  }
  for (const std::string& objection : header.objections) check(objection);
  for (const std::string& fault : header.audit.faults) check(fault);
  for (const HeaderTensor& tensor : header.tensors) {
    require(tensor.elements >= 0 && least_bytes(tensor) >= 0 && !tensor.type.empty());
    require(tensor.dimensions <= 4);
    require(tensor.offset >= 0 && tensor.offset % header.alignment == 0);
    if (!header.file_bytes) continue;
    require(header.data_offset + tensor.offset + least_bytes(tensor) <= *header.file_bytes);
  }
}

/// What an engine loads lies in the table's order, and nothing is said against it.
void check_loadable(const Header& header) {
  require(header.version != 1 && !header.big_endian);
  require(header.objections.empty() && header.audit.faults.empty());
  std::int64_t end = 0;
  for (const HeaderTensor& tensor : header.tensors) {
    require(tensor.bytes.has_value() && tensor.offset >= end);
    end = tensor.offset + least_bytes(tensor);
  }
}

void check(const ModelFile& model) {
  require(model.tensor_bytes >= 0 && model.tensor_bytes <= model.file_bytes);
  require(model.parameters >= 0);
  for (const std::int64_t part : {model.always_host_bytes, model.skipped_bytes,
                                  model.token_embd_bytes, model.bytes_per_token}) {
    require(part >= 0 && part <= model.tensor_bytes);
  }
}

void check(const Card& card) {
  for (const std::string& objection : card.objections) check(objection);
  for (const std::string& fault : card.audit.faults) check(fault);
  std::int64_t tensors = 0;
  std::int64_t bytes = 0;
  for (const TypeRow& row : card.types) {
    tensors += row.tensors;
    bytes += row.bytes.value_or(0);
  }
  require(tensors == static_cast<std::int64_t>(card.tensors.size()));
  require(bytes == card.tensor_bytes && card.audit.typed_bytes == bytes);
  require(card.audit.padding_bytes >= 0 && card.audit.trailing_bytes.value_or(0) >= 0);
  require(card.elements >= 0 && card.unpriced >= 0 && card.unpriced_elements >= 0);
  require(card.bytes_per_token.value_or(0) >= 0 && card.bytes_per_token.value_or(0) <= bytes);
  require(card.active_parameters.value_or(0) >= 0);
  (void)picchio::bits_per_weight(card);
}

template <class T>
void check_answer(const Result<T>& answer) {
  if (answer) return check(*answer);
  check(answer.error());
}

void check_table(const Card& card) {
  std::vector<TableRow> rows;
  rows.reserve(card.tensors.size());
  for (const CardTensor& tensor : card.tensors)
    rows.push_back({tensor.name, tensor.type, tensor.ne});
  check_answer(picchio::gguf::card_of_table({}, rows, kPath));
}

void use(const Header& header) {
  for (const auto& paths :
       {picchio::gguf::shard_paths(kPath, header), picchio::gguf::shard_set_paths(kPath, header)}) {
    if (!paths) check(paths.error());
  }
  if (header.split_count) check_answer(picchio::gguf::card_of({header, header}, {kPath, kPath}));
  check_answer(picchio::gguf::price({header}, {kPath}));
  const auto card = picchio::gguf::card_of({header}, {kPath});
  check_answer(card);
  if (card) check_table(*card);
}

Result<Header> read(std::span<const std::byte> bytes, std::optional<std::int64_t> file_bytes,
                    Accept accept) {
  std::int64_t needed = -1;
  Result<Header> header = picchio::gguf::read_header(bytes, file_bytes, accept, &needed);
  const bool goes_on = !header && header.error().kind == ErrorKind::failed;
  require(goes_on ? needed > static_cast<std::int64_t>(bytes.size()) : needed == 0);
  if (header) {
    check(*header, bytes.size());
  } else {
    check(header.error());
  }
  return header;
}

void read_both_ways(std::span<const std::byte> bytes, std::optional<std::int64_t> file_bytes) {
  const auto readable = read(bytes, file_bytes, Accept::readable);
  if (readable) use(*readable);
  // What cannot be read mostly cannot be loaded for the same reason: not worth half the inputs.
  if (!readable && bytes.size() % 8 != 0) return;
  const auto loadable = read(bytes, file_bytes, Accept::loadable);
  if (!loadable) return;
  check_loadable(*loadable);
  require(readable && readable->objections.empty() && readable->audit.faults.empty());
  require(std::ranges::equal(readable->tensors, loadable->tensors,
                             [](const HeaderTensor& a, const HeaderTensor& b) {
                               return a.name == b.name && a.type == b.type && a.bytes == b.bytes;
                             }));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto whole = static_cast<std::int64_t>(size);
  // Each input in one of the four frames while fuzzing, which makes three times as many inputs a
  // second; in all of them when the corpus is replayed.
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
  const std::size_t frames[] = {size % 4};
#else
  const std::size_t frames[] = {0, 1, 2, 3};
#endif
  for (const std::size_t frame : frames) {
    if (frame == 0) read_both_ways(bytes, whole);
    if (frame == 1) read_both_ways(bytes, std::numeric_limits<std::int64_t>::max());
    if (frame == 2) read_both_ways(bytes, std::nullopt);
    if (frame == 3) read_both_ways(bytes, whole + 1);
  }
  return 0;
}
