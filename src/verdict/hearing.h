// What the judge's rules ask of the evidence. Private to the judge.
#pragma once

#include "verdict/judge.h"

#include <string>

namespace picchio {

/// The device of that kind with the most weights; null: none has any.
[[nodiscard]] const DeviceAccount* biggest(const Placement& placement, DeviceKind kind);

/// Its name for a sentence, without an address.
[[nodiscard]] std::string label(const DeviceAccount& device);
/// "llvmpipe" of "llvmpipe (LLVM 22.1.8, 256 bits)": the WHY line has the whole name.
[[nodiscard]] std::string short_label(const DeviceAccount& device);

[[nodiscard]] std::string share_of(const Placement& placement, const DeviceAccount& device);

[[nodiscard]] bool log_lists_hardware(const Hearing& h);

/// A GPU of this machine that an engine could use; null: none, or the machine is not known.
[[nodiscard]] const MachineGpu* machine_gpu(const Hearing& h);

/// True only where every place to look was readable and none of them shows a GPU. A driver that
/// runs and does not answer has one that nothing shows.
[[nodiscard]] bool machine_without_gpu(const Hearing& h);

/// The log's device is of a vendor of which this machine, whose GPUs are all known, has none.
[[nodiscard]] bool of_a_vendor_not_here(const Hearing& h, const DeviceAccount& device);

[[nodiscard]] bool asks_a_remote(const Hearing& h);
[[nodiscard]] bool failed_load(const Hearing& h);

/// The bytes say so; or, where the log has none, the process had no GPU driver and no device node
/// open, the machine has no GPU at all, or the server itself says so.
[[nodiscard]] bool ran_on_cpu(const Hearing& h);

[[nodiscard]] bool bytes_on_hardware(const Hearing& h);

/// The backends whose drivers the process witness and the machine inventory know.
[[nodiscard]] bool known_backend(const Placement& placement);

/// True also where none are awaited.
[[nodiscard]] bool has_rates(const Hearing& h);

/// "The number to quote is ..." with a leading blank; empty without a rate.
[[nodiscard]] std::string number_to_quote(const Run& run);

}  // namespace picchio
