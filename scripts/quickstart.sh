#!/usr/bin/env bash
# From a fresh machine to a diagnosis: installs what the build needs, builds picchio, fetches a llama.cpp
# when none is on PATH, makes a small test model when none is named, and says where it really ran.
#
#   scripts/quickstart.sh [MODEL.gguf] [PICCHIO OPTIONS] [-- ENGINE ARGUMENTS]
#
# Debian 12 or 13 and Ubuntu with apt; macOS with Homebrew. A second run takes seconds and needs no root.
# The exit code is picchio's own: 0 healthy, CPU-only machine or no placement evidence; 3, 4, 5, 7: see
# the README.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly build=$top/build/release
readonly engine=$top/build/engine
# shellcheck source=scripts/lib.sh
. "$top/scripts/lib.sh"

install_needs() {
  if has_apt; then
    # shellcheck disable=SC2086  # a list of package names
    ensure_packages $build_packages
  elif command -v brew >/dev/null; then
    local formula
    for formula in cmake ninja pkg-config fmt cli11 nlohmann-json prometheus-cpp; do
      brew list --formula "$formula" >/dev/null 2>&1 || { say "installing $formula"; brew install -q "$formula" >&2; }
    done
  else
    die "knows apt and Homebrew only; install a C++23 compiler, CMake, Ninja, fmt, CLI11, nlohmann-json, prometheus-cpp and the headers of libcurl, OpenSSL and SQLite, then:
  cmake --preset release -DPICCHIO_TESTS=OFF && cmake --build build/release"
  fi
}

# Configured without tests, so GoogleTest is not needed.
build_picchio() {
  say "building picchio"
  local log=$top/build/quickstart.log
  mkdir -p "$top/build"
  if ! (cd "$top" && cmake --preset release -DPICCHIO_TESTS=OFF -DPICCHIO_WERROR=OFF &&
    cmake --build "$build" --parallel "$(job_count)" --target picchio) >"$log" 2>&1; then
    grep -vE '^\[[0-9]+/[0-9]+\]' "$log" | tail -n 30 >&2
    die "the build failed, the whole story is in $log"
  fi
}

# The engine to run, in $program, and the environment for it.
find_engine() {
  program=$(command -v llama-completion || true)
  [ -z "$program" ] || return 0
  if has_apt; then
    ensure_packages python3
    "$top/tests/rig/make_rig.sh" "$engine"
    program=$engine/bin/llama-completion
  elif command -v brew >/dev/null; then
    say "installing llama.cpp"
    brew install -q llama.cpp >&2
    program=$(command -v llama-completion) || die "Homebrew's llama.cpp brought no llama-completion"
  else
    die "no llama-completion on PATH; install llama.cpp"
  fi
}

# A small random-weight model. The rig has one, quantised; elsewhere the f16 original serves.
find_model() {
  model=$engine/models/Tiny-Q4_K_M.gguf
  [ ! -e "$model" ] || return 0
  model=$engine/models/Tiny-F16.gguf
  [ ! -e "$model" ] || return 0
  command -v python3 >/dev/null || { has_apt && ensure_packages python3; }
  mkdir -p "$engine/models"
  python3 "$top/tests/rig/make_tiny_gguf.py" "$model" \
    --prompt-source "$top/src/engines/llama_cpp/prompt.cpp"
}

main() {
  case ${1:-} in -h | --help) sed -n '2,10s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; return 0 ;; esac
  install_needs
  build_picchio
  find_engine
  # A first argument that is neither an option nor "--" is the user's model.
  case ${1:-} in
    '' | -*) find_model; say "no model named: measuring the test model" ;;
    *) model=$1; shift ;;
  esac
  local code=0
  "$build/picchio" "$model" --bin "$program" "$@" || code=$?
  return "$code"
}

main "$@"
