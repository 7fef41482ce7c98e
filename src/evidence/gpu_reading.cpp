#include "evidence/gpu_reading.h"

namespace picchio {

std::string_view name_of(GpuFigure figure) {
  switch (figure) {
    case GpuFigure::busy:
      return "busy";
    case GpuFigure::memory:
      return "memory";
    case GpuFigure::power:
      return "power";
    case GpuFigure::energy:
      return "energy";
    case GpuFigure::clocks:
      return "clocks";
    case GpuFigure::temperature:
      return "temperature";
    case GpuFigure::throttling:
      return "throttling";
    case GpuFigure::link:
      return "link";
    case GpuFigure::process_busy:
      return "process busy";
    case GpuFigure::process_memory:
      return "process memory";
  }
  return "figure";
}

}  // namespace picchio
