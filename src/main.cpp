#include "commands/command.h"

#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  try {
    return static_cast<int>(picchio::run_command_line({argv + (argc > 0 ? 1 : 0), argv + argc}));
  } catch (const std::bad_alloc&) {
    std::fputs("picchio: error: not enough memory\n", stderr);
    return static_cast<int>(picchio::ExitCode::could_not_run);
  } catch (const std::exception& error) {
    // Every anticipated failure is a Result; what arrives here is a bug.
    std::fprintf(stderr, "picchio: internal error: %s\n", error.what());
    return static_cast<int>(picchio::ExitCode::failure);
  }
}
