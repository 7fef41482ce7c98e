#include "evidence/run.h"

namespace picchio {

const ServerClaim* least_claim(const Run& run) {
  const auto share = [](const ServerClaim& claim) {
    return claim.gpu_share().value_or(2.0);  // not told: beyond every share
  };
  const ServerClaim* found = nullptr;
  for (const Pass& pass : run.passes) {
    if (pass.claim && (found == nullptr || share(*pass.claim) < share(*found))) {
      found = &*pass.claim;
    }
  }
  return found;
}

}  // namespace picchio
