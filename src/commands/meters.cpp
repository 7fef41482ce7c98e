#include "report/meters.h"

#include "commands/command.h"
#include "commands/meter_place.h"
#include "commands/options.h"
#include "commands/output.h"
#include "commands/terminal.h"
#include "machine/inventory.h"
#include "meters/sampler.h"
#include "os/signals.h"

#include <chrono>
#include <thread>
#include <utility>

namespace picchio {
namespace {

/// Some figures are differences, and a driver's first answer is often an old one. In a thread,
/// since a driver can hang.
Telemetry look_twice(meters::MeterSet set, const os::Interrupts* interrupts) {
  constexpr auto kStep = std::chrono::milliseconds(10);
  constexpr auto kPatience = std::chrono::seconds(15);  // a driver that wakes up many cards
  meters::Sampler sampler(std::move(set), {.hz = 4}, nullptr);
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < give_up) {
    if (interrupts != nullptr && interrupts->caught()) break;
    const Telemetry told = sampler.so_far();
    if (told.samples.size() >= 2 || !told.none_because.empty()) break;
    std::this_thread::sleep_for(kStep);
  }
  return sampler.stop();
}

}  // namespace

ExitCode meters_command(const Arguments& arguments) {
  CLI::App app(
      "Lists the GPUs that this machine can meter, what each figure is just now, and which "
      "figures\n"
      "are missing and why.",
      "picchio meters");
  bool json = false;
  app.add_flag("--json", json, "JSON on stdout, the text on stderr");
  app.footer(examples({"picchio meters", "picchio meters --json"}));
  if (const auto code = parse_options(app, arguments.words)) return *code;
  // Without it, a meter that would run a program is left out.
  const Result<os::Interrupts> interrupts = os::Interrupts::install();
  const os::Interrupts* stop = interrupts ? &*interrupts : nullptr;
  const Telemetry told = look_twice(meters::MeterSet::open_within(meter_place(stop)), stop);
  if (interrupts && interrupts->caught()) return ExitCode::interrupted;
  const Machine machine = read_machine();
  const std::string human = meters_text(told, machine);
  if (!json) return print_product(human, ExitCode::ok);
  print_stderr(human);
  return print_product(meters_json(told, machine, 0) + "\n", ExitCode::ok);
}

}  // namespace picchio
