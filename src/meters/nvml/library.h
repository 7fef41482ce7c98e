// NVIDIA's management library, loaded when it is asked for.
#pragma once

#include "base/result.h"
#include "meters/meter.h"
#include "meters/nvml/abi.h"
#include "os/library.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace picchio::meters::nvml {

/// Each is null where this driver's library lacks it: old drivers know less. Call through ask().
struct Functions {
  using List = abi::Return(abi::Device, unsigned* count, void* entries);
  using Number = abi::Return(abi::Device, unsigned*);
  using BigNumber = abi::Return(abi::Device, unsigned long long*);

  abi::Return (*init)() = nullptr;
  abi::Return (*shutdown)() = nullptr;
  abi::Return (*driver_version)(char*, unsigned bytes) = nullptr;
  abi::Return (*count)(unsigned*) = nullptr;
  abi::Return (*by_index)(unsigned, abi::Device*) = nullptr;
  abi::Return (*by_address)(const char*, abi::Device*) = nullptr;
  abi::Return (*name)(abi::Device, char*, unsigned bytes) = nullptr;
  abi::Return (*pci)(abi::Device, abi::PciInfo*) = nullptr;
  abi::Return (*utilization)(abi::Device, abi::Utilization*) = nullptr;
  abi::Return (*memory)(abi::Device, abi::Memory*) = nullptr;
  abi::Return (*memory_v2)(abi::Device, abi::MemoryV2*) = nullptr;
  Number* power = nullptr;                                                   // mW
  BigNumber* energy = nullptr;                                               // mJ
  abi::Return (*clock)(abi::Device, int kind, unsigned*) = nullptr;          // MHz
  abi::Return (*max_clock)(abi::Device, int kind, unsigned*) = nullptr;      // MHz
  Number* bus_width = nullptr;                                               // bits
  abi::Return (*temperature)(abi::Device, int sensor, unsigned*) = nullptr;  // degrees Celsius
  abi::Return (*temperature_v)(abi::Device, abi::Temperature*) = nullptr;
  BigNumber* throttle_reasons = nullptr;
  Number* link_generation = nullptr;
  Number* link_width = nullptr;
  Number* max_link_generation = nullptr;
  Number* max_link_width = nullptr;
  abi::Return (*mig_mode)(abi::Device, unsigned* current, unsigned* pending) = nullptr;
  List* compute_processes = nullptr;
  List* graphics_processes = nullptr;
  List* mps_processes = nullptr;
  abi::Return (*process_utilization)(abi::Device, abi::ProcessUtilization*, unsigned* count,
                                     unsigned long long last_seen) = nullptr;
};

/// A function that is not there says the same as one that the driver behind it does not know.
template <class... Parameters, class... Arguments>
[[nodiscard]] abi::Return ask(abi::Return (*function)(Parameters...), Arguments... arguments) {
  return function == nullptr ? abi::kFunctionNotFound : function(arguments...);
}

/// Beside NVML's own codes: a list of processes that no known driver writes.
inline constexpr abi::Return kUnknownLayout = -1;

/// "NVML says not supported": why a call gave no figure.
[[nodiscard]] std::string reason_of(abi::Return code);

/// Loaded, and from start() on running; stopped with its last owner.
class Library {
 public:
  /// Wakes nothing. Errors as a Probe has them: not_found, no library and nothing for it; any other
  /// kind says what is wrong with a driver that should work.
  [[nodiscard]] static Result<Library> load(const Place& place);

  /// On its own because it can wake a sleeping GPU. Errors as above; may be tried again.
  [[nodiscard]] Result<> start();

  Library(Library&& other) noexcept;
  Library& operator=(Library&&) = delete;
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library();

  [[nodiscard]] const Functions& functions() const { return functions_; }
  [[nodiscard]] bool started() const { return started_; }

 private:
  Library(const Functions& functions, std::string root)
      : functions_(functions), root_(std::move(root)) {}

  Functions functions_;
  std::string root_;
  bool started_ = false;
};

}  // namespace picchio::meters::nvml
