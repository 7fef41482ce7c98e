// SHA-256 digests of model files, so that nobody waits twice for the same one. In digests.txt under
// the cache folder, the newest first, a line for each file:
//
//   picchio.digests.v1
//   DEVICE INODE SIZE MTIME_NS SHA256
//
// Plain lines and no JSON: 4096 of them are read within a millisecond, and `id` looks here before
// anything else is done.
//
// Two picchios at once lose at most the row that one of them adds: each
// renames a whole file over the old one, and the last one wins.
#pragma once

#include "base/result.h"
#include "os/digest.h"
#include "os/file.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace picchio::kept {

struct KeptDigest {
  os::FileIdentity file;
  std::string sha256;  // 64 lower-case hex digits, as everywhere here
};

inline constexpr std::size_t kMostDigests = 4096;

/// Pure. The newest first; one for each device and inode; at most kMostDigests, the oldest out.
[[nodiscard]] std::vector<KeptDigest> with_digest(std::vector<KeptDigest> digests,
                                                  KeptDigest digest);
[[nodiscard]] std::string digests_to_text(const std::vector<KeptDigest>& digests);
[[nodiscard]] Result<std::vector<KeptDigest>> digests_from_text(std::string_view text);

/// Pure. A store that names its files by their digest: ollama's ("sha256-HEX", "sha256:HEX") and
/// the Hugging Face cache's (".../blobs/HEX").
[[nodiscard]] std::optional<std::string> digest_in_path(std::string_view path);

/// The same for what `path` leads to: in the Hugging Face cache a model is a link to its blob. What
/// the store says; nothing was computed.
[[nodiscard]] std::optional<std::string> known_digest(const std::string& path);

/// What was computed for this very state of the file. An absent file is no digest at all; one that
/// cannot be read as ours is an error of kind malformed.
[[nodiscard]] Result<std::optional<std::string>> recall_digest(const std::string& cache_folder,
                                                               const os::FileIdentity& file);

/// A file of ours that cannot be read is moved aside first; `note` then says so.
[[nodiscard]] Result<> remember_digest(const std::string& cache_folder, KeptDigest digest,
                                       std::string* note = nullptr);

/// Reads the file and remembers its digest. One that changes meanwhile has no digest: an error.
/// What was written less than two seconds ago is not remembered, since the next write could leave
/// the same time stamp. A cache that cannot be written is a `note` and no failure.
[[nodiscard]] Result<std::string> compute_digest(const std::string& path,
                                                 const std::string& cache_folder,
                                                 const os::DigestProgress& keep_going,
                                                 std::string* note = nullptr);

}  // namespace picchio::kept
