#include "models/find_models.h"

#include "base/text.h"
#include "models/stored_tags.h"
#include "models/walk.h"
#include "os/folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

namespace picchio::models {
namespace {

constexpr int kCurrentFolderDepth = 1;  // it can be anything, a home folder or the root
constexpr int kPlaceDepth = 8;          // LM Studio has two, the hub's repositories some folders
constexpr std::size_t kMostRefused = 3;
constexpr std::size_t kShownRevision = 7;
constexpr std::string_view kRepository = "models--";

/// "models--org--repository" -> "org/repository".
std::string repository_of(std::string_view folder) {
  take_prefix(folder, kRepository);
  std::string out(folder);
  if (const auto dashes = out.find("--"); dashes != std::string::npos) out.replace(dashes, 2, "/");
  return out;
}

/// Sub-folders of the hub's cache: what else it keeps, blobs above all, has no names to go by.
std::vector<std::string> folders_in(const std::string& path, std::string_view beginning,
                                    std::int64_t& names, std::vector<Error>& refused) {
  std::vector<std::string> out;
  const Result<os::Folder> folder = os::Folder::open(path);
  if (!folder) {
    if (folder.error().kind != ErrorKind::not_found) refused.push_back(folder.error());
    return out;
  }
  const Result<> read = folder->each([&](std::string_view name, os::EntryKind kind) {
    const bool file = kind == os::EntryKind::file || kind == os::EntryKind::other;
    if (!file && name.starts_with(beginning)) out.emplace_back(name);
    return --names > 0;
  });
  if (!read) refused.push_back(read.error());
  std::ranges::sort(out);
  return out;
}

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

/// A word of a command line that means this file: not an option, a URL or a name on the hub.
std::string as_argument(const SearchFolder& folder, const std::string& path) {
  if (folder.path != ".") {
    return folder.path.ends_with('/') ? folder.path + path : folder.path + "/" + path;
  }
  const bool plain_file = !path.starts_with('-') && !path.contains(':');
  return plain_file ? path : "./" + path;
}

class Search {
 public:
  explicit Search(const SearchPlaces& places) : places_(places) {}

  FoundModels run() {
    for (const SearchFolder& folder : places_.folders) {
      // Its blobs count to the store, unless they lie under one's feet.
      if (folder.place > Place::ollama) add_tags();
      look_in(folder);
    }
    add_tags();
    sort_models(out_.models);
    tell_refused();
    return std::move(out_);
  }

 private:
  void add_tags() {
    if (std::exchange(tags_added_, true)) return;
    StoredTags stored = stored_tags(places_.ollama_stores);
    for (StoredTag& each : stored.tags) {
      // Two tags of the same weights may differ in their settings: both are there.
      known_.insert(each.weights);
      std::string name = each.tag;
      out_.models.push_back({std::move(each.tag), std::move(name), Place::ollama, "", each.bytes});
    }
    for (const Error& error : stored.refused) out_.store_notes.push_back(error.message);
  }

  void look_in(const SearchFolder& folder) {
    std::int64_t names = places_.most_names;
    bool cut = false;
    if (folder.place == Place::hugging_face) {
      look_in_hub(folder, names);
      cut = names <= 0;
    } else {
      const bool current = folder.place == Place::current_folder;
      const int depth = current ? kCurrentFolderDepth : kPlaceDepth;
      Walk walk = walk_models(folder.path, {depth, &names});
      cut = walk.cut;
      add(folder, std::move(walk), [&](const std::string& path) { return folder_of(path); });
    }
    if (!cut) return;
    out_.notes.push_back(
        fmt::format("looked at the first {} names in '{}' only; a model that is not listed can be "
                    "given by its path",
                    places_.most_names, shown(folder.path)));
  }

  void look_in_hub(const SearchFolder& hub, std::int64_t& names) {
    for (const std::string& repository : folders_in(hub.path, kRepository, names, refused_)) {
      const std::string snapshots = repository + "/snapshots";
      const auto revisions = folders_in(hub.path + "/" + snapshots, "", names, refused_);
      for (const std::string& revision : revisions) {
        if (names <= 0) return;
        const std::string below = fmt::format("{}/{}", snapshots, revision);
        std::string detail = repository_of(repository);
        if (revisions.size() > 1) detail += "@" + revision.substr(0, kShownRevision);
        Walk walk = walk_models(hub.path + "/" + below, {kPlaceDepth, &names});
        for (WalkedFile& file : walk.files) file.path = below + "/" + file.path;
        add(hub, std::move(walk), [&](const std::string&) { return detail; });
      }
    }
  }

  template <class DetailOf>
  void add(const SearchFolder& folder, Walk walk, const DetailOf& detail_of) {
    // Of a file and a link to it the file's name is the better one.
    std::ranges::sort(walk.files, {},
                      [](const WalkedFile& file) { return std::tie(file.link, file.path); });
    for (const WalkedFile& file : walk.files) {
      if (!known_.insert(file.key).second) continue;
      out_.models.push_back({as_argument(folder, file.path), std::string(base_name(file.path)),
                             folder.place, detail_of(file.path), file.bytes, file.parts});
    }
    std::ranges::move(walk.refused, std::back_inserter(refused_));
  }

  void tell_refused() {
    for (std::size_t i = 0; i < std::min(refused_.size(), kMostRefused); ++i) {
      out_.notes.push_back(refused_[i].message);
    }
    if (refused_.size() > kMostRefused) {
      out_.notes.push_back(
          fmt::format("and {} more folders that cannot be read", refused_.size() - kMostRefused));
    }
  }

  [[nodiscard]] std::string shown(const std::string& path) const {
    if (path == ".") return "the current folder";
    std::string_view rest = path;
    if (places_.home.empty() || !take_prefix(rest, places_.home + "/")) return path;
    return "~/" + std::string(rest);
  }

  const SearchPlaces& places_;
  FoundModels out_;
  std::set<FileKey> known_;
  std::vector<Error> refused_;
  bool tags_added_ = false;
};

}  // namespace

void sort_models(std::vector<FoundModel>& models) {
  // A key made once for each: in the comparison it would be most of the search's time.
  std::vector<std::pair<std::string, std::size_t>> keys;
  keys.reserve(models.size());
  for (const FoundModel& each : models) {
    std::string key(1, static_cast<char>(each.place));
    key += lower(each.name);
    key += '\0';
    key += each.detail;
    keys.emplace_back(std::move(key), keys.size());
  }
  std::ranges::sort(keys);
  std::vector<FoundModel> sorted;
  sorted.reserve(models.size());
  for (const auto& [key, at] : keys) sorted.push_back(std::move(models[at]));
  models = std::move(sorted);
}

FoundModels find_models(const SearchPlaces& places) { return Search(places).run(); }

}  // namespace picchio::models
