#include "commands/card_digest.h"

#include "base/text.h"
#include "commands/progress.h"
#include "kept/digests.h"
#include "os/digest.h"
#include "os/file.h"

#include <fmt/format.h>

namespace picchio {
namespace {

/// A path that this machine can open: not a stream, not what a server sent or listed.
bool is_local(const Card& card, const CardFile& file) {
  return file.path != "-" && !file.transferred_bytes && card.audit.none_because.empty();
}

std::optional<std::string> remembered(const std::string& path) {
  const auto folder = os::cache_dir();
  const auto identity = os::file_identity(path);
  if (!folder || !identity) return std::nullopt;
  const auto digest = kept::recall_digest(*folder, *identity);
  return digest ? *digest : std::nullopt;
}

Result<std::string> compute(const CardFile& file, const os::Interrupts& interrupts) {
  ByteProgress progress(
      fmt::format("SHA-256 of {}", fit(plain(file.path.substr(file.path.rfind('/') + 1)), 24)),
      file.bytes);
  const auto keep_going = [&](std::int64_t done) {
    progress.update(done);
    return !interrupts.caught();
  };
  const auto folder = os::cache_dir();
  // Without a home folder nothing is remembered.
  if (!folder) return os::sha256_of_file(file.path, keep_going);
  std::string note;
  auto digest = kept::compute_digest(file.path, *folder, keep_going, &note);
  if (!note.empty()) progress.note(plain(note));
  return digest;
}

/// The digest by the file's bytes; absent where nobody wants it computed, or stopped it.
Result<std::optional<Digest>> digest_of_bytes(const CardFile& file, HashWish wish,
                                              const os::Interrupts& interrupts) {
  // Who asks for it wants these bytes read: a disk that forgets leaves no trace in the time stamp.
  if (wish != HashWish::compute) {
    if (const auto known = remembered(file.path)) return Digest{*known, DigestSource::remembered};
  }
  if (wish == HashWish::known || interrupts.caught()) return std::nullopt;
  Result<std::string> digest = compute(file, interrupts);
  if (digest) return Digest{*std::move(digest), DigestSource::computed};
  if (digest.error().kind == ErrorKind::interrupted) return std::nullopt;
  return std::unexpected(digest.error());
}

Result<> fill(CardFile& file, HashWish wish, const os::Interrupts& interrupts) {
  const std::optional<std::string> named = kept::known_digest(file.path);
  if (named && wish != HashWish::compute) {
    file.digest = Digest{*named, DigestSource::blob_name};
    return {};
  }
  Result<std::optional<Digest>> digest = digest_of_bytes(file, wish, interrupts);
  if (!digest) return std::unexpected(digest.error());
  if (named && *digest && (*digest)->hex != *named) {
    file.digest_fault = fmt::format("the bytes have {}.., the blob is named {}..: fetch it again",
                                    (*digest)->hex.substr(0, 12), named->substr(0, 12));
  }
  file.digest = *std::move(digest);
  return {};
}

}  // namespace

Result<> fill_digests(Card& card, HashWish wish, const os::Interrupts& interrupts) {
  for (CardFile& file : card.files) {
    if (wish == HashWish::none) file.digest.reset();  // a server's word too
    if (wish == HashWish::none || !is_local(card, file)) continue;
    if (const Result<> ok = fill(file, wish, interrupts); !ok) return ok;
  }
  return {};
}

}  // namespace picchio
