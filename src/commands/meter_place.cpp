#include "commands/meter_place.h"

#include "os/file.h"

namespace picchio {

meters::Place meter_place() {
  meters::Place place;
  place.nvml_library = os::env("PICCHIO_NVML").value_or("");
  return place;
}

}  // namespace picchio
