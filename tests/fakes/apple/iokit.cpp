// IOKit, as far as a meter calls it: a registry with accelerators, their clients and the power
// manager.
#include "objects.h"
#include "scenario.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace abi = picchio::meters::apple::abi;

namespace {

constexpr abi::Kernel kBadArgument = static_cast<abi::Kernel>(0xe00002c2);

/// An entry is named by where it stands, so that a scenario that is read anew leaves none behind.
struct Entry {
  int gpu = -1;     // index; -1: the power manager
  int client = -1;  // index; -1: the GPU itself
};

struct Port {
  bool is_iterator = false;
  Entry entry;
  std::vector<Entry> list;
  std::size_t next = 0;
  bool cut_short = false;
};

std::unordered_map<abi::Io, Port>& ports() {
  static std::unordered_map<abi::Io, Port> all;
  return all;
}

abi::Io open(Port port) {
  static abi::Io next = 0x100;
  ports().emplace(++next, std::move(port));
  ++fake::live();
  return next;
}

Port& checked(abi::Io io, bool is_iterator) {
  const auto found = ports().find(io);
  if (found == ports().end() || found->second.is_iterator != is_iterator) {
    std::fprintf(stderr, "fake Mac: a port is used that is null, released or of another kind\n");
    std::abort();
  }
  return found->second;
}

const fake::Accelerator& gpu_of(const Entry& entry) {
  return fake::scenario().accelerators.at(static_cast<std::size_t>(entry.gpu));
}

const fake::Client& client_of(const Entry& entry) {
  return gpu_of(entry).clients.at(static_cast<std::size_t>(entry.client));
}

abi::Kernel copy_name(std::string_view name, char* into) {
  if (name.size() >= abi::kNameBytes) return kBadArgument;
  std::memcpy(into, name.data(), name.size());
  into[name.size()] = '\0';
  return abi::kSuccess;
}

abi::Cf dictionary(std::map<std::string, abi::Cf> entries) {
  abi::CfObject object;
  object.type = fake::kDictionary;
  object.entries = std::move(entries);
  return fake::make(std::move(object));
}

abi::Cf data(std::vector<unsigned char> bytes) {
  abi::CfObject object;
  object.type = fake::kData;
  object.bytes = std::move(bytes);
  return fake::make(std::move(object));
}

abi::Cf number_at(const fake::Curve& curve, double now) {
  return fake::make_number(std::llround(curve.at(now).value_or(0)));
}

abi::Cf clocks() {
  std::vector<unsigned char> bytes;
  for (const std::int64_t clock : fake::scenario().clocks) {
    for (unsigned shift = 0; shift < 32; shift += 8) {
      bytes.push_back(static_cast<unsigned char>(clock >> shift));
    }
    bytes.insert(bytes.end(), {0xee, 0xff, 0xee, 0xff});  // the voltage
  }
  return data(std::move(bytes));
}

abi::Cf gpu_property(const fake::Accelerator& gpu, std::string_view key, double now) {
  if (key == "model" && !gpu.model.empty()) {
    if (!gpu.model_as_bytes) return fake::make_text(gpu.model);
    std::vector<unsigned char> bytes(gpu.model.begin(), gpu.model.end());
    bytes.push_back('\0');
    return data(std::move(bytes));
  }
  if (key == "gpu-core-count" && gpu.cores) return fake::make_number(*gpu.cores);
  if (key == "PerformanceStatistics" && (!gpu.statistics.empty() || !gpu.odd_statistic.empty())) {
    std::map<std::string, abi::Cf> entries;
    for (const auto& [name, curve] : gpu.statistics) entries[name] = number_at(curve, now);
    if (!gpu.odd_statistic.empty()) entries[gpu.odd_statistic] = fake::make_text("97");
    return dictionary(std::move(entries));
  }
  return nullptr;
}

abi::Cf client_property(const fake::Client& client, std::string_view key, double now) {
  if (key == "IOUserClientCreator" && client.creator != "-") {
    if (!client.creator.empty()) return fake::make_text(client.creator);
    return fake::make_text("pid " + std::to_string(fake::script_pid(client.pid)) + ", llama");
  }
  if (key == "accumulatedGPUTime" && client.own_time.at(now)) {
    return number_at(client.own_time, now);
  }
  if (key == "AppUsage" && !client.queues.empty()) {
    abi::CfObject array;
    array.type = fake::kArray;
    for (const fake::Curve& queue : client.queues) {
      array.elements.push_back(dictionary({{"API", fake::make_text("Metal")},
                                           {"accumulatedGPUTime", number_at(queue, now)},
                                           {"lastSubmittedTime", fake::make_number(1)}}));
    }
    return fake::make(std::move(array));
  }
  return nullptr;
}

}  // namespace

FAKE_APPLE abi::Cf IOServiceMatching(const char* io_class) {
  if (fake::scenario().fails(__func__)) return nullptr;
  return dictionary({{"IOProviderClass", fake::make_text(io_class)}});
}

FAKE_APPLE abi::Kernel IOServiceGetMatchingServices(abi::Io port, abi::Cf matching,
                                                    abi::Io* iterator) {
  const abi::Cf io_class = fake::look_at(matching, fake::kDictionary).entries.at("IOProviderClass");
  const std::string wanted = fake::look_at(io_class, fake::kString).text;
  fake::release(matching);  // taken over, whatever follows
  if (port != abi::kDefaultPort || fake::scenario().fails(__func__)) return kBadArgument;
  Port found{.is_iterator = true, .entry = {}, .list = {}};
  if (wanted == "IOAccelerator") {
    const int count = static_cast<int>(fake::scenario().accelerators.size());
    for (int i = 0; i < count; ++i) found.list.push_back({.gpu = i});
  }
  if (wanted == "AppleARMIODevice" && !fake::scenario().clocks.empty()) found.list.push_back({});
  *iterator = open(std::move(found));
  return abi::kSuccess;
}

FAKE_APPLE abi::Io IOIteratorNext(abi::Io io) {
  Port& iterator = checked(io, true);
  if (iterator.cut_short && iterator.next == 1) return 0;
  if (iterator.next == iterator.list.size()) return 0;
  const Entry entry = iterator.list[iterator.next++];
  return open({.is_iterator = false, .entry = entry, .list = {}});
}

FAKE_APPLE abi::Flag IOIteratorIsValid(abi::Io io) { return checked(io, true).cut_short ? 0 : 1; }

FAKE_APPLE void IOIteratorReset(abi::Io io) {
  Port& iterator = checked(io, true);
  iterator.next = 0;
  iterator.cut_short = fake::scenario().restless > 0;
  if (iterator.cut_short) --fake::scenario().restless;
}

FAKE_APPLE abi::Kernel IOObjectRelease(abi::Io io) {
  if (ports().erase(io) == 0) {
    std::fprintf(stderr, "fake Mac: a port is released that is none\n");
    std::abort();
  }
  --fake::live();
  return abi::kSuccess;
}

FAKE_APPLE abi::Kernel IOObjectGetClass(abi::Io io, char* into) {
  const Entry entry = checked(io, false).entry;
  if (fake::scenario().fails(__func__)) return kBadArgument;
  if (entry.gpu < 0) return copy_name("AppleARMIODevice", into);
  return copy_name(entry.client < 0 ? gpu_of(entry).io_class : "AGXDeviceUserClient", into);
}

FAKE_APPLE abi::Kernel IORegistryEntryGetName(abi::Io io, char* into) {
  const Entry entry = checked(io, false).entry;
  return copy_name(entry.gpu < 0 ? "pmgr" : "sgx", into);
}

FAKE_APPLE abi::Kernel IORegistryEntryGetRegistryEntryID(abi::Io io, std::uint64_t* into) {
  const Entry entry = checked(io, false).entry;
  if (fake::scenario().fails(__func__)) return kBadArgument;
  if (entry.gpu < 0)
    *into = 1;
  else
    *into = entry.client < 0 ? gpu_of(entry).id : client_of(entry).id;
  return abi::kSuccess;
}

FAKE_APPLE abi::Kernel IORegistryEntryGetChildIterator(abi::Io io, const char* plane,
                                                       abi::Io* iterator) {
  const Entry entry = checked(io, false).entry;
  const bool known = std::string_view(plane) == abi::kServicePlane;
  if (!known || fake::scenario().fails(__func__)) return kBadArgument;
  Port found{.is_iterator = true, .entry = {}, .list = {}};
  const auto& clients = gpu_of(entry).clients;
  for (std::size_t i = 0; i < clients.size(); ++i) {
    if (!clients[i].there.holds(fake::scenario().now())) continue;
    found.list.push_back({.gpu = entry.gpu, .client = static_cast<int>(i)});
  }
  found.cut_short = fake::scenario().restless > 0;
  if (found.cut_short) --fake::scenario().restless;
  *iterator = open(std::move(found));
  return abi::kSuccess;
}

FAKE_APPLE abi::Cf IORegistryEntryCreateCFProperty(abi::Io io, abi::Cf key, abi::Cf,
                                                   std::uint32_t) {
  const Entry entry = checked(io, false).entry;
  const std::string& name = fake::look_at(key, fake::kString).text;
  if (fake::scenario().fails(__func__)) return nullptr;
  const double now = fake::scenario().now();
  if (entry.gpu < 0) return name == "voltage-states9" ? clocks() : nullptr;
  if (entry.client < 0) return gpu_property(gpu_of(entry), name, now);
  return client_property(client_of(entry), name, now);
}
