// Models and servers of this machine as rows of a list, and the list as text. Pure.
#pragma once

#include "engines/servers/detect.h"
#include "models/find_models.h"

#include <span>
#include <string>
#include <vector>

namespace picchio {

/// All of it but `group` is untrusted bytes.
struct Offer {
  std::string argument;  // what picchio takes
  std::string name;
  std::string size;   // "4.68 GiB, 3 parts"; empty for a server
  std::string where;  // "LM Studio: org/repository"
  std::string group;  // "LM Studio"
};

[[nodiscard]] Offer offer_of(const models::FoundModel& model);
[[nodiscard]] Offer offer_of(const servers::DetectedServer& server);

/// "picchio ARGUMENT", to be pasted into a shell.
[[nodiscard]] std::string command_of(const Offer& offer);

/// For whoever cannot be shown a menu: the commands, by where they come from, `most` of them.
[[nodiscard]] std::string pasteable(std::span<const Offer> offers, std::size_t most);

/// "~/models, LM Studio's folder ...": where was looked, for the case that nothing was found.
[[nodiscard]] std::string searched(const models::SearchPlaces& places);

}  // namespace picchio
