#!/usr/bin/env bash
# Every test, on any Debian 12 or 13 or Ubuntu: installs what the tests need, builds, runs the unit tests
# plain and under the sanitizers, the kept examples, a short fuzz of every reader, and the real engine.
# Reads nothing from stdin. The last lines are ctest's summary of the dev build with everything in it.
set -euo pipefail
exec </dev/null

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly rig=$top/build/engine
# shellcheck source=scripts/lib.sh
. "$top/scripts/lib.sh"
cd "$top"

install_needs() {
  has_apt || { say "no apt here: using what is installed"; return 0; }
  # shellcheck disable=SC2086  # a list of package names
  ensure_packages $build_packages git python3 libgtest-dev libbenchmark-dev
  try_packages python3-jsonschema || say "python3-jsonschema cannot be installed: schema cases will skip"
  try_packages nginx-light || say "nginx-light cannot be installed: the case of headers over HTTP will skip"
  try_packages prometheus || say "prometheus cannot be installed: the cases of alerts and dashboard will skip"
  try_packages scdoc || say "scdoc cannot be installed: no man page in this build"
}

# Ninja's progress lines are left out of a log that nobody watches.
compile() { # PRESET CMAKE-BUILD-ARGUMENTS...
  local preset=$1; shift
  cmake --build "build/$preset" --parallel "$(job_count)" "$@" | grep -vE '^\[[0-9]+/[0-9]+\]' ||
    [ "${PIPESTATUS[0]}" = 0 ]
}

build() { # PRESET
  say "building $1"
  cmake --preset "$1" -DPICCHIO_RIG="$rig" >/dev/null
  compile "$1"
}

# One more than there are cores: end-to-end cases wait for half of their time.
run_ctest() { # PRESET CTEST-ARGUMENTS...
  local preset=$1; shift
  ctest --preset "$preset" --parallel "$(($(job_count) + 1))" --no-tests=error "$@"
}

can_fuzz() {
  { command -v clang++-19 && ls /usr/lib/llvm-19/lib/clang/19/lib/linux/libclang_rt.fuzzer*; } >/dev/null 2>&1
}

# Sanitized: everything but the software-renderer runs, whose minutes are the engine's, not ours. With
# clang the same build fuzzes every reader for a moment, and compiles in little more than half of g++'s time.
test_sanitized() {
  local preset=fuzz
  # The compiler alone is not enough: lint needs it, and installs it without the fuzzer.
  can_fuzz || { has_apt && try_packages clang-19 libclang-rt-19-dev; } || true
  can_fuzz || {
    say "no fuzzing: clang-19 with libclang-rt-19-dev cannot be installed here"
    preset=asan
  }
  build "$preset"
  say "tests under address and undefined behaviour sanitizers"
  run_ctest "$preset" --label-exclude '^slow$'
}

main() {
  local begin=$SECONDS
  install_needs
  say "making the real engine"
  tests/rig/make_rig.sh "$rig"
  test_sanitized
  build dev
  say "kept examples"
  PICCHIO_EXAMPLES=$top/examples build/dev/picchio --selftest
  say "all tests with the real engine, $((SECONDS - begin)) s so far"
  run_ctest dev
}

main
