# shellcheck shell=bash
# What the scripts share: finding out what is missing and installing it. To be sourced by bash.

say() { printf '== %s\n' "$*" >&2; }
die() { printf '%s: error: %s\n' "${0##*/}" "$*" >&2; exit 1; }

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    die "installing packages needs root and there is no sudo; as root: $*"
  fi
}

# Debian packages among "$@" that are not installed.
missing_packages() {
  local package
  for package; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || echo "$package"
  done
}

# Installs what is missing and touches nothing, not even the network, when all is there.
ensure_packages() {
  local missing
  missing=$(missing_packages "$@")
  [ -n "$missing" ] || return 0
  # shellcheck disable=SC2086  # a list of package names
  say "installing" $missing
  as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq
  # shellcheck disable=SC2086  # a list of package names
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
}

# The same for packages that only some releases have: fails quietly when one cannot be installed.
try_packages() { (ensure_packages "$@") >/dev/null 2>&1; }

has_apt() { command -v apt-get >/dev/null && command -v dpkg-query >/dev/null; }

# A C++23 compiler and what picchio is built from.
# shellcheck disable=SC2034  # used by those that source this
build_packages="g++ cmake ninja-build pkg-config libfmt-dev libcli11-dev nlohmann-json3-dev libcurl4-openssl-dev libssl-dev libsqlite3-dev prometheus-cpp-dev ca-certificates"

# Ninja takes every core; each compiler wants up to a GiB.
job_count() {
  local cores kib
  cores=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
  kib=$(sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo 2>/dev/null)
  if [ -n "$kib" ] && [ $((kib / 1048576 + 1)) -lt "$cores" ]; then cores=$((kib / 1048576 + 1)); fi
  echo "$cores"
}
