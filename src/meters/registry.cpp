#include "meters/meter.h"
#include "meters/nvml/nvml.h"

namespace picchio::meters {
namespace {

constexpr Candidate kCandidates[] = {
    {"nvml", nvml::probe},
};

}  // namespace

std::span<const Candidate> candidates() { return kCandidates; }

}  // namespace picchio::meters
