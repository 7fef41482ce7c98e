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

std::optional<GpuFigure> figure_named(std::string_view name) {
  constexpr auto kLast = static_cast<int>(GpuFigure::process_memory);
  for (int i = 0; i <= kLast; ++i) {
    if (name_of(static_cast<GpuFigure>(i)) == name) return static_cast<GpuFigure>(i);
  }
  return std::nullopt;
}

}  // namespace picchio
