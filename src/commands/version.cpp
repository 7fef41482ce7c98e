#include "version.h"

#include "commands/command.h"
#include "commands/output.h"
#include "engines/llama_cpp/prompt.h"

#include <fmt/format.h>

namespace picchio {

ExitCode print_version() {
  return print_product(fmt::format("picchio {} (commit {}, {}, protocol {})\n", kVersion, kCommit,
                                   kCompiler, llama_cpp::kProtocol),
                       ExitCode::ok);
}

}  // namespace picchio
