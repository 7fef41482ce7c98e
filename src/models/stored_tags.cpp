#include "models/stored_tags.h"

#include "engines/ollama/store.h"
#include "os/file.h"

#include <algorithm>
#include <set>
#include <span>

namespace picchio::models {

StoredTags stored_tags(const std::vector<std::string>& stores) {
  StoredTags out;
  std::set<std::string> known;
  for (const std::string& store : stores) {
    const auto manifests = os::list_dir(store + "/manifests");
    if (!manifests) {
      if (manifests.error().kind == ErrorKind::denied) out.refused.push_back(manifests.error());
      continue;
    }
    // One at a time: a tag is looked up where it was listed, and nowhere else.
    const std::span<const std::string> here(&store, 1);
    for (const ollama::Tag& tag : ollama::installed_tags(here)) {
      std::string name = to_string(tag);
      if (known.contains(name)) continue;
      const Result<ollama::StoredModel> model = ollama::find_in_store(tag, here);
      if (!model) continue;
      const auto file = os::file_identity(model->model.path);
      if (!file || file->size == 0) continue;
      known.insert(name);
      out.tags.push_back({std::move(name), model->total_bytes, {file->device, file->inode}});
    }
  }
  std::ranges::sort(out.tags, {}, &StoredTag::tag);
  return out;
}

}  // namespace picchio::models
