#!/usr/bin/env bash
# Times Nacre in turn with other runtimes and draws what came out. It sets up the peers:
# ONNX Runtime in .venv, and oneDNN and OpenBLAS, which multiply matrices, from Debian's
# packages. What cannot be set up is named and left out. Arguments are those of
# bench/versus; without -out, results go to bench/results.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup-python.sh || echo "bench-peers: no ONNX Runtime" >&2

# A package is installed where apt can do that without a password.
install() {
  command -v apt-get >/dev/null || return 1
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    sudo -n true 2>/dev/null || return 1
    as_root=(sudo -n)
  fi
  "${as_root[@]}" apt-get update -q >&2
  DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -q -y "$1" </dev/null >&2
}

# library PROGRAM HEADER LINK PACKAGE compiles a program of bench/peers.
library() {
  local program=build/peers/$1
  rm -f "$program" "$program.version"
  echo "#include <$2>" | cc -E - >/dev/null 2>&1 || install "$4" || echo "bench-peers: no package $4" >&2
  cc -std=c11 -D_DEFAULT_SOURCE -O2 -o "$program" "bench/peers/$1.c" "-l$3" || return
  dpkg-query -W -f '${Version}\n' "$4" >"$program.version" 2>/dev/null || echo 'of an unknown version' >"$program.version"
}

mkdir -p build/peers
library onednn dnnl.h dnnl libdnnl-dev || echo "bench-peers: no oneDNN" >&2
library openblas openblas_config.h openblas libopenblas-dev || echo "bench-peers: no OpenBLAS" >&2

go build -o build/versus ./bench/versus
out=bench/results
arguments=("$@")
for ((i = 0; i < $#; i++)); do
  case ${arguments[i]} in
  -list) exec build/versus "$@" ;;
  -out) out=${arguments[i + 1]:-} ;;
  -out=*) out=${arguments[i]#-out=} ;;
  esac
done
stamp=$(mktemp)
trap 'rm -f "$stamp"' EXIT
status=0
build/versus -out "$out" "$@" || status=$?
if [ -n "$out" ]; then
  while read -r results; do
    go -C bench/plot run . "$(realpath "$results")" || echo "bench-peers: no picture of $results" >&2
  done < <(find "$out" -name '*.json' -newer "$stamp")
fi
exit "$status"
