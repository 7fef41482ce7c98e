#include "commands/offers.h"

#include "base/text.h"
#include "commands/shell_words.h"

#include <fmt/format.h>

#include <algorithm>

namespace picchio {
namespace {

std::string where_of(const models::FoundModel& model) {
  const std::string_view place = models::place_name(model.place);
  if (model.detail.empty()) return std::string(place);
  const bool path = model.place == models::Place::home_models;
  return fmt::format("{}{}{}", place, path ? "/" : ": ", model.detail);
}

}  // namespace

Offer offer_of(const models::FoundModel& model) {
  std::string size = model.bytes ? format_bytes(*model.bytes) : "";
  if (model.parts > 1) size += fmt::format(", {} parts", model.parts);
  return {model.argument, model.name, std::move(size), where_of(model),
          std::string(models::place_name(model.place))};
}

Offer offer_of(const servers::DetectedServer& server) {
  std::string name(name_of(server.kind));
  if (!server.version.empty()) name += " " + server.version;
  std::string_view host = server.endpoint.base_url;
  take_prefix(host, "http://");
  name += fmt::format(" at {}", host);
  if (server.loading) name += ", still loading";
  return {server.endpoint.base_url, std::move(name), "", "running server", "running servers"};
}

std::string command_of(const Offer& offer) { return "picchio " + shell_word(offer.argument); }

std::string pasteable(std::span<const Offer> offers, std::size_t most) {
  std::string out;
  const std::string* heading = nullptr;
  for (const Offer& offer : offers.first(std::min(most, offers.size()))) {
    if (heading == nullptr || *heading != offer.group) out += offer.group + ":\n";
    heading = &offer.group;
    out += fmt::format("  {}\n", command_of(offer));
  }
  if (offers.size() > most) out += fmt::format("and {} more\n", offers.size() - most);
  return out;
}

std::string searched(const models::SearchPlaces& places) {
  std::vector<std::string> names;
  for (const models::SearchFolder& folder : places.folders) {
    std::string name(models::place_name(folder.place));
    if (folder.place != models::Place::current_folder &&
        folder.place != models::Place::home_models) {
      name.insert(0, "the folders of ");
    }
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace picchio
