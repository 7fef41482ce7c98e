// Files, folders and where a user's things lie. Names of files are untrusted bytes: an error's text
// holds them as they are, so it reaches a terminal only through plain().
#pragma once

#include "base/result.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace picchio::os {

/// All bytes of a file, also of one that states no size (/proc, a pipe). One with more than `cap`
/// bytes is an error, not a part.
[[nodiscard]] Result<std::string> read_file(const std::string& path, std::int64_t cap);

/// At most `cap` bytes of a regular file, from `offset` on; fewer or none at its end. What is no
/// regular file is an error: a pipe or a terminal cannot be read without taking what another is to
/// get.
[[nodiscard]] Result<std::string> read_part(const std::string& path, std::int64_t offset,
                                            std::int64_t cap);

/// read_file() for a descriptor, until its end; `name` is for the error's text.
[[nodiscard]] Result<std::string> read_all(int fd, std::int64_t cap, std::string_view name);

/// Reads on until `bytes` holds `size` bytes; false when the end came first. Waits for a slow
/// writer, but not for one that never writes: an interrupt (`stop_fd`, see Interrupts::fd()) is an
/// error of kind interrupted.
[[nodiscard]] Result<bool> read_on(int fd, std::string& bytes, std::size_t size,
                                   std::string_view name, int stop_fd);

/// Writes beside `path`, flushes to the disk and renames, so that a reader sees the old file or the
/// whole new one; the temporary file is gone after a failure. A symbolic link is followed.
/// Something that is no regular file (/dev/stdout, a pipe) is written to directly, never replaced.
[[nodiscard]] Result<> write_file_atomic(const std::string& path, std::string_view bytes,
                                         unsigned mode = 0600);

/// Makes a folder and its parents, 0700 like the XDG specification wants for those of a user.
[[nodiscard]] Result<> make_dirs(const std::string& path);

/// Names in a folder, sorted, without "." and "..".
[[nodiscard]] Result<std::vector<std::string>> list_dir(const std::string& path);

[[nodiscard]] Result<std::string> read_link(const std::string& path);

/// The path with every link followed, or nullopt when it does not exist.
[[nodiscard]] std::optional<std::string> real_path(const std::string& path);

[[nodiscard]] bool exists(const std::string& path);

/// What tells one state of a file from another. Device and inode name the file, until it is removed
/// and its inode is used again.
struct FileIdentity {
  std::int64_t size = 0;
  std::int64_t mtime_ns = 0;
  std::uint64_t inode = 0;
  std::uint64_t device = 0;
  bool operator==(const FileIdentity&) const = default;
};
[[nodiscard]] Result<FileIdentity> file_identity(const std::string& path);

/// Share of the file's pages that are in the page cache, 0 to 1. Absent where it cannot be known:
/// since 5.2 Linux says "all" about a file that the caller neither owns nor may write, so nothing
/// is asked then; and on other systems.
[[nodiscard]] std::optional<double> cached_fraction(const std::string& path);

/// Asks the kernel to forget the file's cached pages. A request: pages that a process has mapped or
/// that are not yet written stay, so look at cached_fraction() afterwards.
[[nodiscard]] Result<> drop_cache(const std::string& path);

/// Absolute or relative path of a program that may be executed, found as a shell would: a name with
/// a slash is looked at as it is, others are sought in PATH.
[[nodiscard]] std::optional<std::string> find_on_path(const std::string& name);

/// A variable of our environment; an empty one is "" and not absent.
[[nodiscard]] std::optional<std::string> env(const char* name);

/// All of our environment as "NAME=value" entries.
[[nodiscard]] std::vector<std::string> environment();

/// ${XDG_CACHE_HOME:-~/.cache}/picchio, not yet made. A relative XDG_CACHE_HOME is ignored, as the
/// specification demands. Fails when there is no home folder either.
[[nodiscard]] Result<std::string> cache_dir();

[[nodiscard]] bool is_terminal(int fd);

/// Columns of the terminal, absent when it is none or tells none.
[[nodiscard]] std::optional<int> terminal_width(int fd);

/// Writes everything, also to a descriptor that somebody made non-blocking. A closed reader and a
/// full disk are errors; SIGPIPE must be ignored for the first (Interrupts does).
[[nodiscard]] Result<> write_all(int fd, std::string_view bytes, std::string_view name);

}  // namespace picchio::os
