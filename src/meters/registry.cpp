#include "meters/amdgpu/meter.h"
#include "meters/apple/apple.h"
#include "meters/drm/meter.h"
#include "meters/intel/meter.h"
#include "meters/jetson/meter.h"
#include "meters/meter.h"
#include "meters/nvml/nvml.h"

namespace picchio::meters {
namespace {

constexpr Candidate kMeters[] = {
    {"nvml", nvml::probe},     {"amdgpu", amdgpu::probe}, {"intel", intel::probe},
    {"jetson", jetson::probe}, {"apple", apple::probe},   {"drm", drm::probe},
};

}  // namespace

std::span<const Candidate> candidates() { return kMeters; }

}  // namespace picchio::meters
