#!/usr/bin/env bash
# Records examples/ anew: kept runs of the real engine in the situations that its own words hide, and the
# block of each. Run it when the protocol, the kept form or the block changes, and read the diff.
#
#   tools/keep_examples.sh PICCHIO RIG [NAME...]      RIG: a folder made by tests/rig/make_rig.sh
#
# Kept runs hold the paths they were made with: let RIG be a neutral one, such as /opt/llama.cpp.
set -euo pipefail

picchio=$(realpath "$1"); RIG=$(realpath "$2"); shift 2
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=tests/rig/env.sh
. "$top/tests/rig/env.sh"
model=$RIG/models/Tiny-Q4_K_M.gguf
only=" $* "

XDG_CACHE_HOME=$(mktemp -d)
export XDG_CACHE_HOME
worker=
finish() { rm -rf "$XDG_CACHE_HOME"; [ -z "$worker" ] || kill "$worker" 2>/dev/null || true; }
trap finish EXIT

keep() { # NAME SITUATION MODEL PASSES ENGINE-ARGUMENTS...
  local name=$1 situation=$2 gguf=$3 passes=$4; shift 4
  [ "$only" = "  " ] || [[ $only == *" $name "* ]] || return 0
  rm -rf "$top/examples/raw/$name"
  mkdir -p "$top/examples/raw" "$top/examples/blocks"
  echo "== $name"
  # The verdict's exit code says what the example is about; only a run that could not run is an error.
  local code=0
  "$situation" "$picchio" "$gguf" --bin "$RIG/bin/llama-completion" --passes "$passes" \
    --keep-logs "$top/examples/raw/$name" -- "$@" > "$top/examples/blocks/$name.txt" || code=$?
  case $code in 0 | 3 | 4 | 5 | 7) ;; *) exit "$code" ;; esac
  cat "$top/examples/blocks/$name.txt"
}

keep cpu-only-machine no_gpu "$model" 3
keep device-none llvmpipe "$model" 2 --device none
keep llvmpipe-full llvmpipe "$model" 2
keep llvmpipe-ngl-4 llvmpipe "$model" 2 -ngl 4
keep llvmpipe-ffn-on-cpu llvmpipe "$model" 2 -ngl 99 -nkvo -ot 'ffn_.*=CPU'
keep llvmpipe-experts-on-cpu llvmpipe "$RIG/models/Tiny-MoE-Q4_K_M.gguf" 2 --cpu-moe
keep default-verbosity no_gpu "$model" 2 -lv 3

port=50052
"$RIG/bin/ggml-rpc-server" -H 127.0.0.1 -p $port >/dev/null 2>&1 &
worker=$!
for _ in $(seq 100); do (: > /dev/tcp/127.0.0.1/$port) 2>/dev/null && break; sleep 0.1; done
keep rpc-to-a-cpu no_gpu "$model" 2 --rpc 127.0.0.1:$port
