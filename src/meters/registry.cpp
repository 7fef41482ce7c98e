#include "meters/drm/meter.h"
#include "meters/meter.h"

namespace picchio::meters {
namespace {

constexpr Candidate kMeters[] = {
    {"drm", drm::probe},
};

}  // namespace

std::span<const Candidate> candidates() { return kMeters; }

}  // namespace picchio::meters
