#include "commands/meter_place.h"

#include "base/text.h"
#include "commands/system_root.h"
#include "commands/terminal.h"
#include "os/file.h"

#include <fmt/format.h>

namespace picchio {

meters::Place meter_place(const os::Interrupts* interrupts) {
  meters::Place place;
  place.root = system_root();
  place.interrupts = interrupts;
  place.apple_libraries = os::env("PICCHIO_APPLE_LIBRARIES").value_or("");
  place.nvml_library = os::env("PICCHIO_NVML").value_or("");
  if (!place.nvml_library.empty() && !os::exists(place.nvml_library)) {
    print_stderr(fmt::format("picchio: PICCHIO_NVML names '{}', which is not there\n",
                             plain(place.nvml_library)));
  }
  return place;
}

}  // namespace picchio
