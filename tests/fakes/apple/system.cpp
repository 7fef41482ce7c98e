// libSystem, as far as a meter calls it.
#include "meters/apple/abi.h"
#include "scenario.h"

#include <cmath>
#include <cstring>
#include <string_view>

namespace abi = picchio::meters::apple::abi;

namespace {
constexpr int kToken = 11;
constexpr std::uint32_t kNotifyFailed = 1000000;
}  // namespace

// Not one of Linux's C library, so the name is free.
FAKE_APPLE int sysctlbyname(const char* name, void* into, std::size_t* size, void*, std::size_t) {
  const fake::Scenario& scenario = fake::scenario();
  const bool known = std::string_view(name) == "hw.memsize" && scenario.memory;
  if (!known || *size < sizeof *scenario.memory) return -1;
  std::memcpy(into, &*scenario.memory, sizeof *scenario.memory);
  *size = sizeof *scenario.memory;
  return 0;
}

FAKE_APPLE std::uint32_t notify_register_check(const char* name, int* token) {
  const bool known = std::string_view(name) == abi::kThermalPressure;
  if (!known || !fake::scenario().heat.at(0)) return kNotifyFailed;
  *token = kToken;
  ++fake::live();
  return 0;
}

FAKE_APPLE std::uint32_t notify_get_state(int token, std::uint64_t* state) {
  if (token != kToken || fake::scenario().fails(__func__)) return kNotifyFailed;
  *state = static_cast<std::uint64_t>(
      std::llround(fake::scenario().heat.at(fake::scenario().now()).value_or(0)));
  return 0;
}

FAKE_APPLE std::uint32_t notify_cancel(int token) {
  if (token != kToken) return kNotifyFailed;
  --fake::live();
  return 0;
}

FAKE_APPLE int proc_pidinfo(int pid, int flavor, std::uint64_t, void* into, int size) {
  if (flavor != abi::kBsdInfo || size != static_cast<int>(sizeof(abi::BsdInfo))) return 0;
  for (const fake::Process& process : fake::scenario().processes) {
    if (process.pid != pid || !process.there.holds(fake::scenario().now())) continue;
    abi::BsdInfo info{};
    info.start_seconds = static_cast<std::uint64_t>(process.start_seconds);
    std::memcpy(into, &info, sizeof info);
    return size;
  }
  return 0;
}
