#include "kept/digests.h"

#include "base/text.h"
#include "kept/set_aside.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <iterator>

namespace picchio::kept {
namespace {

constexpr std::string_view kSchema = "picchio.digests.v1";
constexpr std::int64_t kMostBytes = std::int64_t{1} << 20;  // 4096 rows of at most 149 bytes
constexpr std::size_t kDigits = 64;

// Coarser than the time stamps of any file system that is in use (FAT: two seconds).
constexpr std::int64_t kSettledNs = 2'000'000'000;

std::string path_in(const std::string& cache_folder) { return cache_folder + "/digests.txt"; }

bool is_digest(std::string_view text) {
  return text.size() == kDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// A number and the blank behind it off the front.
template <class T>
bool take_field(std::string_view& line, T& into) {
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), into);
  const auto used = static_cast<std::size_t>(end - line.data());
  if (error != std::errc{} || used == line.size() || line[used] != ' ') return false;
  line.remove_prefix(used + 1);
  return true;
}

std::optional<KeptDigest> parse_row(std::string_view line) {
  KeptDigest out;
  const bool numbers = take_field(line, out.file.device) && take_field(line, out.file.inode) &&
                       take_field(line, out.file.size) && take_field(line, out.file.mtime_ns);
  if (!numbers || !is_digest(line)) return std::nullopt;
  out.sha256 = line;
  return out;
}

Result<std::vector<KeptDigest>> read_digests(const std::string& cache_folder) {
  const std::string path = path_in(cache_folder);
  const Result<std::optional<std::string>> text = read_cache_file(path, kMostBytes);
  if (!text) return std::unexpected(text.error());
  if (!*text) return std::vector<KeptDigest>{};
  auto digests = digests_from_text(**text);
  if (!digests) {
    return fail(ErrorKind::malformed, "cannot read '{}': {}", path, digests.error().message);
  }
  return digests;
}

std::int64_t now_ns() {
  using namespace std::chrono;
  return duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count();
}

}  // namespace

std::vector<KeptDigest> with_digest(std::vector<KeptDigest> digests, KeptDigest digest) {
  std::erase_if(digests, [&](const KeptDigest& old) {
    return old.file.device == digest.file.device && old.file.inode == digest.file.inode;
  });
  digests.insert(digests.begin(), std::move(digest));
  if (digests.size() > kMostDigests) digests.resize(kMostDigests);
  return digests;
}

std::string digests_to_text(const std::vector<KeptDigest>& digests) {
  std::string out(kSchema);
  out += '\n';
  for (const auto& [file, sha256] : digests) {
    fmt::format_to(std::back_inserter(out), "{} {} {} {} {}\n", file.device, file.inode, file.size,
                   file.mtime_ns, sha256);
  }
  return out;
}

Result<std::vector<KeptDigest>> digests_from_text(std::string_view text) {
  const auto lines = split_lines(text);
  if (lines.empty() || lines.front() != kSchema) {
    return fail(ErrorKind::malformed, "its first line is not '{}'", kSchema);
  }
  std::vector<KeptDigest> out;
  out.reserve(lines.size());
  for (std::size_t i = 1; i < lines.size(); ++i) {
    auto row = parse_row(lines[i]);
    if (!row) return fail(ErrorKind::malformed, "line {} is no digest", i + 1);
    out.push_back(*std::move(row));
  }
  return out;
}

std::optional<std::string> digest_in_path(std::string_view path) {
  const auto slash = path.rfind('/');
  const std::string_view folder = slash == std::string_view::npos ? "" : path.substr(0, slash);
  std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  const bool ollama = take_prefix(name, "sha256-") || take_prefix(name, "sha256:");
  const bool hub = folder == "blobs" || folder.ends_with("/blobs");
  if (!(ollama || hub) || !is_digest(name)) return std::nullopt;
  return std::string(name);
}

std::optional<std::string> known_digest(const std::string& path) {
  return digest_in_path(os::real_path(path).value_or(path));
}

Result<std::optional<std::string>> recall_digest(const std::string& cache_folder,
                                                 const os::FileIdentity& file) {
  const auto digests = read_digests(cache_folder);
  if (!digests) return std::unexpected(digests.error());
  const auto found = std::ranges::find(*digests, file, &KeptDigest::file);
  if (found == digests->end()) return std::nullopt;
  return found->sha256;
}

Result<> remember_digest(const std::string& cache_folder, KeptDigest digest, std::string* note) {
  if (const Result<> made = os::make_dirs(cache_folder); !made) return made;
  auto digests = read_digests(cache_folder);
  if (!digests) {
    const auto moved = set_aside(path_in(cache_folder), digests.error(), note);
    if (!moved) return moved;
    digests = std::vector<KeptDigest>{};
  }
  return os::write_file_atomic(path_in(cache_folder),
                               digests_to_text(with_digest(*std::move(digests), std::move(digest))),
                               0600);
}

Result<std::string> compute_digest(const std::string& path, const std::string& cache_folder,
                                   const os::DigestProgress& keep_going, std::string* note) {
  const auto before = os::file_identity(path);
  if (!before) return std::unexpected(before.error());
  const bool settled = before->mtime_ns + kSettledNs < now_ns();
  auto sha256 = os::sha256_of_file(path, keep_going);
  if (!sha256) return sha256;
  const auto after = os::file_identity(path);
  if (!after || *after != *before) {
    return fail(ErrorKind::failed, "'{}' changed while its SHA-256 was computed", path);
  }
  if (!settled) return sha256;
  const auto kept = remember_digest(cache_folder, {.file = *after, .sha256 = *sha256}, note);
  if (!kept && note != nullptr) {
    *note = fmt::format("the SHA-256 is not remembered: {}", kept.error().message);
  }
  return sha256;
}

}  // namespace picchio::kept
