#include "commands/engine_cache.h"

#include "version.h"

#include <nlohmann/json.hpp>

#include <array>

namespace picchio {
namespace {

using nlohmann::json;

constexpr std::int64_t kMostCacheBytes = std::int64_t{1} << 20;
constexpr std::size_t kMostEngines = 32;

struct AbilityField {
  const char* key;
  bool llama_cpp::Abilities::* member;
};

constexpr std::array kAbilities = {
    AbilityField{"no_conversation", &llama_cpp::Abilities::no_conversation},
    AbilityField{"no_display_prompt", &llama_cpp::Abilities::no_display_prompt},
    AbilityField{"ignore_eos", &llama_cpp::Abilities::ignore_eos},
    AbilityField{"seed", &llama_cpp::Abilities::seed},
    AbilityField{"verbosity_levels", &llama_cpp::Abilities::verbosity_levels},
    AbilityField{"verbose", &llama_cpp::Abilities::verbose},
    AbilityField{"simple_io", &llama_cpp::Abilities::simple_io},
    AbilityField{"chat_only", &llama_cpp::Abilities::chat_only},
};

std::string this_picchio() { return std::string(kVersion) + " " + kCommit; }

std::optional<std::string> cache_path() {
  const auto folder = os::cache_dir();
  if (!folder) return std::nullopt;
  return *folder + "/engines.json";
}

// An object of engines by path, or an empty one: a damaged cache is a cache that knows nothing.
json read_cache() {
  const auto path = cache_path();
  if (!path) return json::object();
  const auto text = os::read_file(*path, kMostCacheBytes);
  if (!text) return json::object();
  json cache = json::parse(*text, nullptr, false);
  // Another picchio may look for other flags.
  if (!cache.is_object() || cache.value("picchio", json()) != this_picchio()) return json::object();
  json engines = cache.value("engines", json());
  return engines.is_object() ? engines : json::object();
}

template <class T>
std::optional<T> field(const json& object, const char* key) {
  const auto it = object.find(key);
  if (it == object.end()) return std::nullopt;
  if constexpr (std::is_same_v<T, bool>) {
    if (!it->is_boolean()) return std::nullopt;
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (!it->is_string()) return std::nullopt;
  } else {
    if (!it->is_number_integer()) return std::nullopt;
  }
  return it->template get<T>();
}

}  // namespace

std::optional<ProbedEngine> recall_engine(const std::string& path,
                                          const os::FileIdentity& identity) {
  const json cache = read_cache();
  const auto it = cache.find(path);
  if (it == cache.end() || !it->is_object()) return std::nullopt;
  const auto size = field<std::int64_t>(*it, "size");
  const auto mtime = field<std::int64_t>(*it, "mtime_ns");
  const auto inode = field<std::uint64_t>(*it, "inode");
  if (size != identity.size || mtime != identity.mtime_ns || inode != identity.inode) {
    return std::nullopt;
  }
  ProbedEngine out;
  out.program.path = path;
  out.program.name = path.substr(path.find_last_of('/') + 1);
  const auto version = field<std::string>(*it, "version");
  const auto build = field<std::string>(*it, "build");
  if (!version || !build) return std::nullopt;
  out.program.version = *version;
  out.program.build = *build;
  for (const AbilityField& ability : kAbilities) {
    const auto value = field<bool>(*it, ability.key);
    if (!value) return std::nullopt;
    out.abilities.*ability.member = *value;
  }
  return out;
}

void remember_engine(const ProbedEngine& engine, const os::FileIdentity& identity) {
  const auto path = cache_path();
  if (!path) return;
  json engines = read_cache();
  if (engines.size() >= kMostEngines) engines = json::object();
  json entry = {{"size", identity.size},
                {"mtime_ns", identity.mtime_ns},
                {"inode", identity.inode},
                {"version", engine.program.version},
                {"build", engine.program.build}};
  for (const AbilityField& ability : kAbilities)
    entry[ability.key] = engine.abilities.*ability.member;
  engines[engine.program.path] = std::move(entry);
  const json cache = {{"picchio", this_picchio()}, {"engines", std::move(engines)}};
  const std::string text = cache.dump(1, ' ', false, json::error_handler_t::replace);
  const auto folder = os::cache_dir();
  if (!folder || !os::make_dirs(*folder)) return;
  (void)os::write_file_atomic(*path, text);  // an unwritable cache is no failure
}

}  // namespace picchio
