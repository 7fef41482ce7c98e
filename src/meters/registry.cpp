#include "meters/meter.h"

namespace picchio::meters {

std::span<const Candidate> candidates() { return {}; }

}  // namespace picchio::meters
