#include "models/places.h"

#include "base/text.h"
#include "engines/ollama/store.h"
#include "os/file.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace picchio::models {
namespace {

constexpr std::int64_t kMostSettingsBytes = std::int64_t{1} << 20;

std::optional<std::string> text_of(const std::string& path) {
  std::error_code ignored;
  // A pipe would be waited for.
  if (!std::filesystem::is_regular_file(path, ignored)) return std::nullopt;
  auto text = os::read_file(path, kMostSettingsBytes);
  return text ? std::optional(*std::move(text)) : std::nullopt;
}

class List {
 public:
  explicit List(std::string home) { out_.home = std::move(home); }

  void add(Place place, const std::optional<std::string>& folder, std::string_view below = "") {
    if (!folder || folder->empty()) return;
    std::string path = *folder;
    if (std::string_view rest = path; take_prefix(rest, "~/") && !out_.home.empty()) {
      path = out_.home + "/" + std::string(rest);
    }
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    if (!below.empty()) path += "/" + std::string(below);
    const bool known =
        std::ranges::find(out_.folders, path, &SearchFolder::path) != out_.folders.end();
    if (!known) out_.folders.push_back({place, std::move(path)});
  }

  void add_below_home(Place place, std::string_view below) {
    if (!out_.home.empty()) add(place, out_.home, below);
  }

  [[nodiscard]] const std::string& home() const { return out_.home; }
  SearchPlaces take() { return std::move(out_); }

 private:
  SearchPlaces out_;
};

/// "downloadsFolder" of LM Studio's settings.json.
std::optional<std::string> downloads_folder(const std::string& studio) {
  const auto text = text_of(studio + "/settings.json");
  if (!text) return std::nullopt;
  const auto settings = nlohmann::json::parse(*text, nullptr, false);
  if (!settings.is_object()) return std::nullopt;
  const auto found = settings.find("downloadsFolder");
  if (found == settings.end() || !found->is_string()) return std::nullopt;
  auto folder = found->get<std::string>();
  const bool usable = folder.starts_with('/') && !folder.contains('\0');
  return usable ? std::optional(std::move(folder)) : std::nullopt;
}

void add_lm_studio(List& list) {
  if (list.home().empty()) return;
  std::vector<std::string> studios;
  // Its folder may lie anywhere: this one-line file says where.
  if (const auto pointer = text_of(list.home() + "/.lmstudio-home-pointer")) {
    const std::string folder(trim(*pointer));
    if (folder.starts_with('/') && !folder.contains('\0')) studios.push_back(folder);
  }
  studios.push_back(list.home() + "/.lmstudio");
  studios.push_back(list.home() + "/.cache/lm-studio");  // of older versions
  for (const std::string& studio : studios) {
    list.add(Place::lm_studio, downloads_folder(studio));
    list.add(Place::lm_studio, studio, "models");
  }
}

}  // namespace

std::string_view place_name(Place place) {
  switch (place) {
    case Place::current_folder:
      return "this folder";
    case Place::ollama:
      return "ollama";
    case Place::llama_cpp:
      return "llama.cpp cache";
    case Place::hugging_face:
      return "Hugging Face cache";
    case Place::lm_studio:
      return "LM Studio";
    case Place::home_models:
      return "~/models";
  }
  return "";
}

Surroundings surroundings() {
  return {.home = os::env("HOME"),
          .xdg_cache_home = os::env("XDG_CACHE_HOME"),
          .hf_home = os::env("HF_HOME"),
          .hf_hub_cache = os::env("HF_HUB_CACHE"),
          .huggingface_hub_cache = os::env("HUGGINGFACE_HUB_CACHE"),
          .llama_cache = os::env("LLAMA_CACHE")};
}

SearchPlaces search_places(const Surroundings& around) {
  const std::string home = around.home.value_or("");
  List list(home.starts_with('/') ? home : "");
  list.add(Place::current_folder, ".");
  list.add(Place::llama_cpp, around.llama_cache);
  list.add(Place::llama_cpp, around.xdg_cache_home, "llama.cpp");
  list.add_below_home(Place::llama_cpp, ".cache/llama.cpp");
  list.add_below_home(Place::llama_cpp, "Library/Caches/llama.cpp");
  list.add(Place::hugging_face, around.hf_hub_cache);
  list.add(Place::hugging_face, around.huggingface_hub_cache);
  list.add(Place::hugging_face, around.hf_home, "hub");
  list.add(Place::hugging_face, around.xdg_cache_home, "huggingface/hub");
  list.add_below_home(Place::hugging_face, ".cache/huggingface/hub");
  add_lm_studio(list);
  list.add_below_home(Place::home_models, "models");
  SearchPlaces out = list.take();
  out.ollama_stores = ollama::store_roots();
  return out;
}

}  // namespace picchio::models
