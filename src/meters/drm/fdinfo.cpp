#include "meters/drm/fdinfo.h"

#include "base/text.h"

#include <algorithm>
#include <charconv>

namespace picchio::meters::drm {
namespace {

// The richest driver has some ten of each; more is not a driver's text.
constexpr std::size_t kMaxNames = 64;
constexpr std::size_t kMaxNameLength = 64;

std::optional<std::uint64_t> take_number(std::string_view& text) {
  text = trim(text);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  text = trim(text.substr(static_cast<std::size_t>(end - text.data())));
  return value;
}

std::optional<std::uint64_t> number_with(std::string_view text, std::string_view unit) {
  const auto value = take_number(text);
  return value && text == unit ? value : std::nullopt;
}

std::optional<std::int64_t> bytes_of(std::string_view text) {
  struct Unit {
    std::string_view name;
    unsigned shift;
  };
  // The percent format says kB and means 1024 bytes.
  constexpr Unit kUnits[] = {{"", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"kB", 10}};
  const auto value = take_number(text);
  const auto* unit = std::ranges::find(kUnits, text, &Unit::name);
  // A PiB: more is a driver's nonsense, and sums of thousands of clients still fit.
  constexpr std::uint64_t kMost = std::uint64_t{1} << 50;
  if (!value || unit == std::end(kUnits) || *value > kMost >> unit->shift) return std::nullopt;
  return static_cast<std::int64_t>(*value << unit->shift);
}

template <class Named>
Named* named(std::vector<Named>& all, std::string_view name) {
  const auto found = std::ranges::find(all, name, &Named::name);
  if (found != all.end()) return &*found;
  if (name.empty() || name.size() > kMaxNameLength || all.size() == kMaxNames) return nullptr;
  all.push_back({});
  all.back().name = name;
  return &all.back();
}

using Read = void (*)(Client& client, std::string_view name, std::string_view value);

template <std::optional<std::int64_t> RegionUse::* Field>
void read_region(Client& client, std::string_view name, std::string_view value) {
  const auto bytes = bytes_of(value);
  if (!bytes) return;
  if (auto* region = named(client.regions, name)) region->*Field = bytes;
}

template <std::optional<std::uint64_t> EngineUse::* Field>
void read_cycles(Client& client, std::string_view name, std::string_view value) {
  const auto count = number_with(value, "");
  if (!count) return;
  if (auto* engine = named(client.engines, name)) engine->*Field = count;
}

void read_busy(Client& client, std::string_view name, std::string_view value) {
  const auto time = number_with(value, "ns");
  if (!time) return;
  if (auto* engine = named(client.engines, name)) engine->busy_ns = time;
}

void read_capacity(Client& client, std::string_view name, std::string_view value) {
  const auto count = number_with(value, "");
  if (!count || *count == 0 || *count > 4096) return;
  if (auto* engine = named(client.engines, name)) {
    engine->capacity = static_cast<std::int64_t>(*count);
  }
}

void read_driver(Client& client, std::string_view name, std::string_view value) {
  if (name.empty()) client.driver = value;
}
void read_address(Client& client, std::string_view name, std::string_view value) {
  if (name.empty()) client.address = lower(value);
}
void read_id(Client& client, std::string_view name, std::string_view value) {
  if (name.empty()) client.id = number_with(value, "");
}
void read_evicted(Client& client, std::string_view name, std::string_view value) {
  if (name.empty()) client.evicted_vram = bytes_of(value);
}

struct KeyRule {
  std::string_view prefix;
  Read read;
};

// "drm-engine-gfx:\t123 ns": what follows the prefix in the key is a name. A longer prefix stands
// before the shorter one that it begins with.
constexpr KeyRule kKeys[] = {
    {"drm-driver", read_driver},
    {"drm-pdev", read_address},
    {"drm-client-id", read_id},
    {"drm-engine-capacity-", read_capacity},
    {"drm-engine-", read_busy},
    {"drm-total-cycles-", read_cycles<&EngineUse::total_cycles>},
    {"drm-cycles-", read_cycles<&EngineUse::cycles>},
    {"drm-resident-", read_region<&RegionUse::resident>},
    {"drm-memory-", read_region<&RegionUse::memory>},
    {"drm-total-", read_region<&RegionUse::total>},
    {"drm-shared-", read_region<&RegionUse::shared>},
    {"drm-purgeable-", read_region<&RegionUse::purgeable>},
    {"drm-active-", read_region<&RegionUse::active>},
    {"amd-evicted-vram", read_evicted},
};

// Linux 5.14 to 5.18, amdgpu:
//   pdev:	0000:03:00.0
//   pasid:	32771
//   vram mem:	5348 kB
//   gfx0:	12.34%
constexpr KeyRule kPercentKeys[] = {
    {"pdev", read_address},
    {"pasid", read_id},
};

void read_percent_line(Client& client, std::string_view key, std::string_view value) {
  for (const KeyRule& rule : kPercentKeys) {
    if (key == rule.prefix) rule.read(client, "", value);
  }
  if (key.ends_with(" mem")) {
    read_region<&RegionUse::memory>(client, key.substr(0, key.size() - 4), value);
  }
}

}  // namespace

std::optional<Client> parse_fdinfo(std::string_view text) {
  Client client;
  Client old;
  for (const std::string_view line : split_lines(text)) {
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view key = line.substr(0, colon);
    const std::string_view value = trim(line.substr(colon + 1));
    const auto* rule = std::ranges::find_if(
        kKeys, [&](const KeyRule& each) { return key.starts_with(each.prefix); });
    if (rule != std::end(kKeys)) {
      rule->read(client, key.substr(rule->prefix.size()), value);
    } else {
      read_percent_line(old, key, value);
    }
  }
  if (!client.driver.empty()) return client;
  if (old.address.empty() || !old.id) return std::nullopt;
  old.driver = "amdgpu";
  old.percent_format = true;
  return old;
}

}  // namespace picchio::meters::drm
