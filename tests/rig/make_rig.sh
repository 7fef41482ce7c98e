#!/usr/bin/env bash
# Makes the engine rig in DIR: a real llama.cpp (Debian sid's packages, unpacked, never installed), a
# software Vulkan device, an RPC worker, and tiny models. Root is not needed where apt and python3 are
# there. A second call finds everything in place and returns at once.
#
#   make_rig.sh DIR            engine and tiny models
#   make_rig.sh DIR --timing   also a model of some 260 MiB, for runs whose times mean something
#
# PICCHIO_DEBIAN_MIRROR names a Debian mirror to try first.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly prompt_source=$here/../../src/engines/llama_cpp/prompt.cpp
# Raise it when this script makes the engine differently: older rigs are then made anew.
readonly recipe=2
# llama.cpp-tools: llama-completion, llama-cli, llama-server, llama-quantize...; -extra: the RPC worker
# and llama-gguf-split. patchelf runs through the unpacked loader, so this machine need not have it.
readonly packages="llama.cpp-tools llama.cpp-tools-extra libggml0-backend-vulkan
  libggml0-backend-rpc mesa-vulkan-drivers patchelf"

say() { printf 'make_rig: %s\n' "$*" >&2; }
die() { printf 'make_rig: error: %s\n' "$*" >&2; exit 1; }

usage() { sed -n '2,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }

parse_arguments() {
  dir=; timing=no
  for argument; do
    case $argument in
      --timing) timing=yes ;;
      -h | --help) usage; exit 0 ;;
      -*) die "unknown flag '$argument'" ;;
      *) [ -z "$dir" ] || die "one folder only, got '$dir' and '$argument'"; dir=$argument ;;
    esac
  done
  [ -n "$dir" ] || { usage >&2; exit 2; }
  mkdir -p "$dir" || die "cannot make the folder '$dir'"
  dir=$(cd "$dir" && pwd)
  case $dir in *[[:space:]:]*) die "the path '$dir' holds a blank or a colon, which LD_LIBRARY_PATH cannot carry" ;; esac
}

check_machine() {
  local missing=()
  for tool in apt-get apt-config dpkg-deb python3 flock; do
    command -v "$tool" >/dev/null || missing+=("$tool")
  done
  [ ${#missing[@]} -eq 0 ] || die "needs ${missing[*]}; on Debian and Ubuntu: apt-get install apt dpkg python3 util-linux"
  case $(dpkg --print-architecture) in
    amd64) triple=x86_64-linux-gnu; loader=ld-linux-x86-64.so.2 ;;
    arm64) triple=aarch64-linux-gnu; loader=ld-linux-aarch64.so.1 ;;
    *) die "the rig is made for amd64 and arm64, this machine is $(dpkg --print-architecture)" ;;
  esac
}

# Debian's signing keys; Ubuntu has them in a package that is rarely installed.
find_keyring() {
  for keyring in /usr/share/keyrings/debian-archive-keyring.{gpg,pgp} "$dir"/keyring/usr/share/keyrings/debian-archive-keyring.gpg; do
    [ -r "$keyring" ] && return
  done
  say "fetching Debian's signing keys (package debian-archive-keyring)"
  rm -rf "$dir/keyring" && mkdir -p "$dir/keyring"
  # This machine's own apt vouches for them; downloading needs no root, a list of packages does.
  if (cd "$dir/keyring" && apt-get download -qq debian-archive-keyring) >"$dir/keyring/log" 2>&1; then
    dpkg-deb -x "$dir"/keyring/*.deb "$dir/keyring"
  elif [ "$(id -u)" = 0 ]; then
    { apt-get update -qq && apt-get install -y -qq debian-archive-keyring; } >"$dir/keyring/log" 2>&1 ||
      die "cannot install debian-archive-keyring: $(tail -n 1 "$dir/keyring/log")"
  fi
  for keyring in "$dir"/keyring/usr/share/keyrings/debian-archive-keyring.gpg /usr/share/keyrings/debian-archive-keyring.{gpg,pgp}; do
    [ -r "$keyring" ] && return
  done
  die "Debian's signing keys are missing; run: sudo apt-get update && sudo apt-get install debian-archive-keyring"
}

# Mirrors of the Debian archive, best first, one a line: this machine's own, from deb822 (*.sources) and
# one-line (*.list) files alike, then the public host. Only a source of this release's `main` counts, so
# security archives and other people's repositories, which carry no sid, stay out.
debian_mirrors() {
  [ -z "${PICCHIO_DEBIAN_MIRROR:-}" ] || echo "$PICCHIO_DEBIAN_MIRROR"
  if grep -qsx 'ID=debian' /etc/os-release; then
    local suites
    suites=" $(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release) sid unstable testing stable "
    for file in /etc/apt/sources.list.d/*.sources; do
      [ ! -r "$file" ] || { grep -v '^#' "$file"; echo; }
    done | awk -v wanted="$suites" -v RS= '{
      uris = suites = components = ""
      n = split($0, lines, "\n")
      for (i = 1; i <= n; i++) {
        if (tolower(lines[i]) ~ /^uris:/) uris = substr(lines[i], 6)
        if (tolower(lines[i]) ~ /^suites:/) suites = substr(lines[i], 8)
        if (tolower(lines[i]) ~ /^components:/) components = " " substr(lines[i], 12) " "
      }
      n = split(suites, list, " ")
      for (i = 1; i <= n; i++)
        if (index(wanted, " " list[i] " ") && components ~ / main /) {
          m = split(uris, uri, " ")
          for (k = 1; k <= m; k++) print uri[k]
        }
    }'
    cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null |
      sed -nE 's/^deb([[:space:]]+\[[^]]*\])?[[:space:]]+//p' |
      awk -v wanted="$suites" 'index(wanted, " " $2 " ") && / main( |$)/ { print $1 }'
  fi
  echo http://deb.debian.org/debian
}

# An apt that knows only this folder: its own lists, cache and empty package state. Proxies and the like
# come from the machine; its hooks and pins do not.
private_apt() { APT_CONFIG=$dir/apt/apt.conf apt-get -qq "$@"; }

prepare_apt() {
  local uri=$1 suite=$2
  mkdir -p "$dir"/apt/{lists/partial,cache/archives/partial,sources}
  : >"$dir/apt/status"
  printf 'Types: deb\nURIs: %s\nSuites: %s\nComponents: main\nSigned-By: %s\n' "$uri" "$suite" "$keyring" \
    >"$dir/apt/sources/debian.sources"
  {
    apt-config dump | grep -E '^Acquire::(http|https|ftp|Check|Retries|ForceIPv)' || true
    cat <<CONF
Dir::Etc::Main "/dev/null";
Dir::Etc::Parts "/dev/null";
Dir::Etc::SourceList "/dev/null";
Dir::Etc::SourceParts "$dir/apt/sources";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "/dev/null";
Dir::State "$dir/apt";
Dir::State::Lists "$dir/apt/lists";
Dir::State::status "$dir/apt/status";
Dir::Cache "$dir/apt/cache";
APT::Sandbox::User "root";
APT::Install-Recommends "false";
Acquire::Languages "none";
Acquire::Retries "3";
Debug::NoLocking "1";
CONF
  } >"$dir/apt/apt.conf"
}

download() {
  local uri suite tried=
  : >"$dir/apt.log"
  while read -r uri; do
    for suite in sid testing; do
      say "fetching llama.cpp from $uri $suite (about 85 MB)"
      prepare_apt "$uri" "$suite"
      # shellcheck disable=SC2086  # a list of package names
      if private_apt update >>"$dir/apt.log" 2>&1 &&
        private_apt install -y --download-only $packages >>"$dir/apt.log" 2>&1; then
        return
      fi
      tried="$tried $uri($suite)"
    done
  done < <(debian_mirrors | awk '!seen[$0]++')
  grep -E '^(E|W):' "$dir/apt.log" | tail -n 3 >&2 || true
  die "no mirror gave the packages, tried:$tried; the whole story is in $dir/apt.log"
}

# patchelf gives a copy of the program the unpacked loader; copies and backends share one folder because
# ggml looks for backends beside the program.
unpack() {
  local lib=$dir/root/usr/lib/$triple program name
  rm -rf "${dir:?}/root" "${dir:?}/bin"
  mkdir -p "$dir"/{root,bin,none}
  for deb in "$dir"/apt/cache/archives/*.deb; do dpkg-deb -x "$deb" "$dir/root"; done
  local search=$lib:$lib/llama:$lib/blas:$lib/lapack
  for program in "$dir"/root/usr/bin/llama-* "$dir/root/usr/libexec/$triple/llama/bin/ggml-rpc-server"; do
    [ -f "$program" ] || continue
    name=$(basename "$program")
    cp "$program" "$dir/bin/.$name"
    "$lib/$loader" --library-path "$search" "$dir/root/usr/bin/patchelf" \
      --set-interpreter "$lib/$loader" "$dir/bin/.$name" || die "patchelf failed on $name"
    printf '#!/bin/sh\nLD_LIBRARY_PATH=%s exec %s "$@"\n' "$search" "$dir/bin/.$name" >"$dir/bin/$name"
    chmod +x "$dir/bin/$name"
  done
  cp "$lib"/ggml/backends*/*.so "$dir/bin/"
  sed "s#\"library_path\": *\"\([^/\"]*/\)*#\"library_path\": \"$lib/#" \
    "$dir"/root/usr/share/vulkan/icd.d/lvp_icd*.json >"$dir/lvp.json"
  echo '{}' >"$dir/none/none.json"
  for name in llama-completion llama-quantize llama-gguf-split ggml-rpc-server; do
    [ -x "$dir/bin/$name" ] || die "the packages no longer hold $name; $dir/apt.log lists what came"
  done
  VK_DRIVER_FILES=$dir/none/none.json "$dir/bin/llama-completion" --version >"$dir/version.txt" 2>&1 ||
    die "the unpacked llama-completion does not start: $(tail -n 1 "$dir/version.txt")"
}

make_engine() {
  [ "$(cat "$dir/engine.ok" 2>/dev/null)" = "$recipe $dir" ] && return
  rm -f "$dir/engine.ok"
  find_keyring
  download
  unpack
  rm -rf "$dir/apt"  # the packages are unpacked: 200 MB less
  echo "$recipe $dir" >"$dir/engine.ok"
}

quantize() { # FROM TO TYPE
  [ -e "$2" ] && return
  "$dir/bin/llama-quantize" "$1" "$2.part" "$3" >"$dir/models/quantize.log" 2>&1 ||
    die "llama-quantize failed on $1: $(tail -n 1 "$dir/models/quantize.log")"
  mv "$2.part" "$2"
}

tiny() { # NAME FLAGS...: models/NAME-F16.gguf and models/NAME-Q4_K_M.gguf
  local name=$1; shift
  [ -e "$dir/models/$name-Q4_K_M.gguf" ] && return
  python3 "$here/make_tiny_gguf.py" "$dir/models/$name-F16.gguf" --name "$name" \
    --prompt-source "$prompt_source" "$@" || die "make_tiny_gguf.py failed for $name"
  quantize "$dir/models/$name-F16.gguf" "$dir/models/$name-Q4_K_M.gguf" Q4_K_M
}

make_models() {
  mkdir -p "$dir/models"
  # The vocabulary follows the prompt: a changed prompt or writer makes the models anew.
  local sum
  sum=$({ cat "$here/make_tiny_gguf.py"; cat "$prompt_source" 2>/dev/null || true; } | sha256sum | cut -d' ' -f1)
  if [ "$(cat "$dir/models/made-from" 2>/dev/null)" != "$sum" ]; then
    rm -rf "$dir/models" && mkdir -p "$dir/models"
  fi
  tiny Tiny
  tiny Tiny-MoE --experts 8 --feed-forward 256
  tiny Tiny-Tied --tied
  local last_shard=$dir/models/Tiny-Split-Q4_K_M-00003-of-00003.gguf  # 75 tensors, 30 a shard
  if [ ! -e "$last_shard" ]; then
    "$dir/bin/llama-gguf-split" --split --split-max-tensors 30 "$dir/models/Tiny-Q4_K_M.gguf" \
      "$dir/models/Tiny-Split-Q4_K_M" >"$dir/models/split.log" 2>&1 ||
      die "llama-gguf-split failed: $(tail -n 1 "$dir/models/split.log")"
    [ -e "$last_shard" ] || die "llama-gguf-split made other shards than expected, see $dir/models"
  fi
  if [ "$timing" = yes ]; then
    tiny Timing --layers 16 --dim 1536 --feed-forward 4608
    rm -f "$dir/models/Timing-F16.gguf"
  fi
  echo "$sum" >"$dir/models/made-from"
}

main() {
  parse_arguments "$@"
  check_machine
  exec 9>"$dir/.lock"
  flock 9  # two builds may ask for the same rig at once
  make_engine
  make_models
  touch "$dir/ok"
}

main "$@"
