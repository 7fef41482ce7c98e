#include "gguf/header.h"

#include "base/text.h"
#include "gguf/checked.h"
#include "gguf/header_bytes.h"
#include "gguf/pairs.h"
#include "gguf/tensor_table.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

namespace picchio::gguf {
namespace {

constexpr std::uint64_t kPreambleBytes = 24;  // magic, version, tensor count, pair count

struct Beginning {
  std::string_view bytes;
  const char* hint;
};

// What people have in place of a model, by its first bytes.
constexpr Beginning kNotModels[] = {
    {"version https://git-lfs", "this is a Git LFS pointer; the model itself was not fetched"},
    {"<", "this looks like a web page, not the file that its link promised"},
    {"{", "this looks like JSON, perhaps a server's error saved under the model's name"},
    {"lmgg", "this is a GGML file of before August 2023; fetch or convert a GGUF file"},
    {"tjgg", "this is a GGJT file of before August 2023; fetch or convert a GGUF file"},
    {"PK", "this looks like a zip archive, perhaps PyTorch weights; engines read GGUF"},
    {std::string_view("\0\0\0\0", 4), kDownloadHint},
};

struct Counts {
  std::int64_t tensors = 0;
  std::int64_t pairs = 0;
};

std::unexpected<Error> not_a_model(std::span<const std::byte> bytes) {
  const std::string_view text{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  auto error = fail(ErrorKind::malformed, "not a GGUF file: it begins with '{}', not 'GGUF'",
                    shown(text.substr(0, 4)));
  const auto* known = std::ranges::find_if(
      kNotModels, [&](const Beginning& other) { return text.starts_with(other.bytes); });
  return known != std::end(kNotModels) ? with_hint(std::move(error), known->hint) : error;
}

Result<> check_version(std::uint32_t version) {
  if (version == 2 || version == 3) return {};
  if (version == 0) return fail(ErrorKind::malformed, "GGUF version 0 at byte 4, which never was");
  if (version == 1) {
    return with_hint(
        fail(ErrorKind::unsupported, "GGUF version 1 at byte 4, which engines no longer read"),
        "fetch a newer file of this model, or convert it again");
  }
  if ((version & 0xFFFFU) == 0) {  // the format's own sign: no version needs its upper half
    return with_hint(
        fail(ErrorKind::unsupported,
             "a big-endian GGUF file (its version at byte 4 reads 0x{:08x}), which engines here "
             "do not read",
             version),
        "fetch the little-endian file of this model");
  }
  return fail(ErrorKind::unsupported, "GGUF version {} at byte 4, only 2 and 3 are known", version);
}

Result<> check_count(std::int64_t count, const char* what, std::uint64_t least_bytes,
                     std::size_t at, const HeaderBytes& in) {
  if (count < 0) {
    return fail(ErrorKind::malformed, "a negative number of {} at byte {}: {}", what, at, count);
  }
  const std::uint64_t room = in.file_bytes_after(kPreambleBytes) / least_bytes;
  if (static_cast<std::uint64_t>(count) <= room) return {};
  return fail(ErrorKind::malformed, "{} {} claimed at byte {}, the file of {} has room for {}",
              count, what, at, format_bytes(in.file_bytes()), room);
}

Result<Counts> read_preamble(HeaderBytes& in, Header& header) {
  if (in.file_bytes() == 0) return fail(ErrorKind::malformed, "the file is empty");
  constexpr std::string_view kMagic = "GGUF";
  const Part part{"the preamble", kMagic};
  const std::string_view begin{reinterpret_cast<const char*>(in.all().data()), in.all().size()};
  if (begin.substr(0, 4) != kMagic.substr(0, std::min<std::size_t>(begin.size(), 4))) {
    return not_a_model(in.all());
  }
  if (auto ok = in.skip(part, kMagic.size()); !ok) return std::unexpected(std::move(ok).error());
  const auto version = in.number<std::uint32_t>(part);
  if (!version) return std::unexpected(version.error());
  header.version = *version;
  if (auto ok = check_version(*version); !ok) return std::unexpected(std::move(ok).error());

  const std::size_t at = in.position();
  const auto tensors = in.number<std::int64_t>(part);
  if (!tensors) return std::unexpected(tensors.error());
  const auto pairs = in.number<std::int64_t>(part);
  if (!pairs) return std::unexpected(pairs.error());
  auto ok = check_count(*tensors, "tensors", kLeastTensorBytes, at, in);
  if (ok) ok = check_count(*pairs, "key/value pairs", kLeastPairBytes, at + 8, in);
  if (!ok) return std::unexpected(std::move(ok).error());
  return Counts{*tensors, *pairs};
}

Result<> take_alignment(const Pairs& pairs, Header& header) {
  constexpr std::string_view kKey = "general.alignment";
  // Here the width matters: an engine takes no other.
  const auto read = pairs.exact_u32(kKey);
  if (!read) return std::unexpected(read.error());
  const std::optional<std::uint32_t> alignment = *read;
  if (!alignment) return {};
  if (!std::has_single_bit(*alignment)) {
    return fail(ErrorKind::malformed, "key '{}' at byte {} is {}, not a power of two", kKey,
                pairs.position_of(kKey), *alignment);
  }
  header.alignment = *alignment;
  return {};
}

struct IntegerKey {
  std::string_view key;
  std::optional<std::int64_t> Header::* field;
};

constexpr IntegerKey kGeneralKeys[] = {
    {"general.file_type", &Header::file_type},
    {"split.no", &Header::split_no},
    {"split.count", &Header::split_count},
    {"split.tensors.count", &Header::split_tensors_count},
};

// Behind the architecture and a point.
constexpr IntegerKey kArchitectureKeys[] = {
    {"block_count", &Header::block_count},
    {"context_length", &Header::context_length},
    {"expert_count", &Header::expert_count},
    {"expert_used_count", &Header::expert_used_count},
    {"nextn_predict_layers", &Header::nextn_predict_layers},
};

Result<> take_integers(const Pairs& pairs, std::span<const IntegerKey> keys,
                       const std::string& prefix, Header& header) {
  for (const IntegerKey& row : keys) {
    const auto value = pairs.integer(prefix + std::string(row.key));
    if (!value) return std::unexpected(value.error());
    header.*row.field = *value;
  }
  return {};
}

Result<> take_values(const Pairs& pairs, Header& header) {
  if (auto ok = take_alignment(pairs, header); !ok) return ok;
  if (auto ok = take_integers(pairs, kGeneralKeys, "", header); !ok) return ok;
  const auto name = pairs.text("general.name");
  if (!name) return std::unexpected(name.error());
  header.name = *name;
  const auto architecture = pairs.text("general.architecture");
  if (!architecture) return std::unexpected(architecture.error());
  header.architecture = *architecture;
  if (!header.architecture) return {};

  const std::string prefix = *header.architecture + '.';
  if (auto ok = take_integers(pairs, kArchitectureKeys, prefix, header); !ok) return ok;
  const auto causal = pairs.boolean(prefix + "attention.causal");
  if (!causal) return std::unexpected(causal.error());
  header.causal_attention = *causal;
  return {};
}

}  // namespace

Result<Header> read_header(std::span<const std::byte> bytes, std::int64_t file_bytes) {
  HeaderBytes in(bytes, file_bytes);
  Header header;
  header.file_bytes = in.file_bytes();
  const auto counts = read_preamble(in, header);
  if (!counts) return std::unexpected(counts.error());
  const auto pairs = Pairs::read(in, counts->pairs);
  if (!pairs) return std::unexpected(pairs.error());
  if (auto ok = take_values(*pairs, header); !ok) return std::unexpected(std::move(ok).error());
  auto table = read_tensor_table(in, counts->tensors);
  if (!table) return std::unexpected(std::move(table).error());

  header.data_offset = static_cast<std::int64_t>(in.position());
  (void)round_up(header.data_offset, header.alignment);  // cannot fail: both are below 2^32
  auto ok = check_packing(*table, header.alignment);
  if (ok) ok = check_data_end(*table, header.data_offset, header.file_bytes);
  if (!ok) return std::unexpected(std::move(ok).error());
  header.tensors = std::move(table->tensors);
  return header;
}

}  // namespace picchio::gguf
