// The models that are on this machine, wherever people and their tools keep them.
#pragma once

#include "models/places.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace picchio::models {

/// One row of the list. All strings but a place's name are untrusted bytes.
struct FoundModel {
  std::string argument;  // what picchio takes: a path, of a split model its first part; a tag
  std::string name;      // the file's, or the tag
  Place place = Place::current_folder;
  std::string detail;  // where in the place: "org/repository", a folder; may be empty
  std::optional<std::int64_t> bytes;  // of all parts
  int parts = 1;
};

struct FoundModels {
  std::vector<FoundModel> models;  // by place, then by name; a file reached twice stands there once
  std::vector<std::string> notes;  // what could not be read, or not to its end: for people
  std::vector<std::string> store_notes;  // ollama's stores that may not be read; its server knows
};

/// Nothing is asked of a server. A place that does not exist is no note.
[[nodiscard]] FoundModels find_models(const SearchPlaces& places);

/// The order of FoundModels::models.
void sort_models(std::vector<FoundModel>& models);

}  // namespace picchio::models
