#include "evidence/monitored.h"

namespace picchio {

std::string_view name_of(ProbeEnd end) {
  switch (end) {
    case ProbeEnd::answered:
      return "answered";
    case ProbeEnd::idle:
      return "idle";
    case ProbeEnd::busy:
      return "busy";
    case ProbeEnd::loading:
      return "loading";
    case ProbeEnd::unreachable:
      return "unreachable";
    case ProbeEnd::failed:
      return "failed";
  }
  return "failed";
}

std::string_view name_of(Standing standing) {
  switch (standing) {
    case Standing::unknown:
      return "unknown";
    case Standing::steady:
      return "steady";
    case Standing::slow:
      return "slow";
    case Standing::partial:
      return "partial";
    case Standing::fallen:
      return "fallen";
    case Standing::conflicting:
      return "conflicting";
    case Standing::lost:
      return "lost";
  }
  return "unknown";
}

bool is_fall(Standing standing) {
  return standing == Standing::slow || standing == Standing::partial ||
         standing == Standing::fallen || standing == Standing::conflicting;
}

std::string_view name_of(MonitorEvent::Kind kind) {
  switch (kind) {
    case MonitorEvent::Kind::standing:
      return "standing";
    case MonitorEvent::Kind::baseline_locked:
      return "baseline_locked";
    case MonitorEvent::Kind::reload:
      return "reload";
    case MonitorEvent::Kind::model_changed:
      return "model_changed";
    case MonitorEvent::Kind::clock_jump:
      return "clock_jump";
  }
  return "standing";
}

std::string_view name_of(ResidencyShape shape) {
  switch (shape) {
    case ResidencyShape::too_few:
      return "too few probes";
    case ResidencyShape::flat:
      return "flat";
    case ResidencyShape::rising:
      return "rising";
    case ResidencyShape::plateau:
      return "plateau";
    case ResidencyShape::falling:
      return "falling";
    case ResidencyShape::oscillating:
      return "oscillating";
  }
  return "too few probes";
}

}  // namespace picchio
