// IOReport, as far as a meter calls it. A subscription is a dictionary with the group's name; a
// sample has the channels of its moment, a difference those of two samples.
#include "objects.h"
#include "scenario.h"

#include <string>
#include <utility>

namespace abi = picchio::meters::apple::abi;

namespace {

constexpr const char* kList = "IOReportChannels";

abi::Cf dictionary(std::map<std::string, abi::Cf> entries) {
  abi::CfObject object;
  object.type = fake::kDictionary;
  object.entries = std::move(entries);
  return fake::make(std::move(object));
}

abi::Cf array(std::vector<abi::Cf> elements) {
  abi::CfObject object;
  object.type = fake::kArray;
  object.elements = std::move(elements);
  return fake::make(std::move(object));
}

abi::Cf entry(abi::Cf object, const char* key) {
  const auto& entries = fake::look_at(object, fake::kDictionary).entries;
  const auto found = entries.find(key);
  return found == entries.end() ? nullptr : found->second;
}

const std::string& text(abi::Cf object, const char* key) {
  return fake::look_at(entry(object, key), fake::kString).text;
}

const std::vector<abi::Cf>& elements(abi::Cf object, const char* key) {
  static const std::vector<abi::Cf> none;
  const abi::Cf found = entry(object, key);
  return found == nullptr ? none : fake::look_at(found, fake::kArray).elements;
}

// The value of a channel or a state is in the object itself, as in the real ones' raw bytes.
abi::Cf valued(std::map<std::string, abi::Cf> entries, std::int64_t value) {
  abi::CfObject object;
  object.type = fake::kDictionary;
  object.number = value;
  object.entries = std::move(entries);
  return fake::make(std::move(object));
}

std::int64_t value_of(abi::Cf object) { return fake::look_at(object, fake::kDictionary).number; }

abi::Cf channel(const std::string& name, const std::string& unit, std::int64_t value,
                std::vector<abi::Cf> states) {
  std::map<std::string, abi::Cf> entries = {{"name", fake::constant_text(name)},
                                            {"unit", fake::constant_text(unit)}};
  if (!states.empty()) entries["states"] = array(std::move(states));
  return valued(std::move(entries), value);
}

abi::Cf state(const std::string& name, std::int64_t residency) {
  return valued({{"name", fake::constant_text(name)}}, residency);
}

std::int64_t minus(std::int64_t later, std::int64_t earlier) {
  const bool valid = later != abi::kInvalidSample && earlier != abi::kInvalidSample;
  return valid ? later - earlier : abi::kInvalidSample;
}

}  // namespace

FAKE_APPLE abi::Cf IOReportCopyChannelsInGroup(abi::Cf group, abi::Cf subgroup, std::uint64_t,
                                               std::uint64_t, std::uint64_t) {
  if (fake::scenario().fails(__func__)) return nullptr;
  const std::string wanted = fake::look_at(group, fake::kString).text;
  const std::string part = subgroup == nullptr ? "" : fake::look_at(subgroup, fake::kString).text;
  for (const fake::Channel& one : fake::scenario().channels) {
    if (one.group != wanted || (!part.empty() && one.subgroup != part)) continue;
    return dictionary({{"group", fake::make_text(wanted)}, {"part", fake::make_text(part)}});
  }
  return nullptr;
}

FAKE_APPLE abi::Cf IOReportCreateSubscription(void*, abi::Cf channels, abi::Cf* subscribed,
                                              std::uint64_t, abi::Cf) {
  if (fake::scenario().fails(__func__)) return nullptr;
  *subscribed = dictionary({{"group", fake::make_text(text(channels, "group"))},
                            {"part", fake::make_text(text(channels, "part"))}});
  abi::CfObject subscription;
  subscription.type = fake::kOther;
  return fake::make(std::move(subscription));
}

FAKE_APPLE abi::Cf IOReportCreateSamples(abi::Cf subscription, abi::Cf subscribed, abi::Cf) {
  (void)fake::look_at(subscription, fake::kOther);
  if (fake::scenario().fails(__func__)) return nullptr;
  const double now = fake::scenario().now();
  std::vector<abi::Cf> channels;
  for (const fake::Channel& one : fake::scenario().channels) {
    const std::string& part = text(subscribed, "part");
    if (one.group != text(subscribed, "group") || (!part.empty() && one.subgroup != part)) continue;
    std::vector<abi::Cf> states;
    for (const auto& [name, curve] : one.states) {
      states.push_back(state(name, one.value_at(now, curve)));
    }
    channels.push_back(
        channel(one.name, one.unit, one.value_at(now, one.counts), std::move(states)));
  }
  return dictionary({{kList, array(std::move(channels))}});
}

FAKE_APPLE abi::Cf IOReportCreateSamplesDelta(abi::Cf earlier, abi::Cf later, abi::Cf) {
  if (fake::scenario().fails(__func__)) return nullptr;
  const auto& before = elements(earlier, kList);
  const auto& after = elements(later, kList);
  std::vector<abi::Cf> channels;
  for (std::size_t i = 0; i < after.size(); ++i) {
    std::vector<abi::Cf> states;
    const auto& states_before = elements(before.at(i), "states");
    const auto& states_after = elements(after[i], "states");
    for (std::size_t s = 0; s < states_after.size(); ++s) {
      states.push_back(state(text(states_after[s], "name"),
                             minus(value_of(states_after[s]), value_of(states_before.at(s)))));
    }
    channels.push_back(channel(text(after[i], "name"), text(after[i], "unit"),
                               minus(value_of(after[i]), value_of(before[i])), std::move(states)));
  }
  return dictionary({{kList, array(std::move(channels))}});
}

FAKE_APPLE abi::Cf IOReportChannelGetChannelName(abi::Cf channel) { return entry(channel, "name"); }
FAKE_APPLE abi::Cf IOReportChannelGetUnitLabel(abi::Cf channel) { return entry(channel, "unit"); }

FAKE_APPLE std::int64_t IOReportSimpleGetIntegerValue(abi::Cf channel, std::int32_t*) {
  return value_of(channel);
}

FAKE_APPLE std::int32_t IOReportStateGetCount(abi::Cf channel) {
  return static_cast<std::int32_t>(elements(channel, "states").size());
}

FAKE_APPLE abi::Cf IOReportStateGetNameForIndex(abi::Cf channel, std::int32_t at) {
  return entry(elements(channel, "states").at(static_cast<std::size_t>(at)), "name");
}

FAKE_APPLE std::int64_t IOReportStateGetResidency(abi::Cf channel, std::int32_t at) {
  return value_of(elements(channel, "states").at(static_cast<std::size_t>(at)));
}
