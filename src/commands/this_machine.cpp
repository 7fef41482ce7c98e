#include "commands/this_machine.h"

#include "commands/doctor/gather.h"
#include "commands/system_root.h"
#include "machine/inventory.h"
#include "verdict/doctor/doctor.h"

namespace picchio {

Machine this_machine() {
  Machine machine = read_machine(system_root());
  if (usable_gpu(machine) != nullptr) machine.broken_links = broken_links(gather_machine(machine));
  return machine;
}

}  // namespace picchio
