#include "commands/ram_speed.h"

#include "base/text.h"
#include "kept/ram_speed.h"
#include "machine/ram_bandwidth.h"
#include "os/file.h"

#include <fmt/format.h>

namespace picchio {
namespace {

Result<double> measure_here(os::Interrupts& interrupts) {
  const Result<RamProbe> probe = plan_ram_probe();
  if (!probe) return std::unexpected(probe.error());
  return measure_ram_bandwidth(*probe, [&] { return !interrupts.caught(); });
}

void remember(const Machine& machine, double bytes_per_second, Progress& progress) {
  std::string note;
  const Result<std::string> folder = os::cache_dir();
  const Result<> kept = folder ? kept::remember_ram_speed(*folder, machine, bytes_per_second, &note)
                               : Result<>(std::unexpected(folder.error()));
  if (!kept) note = "the speed of the RAM is not remembered: " + kept.error().message;
  if (!note.empty()) progress.note(plain(note));
}

}  // namespace

void recall_ram_speed(Machine& machine) {
  const Result<std::string> folder = os::cache_dir();
  if (!folder) return;
  if (const auto known = kept::recall_ram_speed(*folder, machine); known && *known) {
    machine.ram_bytes_per_second = **known;
  }
}

Result<> learn_ram_speed(Machine& machine, os::Interrupts& interrupts, Progress& progress) {
  recall_ram_speed(machine);
  if (machine.ram_bytes_per_second) return {};
  const Result<double> measured = measure_here(interrupts);
  if (measured) {
    machine.ram_bytes_per_second = *measured;
    progress.note(
        fmt::format("measured this machine's RAM: {:.0f} GB/s; remembered", *measured / 1e9));
    remember(machine, *measured, progress);
    return {};
  }
  if (measured.error().kind == ErrorKind::interrupted) return std::unexpected(measured.error());
  progress.note("the speed of the RAM was not measured: " + plain(measured.error().message));
  return {};
}

}  // namespace picchio
