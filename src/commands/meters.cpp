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

namespace picchio {
namespace {

/// Some figures are differences, and a driver's first answer is often an old one.
Telemetry look_twice(meters::MeterSet set) {
  Telemetry told;
  told.gpus.assign(set.gpus().begin(), set.gpus().end());
  told.news = set.news();
  if (told.gpus.empty()) {
    told.none_because = told.news.empty() ? "no GPU meter on this machine" : told.news.front();
    return told;
  }
  (void)set.sample();
  std::this_thread::sleep_for(std::chrono::milliseconds(250));
  told.samples.push_back({Micros{0}, set.sample()});
  return told;
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
  const Telemetry told =
      look_twice(meters::MeterSet::open(meter_place(interrupts ? &*interrupts : nullptr)));
  if (interrupts && interrupts->caught()) return ExitCode::interrupted;
  const Machine machine = read_machine();
  const std::string human = meters_text(told, machine);
  if (!json) return print_product(human, ExitCode::ok);
  print_stderr(human);
  return print_product(meters_json(told, machine, 0) + "\n", ExitCode::ok);
}

}  // namespace picchio
