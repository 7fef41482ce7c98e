#include "evidence/machine.h"

namespace picchio {

const MachineGpu* usable_gpu(const Machine& machine) {
  for (const MachineGpu& gpu : machine.gpus) {
    if (gpu.can_compute) return &gpu;
  }
  return nullptr;
}

}  // namespace picchio
