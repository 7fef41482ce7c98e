// Untested: written without such a machine.
#include "machine/processor.h"
#include "os/sysctl_macos.h"

namespace picchio {

Processor read_processor(const std::string& /*root*/) {
  Processor out;
  if (const auto cores = os::sysctl_number("hw.physicalcpu")) {
    out.physical_cores = static_cast<int>(*cores);
  }
  // Of Apple's own chips nothing tells the system level cache.
  out.last_level_cache_bytes = os::sysctl_number("hw.l3cachesize");
  return out;
}

std::optional<std::int64_t> available_memory(const std::string& /*root*/) {
  // What is free changes by the moment and is told by Mach alone; a quarter is a careful guess.
  const auto all = os::sysctl_number("hw.memsize");
  return all ? std::optional(*all / 4) : std::nullopt;
}

}  // namespace picchio
