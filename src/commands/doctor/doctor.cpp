#include "verdict/doctor/doctor.h"

#include "commands/command.h"
#include "commands/doctor/gather.h"
#include "commands/options.h"
#include "commands/output.h"
#include "commands/terminal.h"
#include "report/doctor.h"

namespace picchio {

ExitCode doctor_command(const Arguments& arguments) {
  CLI::App app(
      "Checks this machine link by link, from the card on the bus to the engines, without running "
      "a model: what is broken first, and what mends it. Exits with 0, 3 (warnings) or 4 (an "
      "engine here cannot use the GPU that is here).",
      "picchio doctor");
  std::string bin;
  bool json = false;
  app.add_option("--bin", bin, "an engine to ask beside those on PATH");
  app.add_flag("--json", json, "JSON on stdout, the text on stderr");
  app.footer(examples({"picchio doctor", "picchio doctor --bin ~/llama.cpp/build/bin/llama-server",
                       "picchio doctor --json | jq .first_broken"}));
  if (const auto code = parse_options(app, arguments.words)) return *code;
  Result<os::Interrupts> interrupts = os::Interrupts::install();
  if (!interrupts) {
    print_error(interrupts.error());
    return ExitCode::failure;
  }
  const Result<Checkup> checkup = gather_checkup(bin, *interrupts);
  if (!checkup) {
    print_error(checkup.error());
    return checkup.error().kind == ErrorKind::interrupted ? ExitCode::interrupted
                                                          : ExitCode::could_not_run;
  }
  const Examination examination = examine(*checkup);
  const ExitCode code = examination.exit_code();
  if (!json) return print_product(doctor_text(examination, stdout_wants_colour()), code);
  print_stderr(doctor_text(examination, stderr_wants_colour()));
  return print_product(doctor_json(*checkup, examination) + "\n", code);
}

}  // namespace picchio
