#include "report/meters.h"

#include "commands/command.h"
#include "commands/meter_look.h"
#include "commands/options.h"
#include "commands/output.h"
#include "commands/terminal.h"
#include "machine/inventory.h"
#include "os/signals.h"

#include <chrono>

namespace picchio {
ExitCode meters_command(const Arguments& arguments) {
  constexpr std::chrono::seconds kPatience{20};  // a driver that wakes up many cards
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
  const Telemetry told = look_twice(stop, kPatience);
  if (interrupts && interrupts->caught()) return ExitCode::interrupted;
  const Machine machine = read_machine();
  const std::string human = meters_text(told, machine);
  if (!json) return print_product(human, ExitCode::ok);
  print_stderr(human);
  return print_product(meters_json(told, machine, 0) + "\n", ExitCode::ok);
}

}  // namespace picchio
