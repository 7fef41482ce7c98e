#include "models/walk.h"

#include "base/text.h"
#include "evidence/shard_name.h"
#include "models/file_names.h"
#include "os/file.h"
#include "os/folder.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>

namespace picchio::models {
namespace {

using os::EntryKind;

// git-lfs: "pointer files must be less than 1024 bytes". A server's word of refusal is about that
// long too; a page is longer, and then the header's reader says so.
constexpr std::int64_t kLongestStandIn = 1024;

bool stands_in(const std::string& path) {
  const Result<std::string> text = os::read_file(path, kLongestStandIn);
  if (!text) return true;  // nobody could run it
  return text->starts_with("version https://git-lfs") || text->starts_with('<') ||
         text->starts_with('{');
}

struct PendingFolder {
  std::string path;  // relative to the root, "" or with a slash at its end
  int depth = 0;
};

struct NamedEntry {
  std::string name;
  EntryKind kind = EntryKind::unknown;
};

/// What the names in one folder say.
struct Names {
  std::vector<NamedEntry> models;
  std::vector<NamedEntry> folders;  // links and unknowns among them may be anything
  std::set<std::string, std::less<>> unfinished;
};

class Walker {
 public:
  Walker(const std::string& root, WalkLimits limits)
      : root_(root.ends_with('/') ? root : root + "/"), limits_(limits) {}

  Walk run() {
    pending_.push_back({"", 0});
    // By index: the list grows meanwhile.
    for (std::size_t at = 0; at < pending_.size() && !walk_.cut; ++at) {
      const PendingFolder next = pending_[at];
      enter(next);
    }
    return std::move(walk_);
  }

 private:
  void refuse(const Error& error) {
    // Of what vanished meanwhile, and of a root that never was, there is nothing to tell.
    if (error.kind != ErrorKind::not_found) walk_.refused.push_back(error);
  }

  void enter(const PendingFolder& at) {
    const Result<os::Folder> folder = os::Folder::open(at.path.empty() ? root_ : root_ + at.path);
    if (!folder) return refuse(folder.error());
    const Result<os::EntryStatus> self = folder->status();
    if (!self || !entered_.emplace(self->device, self->inode).second) return;
    Names names;
    const Result<> read = folder->each([&](std::string_view name, EntryKind kind) {
      if (*limits_.names <= 0) {
        walk_.cut = true;
        return false;
      }
      --*limits_.names;
      sort_in(names, name, kind);
      return true;
    });
    if (!read) refuse(read.error());
    take_models(*folder, at, names);
    if (at.depth >= limits_.depth) return;
    std::ranges::sort(names.folders, {}, &NamedEntry::name);
    for (const NamedEntry& each : names.folders) {
      if (is_folder(*folder, each)) pending_.push_back({at.path + each.name + "/", at.depth + 1});
    }
  }

  static void sort_in(Names& names, std::string_view name, EntryKind kind) {
    if (kind == EntryKind::other) return;
    const bool maybe_file = kind != EntryKind::folder;
    if (maybe_file && named_as(name) == NamedAs::model) {
      names.models.push_back({std::string(name), kind});
      return;
    }
    if (const auto of = unfinished_by(name)) names.unfinished.emplace(*of);
    if (kind != EntryKind::file && !name.starts_with('.')) {
      names.folders.push_back({std::string(name), kind});
    }
  }

  static bool is_folder(const os::Folder& folder, const NamedEntry& entry) {
    if (entry.kind == EntryKind::folder) return true;
    const Result<os::EntryStatus> status = folder.status(entry.name);
    return status && status->kind == EntryKind::folder;
  }

  void take_models(const os::Folder& folder, const PendingFolder& at, Names& names) {
    std::erase_if(names.models,
                  [&](const NamedEntry& each) { return names.unfinished.contains(each.name); });
    std::map<std::string, std::vector<const NamedEntry*>, std::less<>> sets;
    for (const NamedEntry& each : names.models) {
      const auto part = shard_name(each.name);
      if (part && part->count > 1) {
        // Parts of one set are alike but for their number.
        sets[fmt::format("{}/{}", part->count, part->prefix)].push_back(&each);
      } else if (auto file = look_at(folder, at, each)) {
        walk_.files.push_back(*std::move(file));
      }
    }
    for (auto& [key, parts] : sets) take_set(folder, at, parts);
  }

  void take_set(const os::Folder& folder, const PendingFolder& at,
                std::vector<const NamedEntry*>& parts) {
    std::ranges::sort(parts, {}, [](const NamedEntry* part) { return part->name; });
    const auto first = shard_name(parts.front()->name);
    if (!first || static_cast<std::int64_t>(parts.size()) != first->count) return;
    auto whole = look_at(folder, at, *parts.front());
    if (!whole) return;
    for (const NamedEntry* part : std::span(parts).subspan(1)) {
      const auto file = look_at(folder, at, *part);
      if (!file) return;
      whole->bytes += file->bytes;
    }
    whole->parts = static_cast<int>(parts.size());
    walk_.files.push_back(*std::move(whole));
  }

  [[nodiscard]] std::optional<WalkedFile> look_at(const os::Folder& folder, const PendingFolder& at,
                                                  const NamedEntry& entry) const {
    const Result<os::EntryStatus> status = folder.status(entry.name);
    if (!status || status->kind != EntryKind::file || status->bytes == 0) return std::nullopt;
    std::string path = at.path + entry.name;
    if (status->bytes < kLongestStandIn && stands_in(root_ + path)) return std::nullopt;
    return WalkedFile{.path = std::move(path),
                      .bytes = status->bytes,
                      .key = {status->device, status->inode},
                      .link = entry.kind == EntryKind::link};
  }

  std::string root_;
  WalkLimits limits_;
  std::vector<PendingFolder> pending_;
  std::set<FileKey> entered_;
  Walk walk_;
};

}  // namespace

Walk walk_models(const std::string& root, WalkLimits limits) { return Walker(root, limits).run(); }

}  // namespace picchio::models
