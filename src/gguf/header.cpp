#include "gguf/header.h"

#include "base/text.h"
#include "gguf/checked.h"
#include "gguf/data_layout.h"
#include "gguf/header_bytes.h"
#include "gguf/header_values.h"
#include "gguf/objections.h"
#include "gguf/pairs.h"
#include "gguf/tensor_table.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

namespace picchio::gguf {
namespace {

constexpr std::string_view kMagic = "GGUF";
constexpr Part kPreamble{"the preamble", kMagic};
constexpr std::uint64_t kLeastBehindMagic = 4 + 4 + 4;  // version and counts, as version 1 has them

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

/// Reads the version and from it how the numbers behind it are written.
Result<> read_version(HeaderBytes& in, Header& header, Accept accept, Objections& objections) {
  const auto as_stored = in.number<std::uint32_t>(kPreamble);
  if (!as_stored) return std::unexpected(as_stored.error());
  std::uint32_t version = *as_stored;
  if (version != 0 && (version & 0xFFFFU) == 0) {  // the format's own sign: no version needs its
                                                   // upper half
    auto ok = objections.raise(
        Objection::byte_order,
        with_hint(fail(ErrorKind::unsupported,
                       "a big-endian GGUF file (its version at byte 4 reads 0x{:08x}), which "
                       "engines here do not read",
                       version),
                  "fetch the little-endian file of this model"));
    if (!ok) return ok;
    header.big_endian = true;
    version = std::byteswap(version);
  }
  if (version == 0) return fail(ErrorKind::malformed, "GGUF version 0 at byte 4, which never was");
  if (version > 3) {
    return fail(ErrorKind::unsupported, "GGUF version {} at byte 4, only {} 3 are known", version,
                accept == Accept::loadable ? "2 and" : "1 to");
  }
  header.version = version;
  in.set_layout({header.big_endian ? std::endian::big : std::endian::little, version > 1});
  if (version > 1) return {};
  return objections.raise(Objection::version,
                          with_hint(fail(ErrorKind::unsupported,
                                         "GGUF version 1 at byte 4, which engines no longer read"),
                                    "fetch a newer file of this model, or convert it again"));
}

// The largest models have some thousand tensors and some dozen keys. The bound is for memory: a
// tensor of a hostile table takes 24 bytes of the file and 400 of ours.
constexpr std::int64_t kMostRows = std::int64_t{1} << 18U;

Result<> check_count(std::int64_t count, const char* what, std::uint64_t least_bytes,
                     std::size_t at, const HeaderBytes& in) {
  if (count < 0) {
    return fail(ErrorKind::malformed, "a negative number of {} at byte {}: {}", what, at, count);
  }
  const std::uint64_t before = 8 + 2 * in.layout().length_bytes();
  const std::int64_t most = std::min(in.file_bytes().value_or(kMaxHeaderBytes), kMaxHeaderBytes);
  const std::uint64_t bytes = std::max(static_cast<std::uint64_t>(most), before) - before;
  const std::uint64_t room = bytes / least_bytes;
  if (static_cast<std::uint64_t>(count) <= room) {
    if (count <= kMostRows) return {};
    return fail(ErrorKind::malformed, "{} {} claimed at byte {}, no model has more than {}", count,
                what, at, kMostRows);
  }
  const std::string holder = most == in.file_bytes()
                                 ? fmt::format("the file of {}", format_bytes(most))
                                 : std::string("a header");
  return fail(ErrorKind::malformed, "{} {} claimed at byte {}, {} has room for {}", count, what, at,
              holder, room);
}

Result<Counts> read_preamble(HeaderBytes& in, Header& header, Accept accept,
                             Objections& objections) {
  if (in.file_bytes() == 0) return fail(ErrorKind::malformed, "the file is empty");
  const std::string_view begin{reinterpret_cast<const char*>(in.all().data()), in.all().size()};
  if (begin.substr(0, 4) != kMagic.substr(0, std::min<std::size_t>(begin.size(), 4))) {
    return not_a_model(in.all());
  }
  in.expect_behind(kLeastBehindMagic);
  auto ok = in.skip(kPreamble, kMagic.size());
  if (ok) ok = read_version(in, header, accept, objections);
  if (!ok) return std::unexpected(std::move(ok).error());
  in.expect_less_behind(kLeastBehindMagic);

  const Layout& layout = in.layout();
  const std::size_t at = in.position();
  const auto tensors = in.length(kPreamble);
  if (!tensors) return std::unexpected(tensors.error());
  const std::size_t pairs_at = in.position();
  const auto pairs = in.length(kPreamble);
  if (!pairs) return std::unexpected(pairs.error());
  ok = check_count(*tensors, "tensors", layout.least_tensor_bytes(), at, in);
  if (ok) ok = check_count(*pairs, "key/value pairs", layout.least_pair_bytes(), pairs_at, in);
  if (!ok) return std::unexpected(std::move(ok).error());
  in.expect_behind(static_cast<std::uint64_t>(*tensors) * layout.least_tensor_bytes() +
                   static_cast<std::uint64_t>(*pairs) * layout.least_pair_bytes());
  return Counts{*tensors, *pairs};
}

Result<> read_parts(HeaderBytes& in, Header& header, Accept accept) {
  Objections objections(accept);
  const auto counts = read_preamble(in, header, accept, objections);
  if (!counts) return std::unexpected(counts.error());
  header.keys = counts->pairs;
  const auto pairs = Pairs::read(in, counts->pairs, objections);
  if (!pairs) return std::unexpected(pairs.error());
  if (auto ok = take_values(*pairs, header, objections); !ok) return ok;
  auto table = read_tensor_table(in, counts->tensors, objections);
  if (!table) return std::unexpected(std::move(table).error());

  header.header_bytes = static_cast<std::int64_t>(in.position());
  header.data_offset = header.header_bytes;
  (void)round_up(header.data_offset, header.alignment);  // cannot fail: both are below 2^32
  auto audit =
      audit_offsets(*table, {header.data_offset, header.alignment, header.file_bytes}, accept);
  if (!audit) return std::unexpected(std::move(audit).error());
  header.audit = *std::move(audit);
  header.objections = objections.sentences();
  header.tensors = std::move(table->tensors);
  return {};
}

}  // namespace

Result<Header> read_header(std::span<const std::byte> bytes, std::optional<std::int64_t> file_bytes,
                           Accept accept, std::int64_t* needed) {
  HeaderBytes in(bytes, file_bytes);
  Header header;
  header.file_bytes = in.file_bytes();
  auto ok = read_parts(in, header, accept);
  if (needed != nullptr) *needed = in.needed();
  if (!ok) return std::unexpected(std::move(ok).error());
  return header;
}

}  // namespace picchio::gguf
