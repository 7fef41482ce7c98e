// Where models lie on a machine by custom.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace picchio::models {

/// In the order in which their models are listed: a file that two of them reach counts to the
/// first.
enum class Place { current_folder, ollama, llama_cpp, hugging_face, lm_studio, home_models };

/// "ollama", "Hugging Face": for people.
[[nodiscard]] std::string_view place_name(Place place);

struct SearchFolder {
  Place place = Place::current_folder;
  std::string path;
};

/// Every root of a search, so that a test's lie elsewhere.
struct SearchPlaces {
  std::vector<SearchFolder> folders;            // need not exist
  std::vector<std::string> ollama_stores = {};  // as ollama::store_roots() gives them
  std::string home = {};                        // shown as "~"; empty: none
  /// Names looked at in each folder: a home full of other things must not keep us busy. At 100,000
  /// a second and more that is half a second at worst.
  std::int64_t most_names = 50'000;
};

/// The variables that tools look into for where their models go. Absent: not set. A "~/" at the
/// beginning is the home folder, as the hub's own tools have it.
struct Surroundings {
  std::optional<std::string> home = std::nullopt;
  std::optional<std::string> xdg_cache_home = std::nullopt;
  std::optional<std::string> hf_home = std::nullopt;
  std::optional<std::string> hf_hub_cache = std::nullopt;
  std::optional<std::string> huggingface_hub_cache = std::nullopt;  // its name until 2023
  std::optional<std::string> llama_cache = std::nullopt;
};
[[nodiscard]] Surroundings surroundings();

/// Reads LM Studio's settings below the home folder, too: they may name another folder.
[[nodiscard]] SearchPlaces search_places(const Surroundings& around);

}  // namespace picchio::models
