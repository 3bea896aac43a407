#!/usr/bin/env bash
# The processor time of a build of the command by itself: of this module and what it
# requires, with nothing in the build cache but the standard library. Fails above a bound,
# which is a multiple of what the standard library takes in the same run, since machines
# and hours differ.
set -euo pipefail
cd "$(dirname "$0")/.."
bound=1.76 # 1.6 for what the module is made of, and 0.16 for the Go package for Vulkan alone

tmp=$(mktemp -d)
trap 'chmod -R u+w "$tmp"; rm -rf "$tmp"' EXIT
export GOCACHE=$tmp/cache CCACHE_DISABLE=1
TIMEFORMAT='%U %S'
{ time go build std 2>&3; } 3>&2 2>"$tmp/times"
{ time go build -o "$tmp/nacre" ./cmd/nacre 2>&3; } 3>&2 2>>"$tmp/times"
awk -v bound=$bound '{
  if (NR == 1) std = $1 + $2
  else {
    printf "%.1f s of processor time (%.1f user, %.1f system), %.2f of the %.1f s of the standard library; the bound is %.2f\n",
      $1 + $2, $1, $2, ($1 + $2) / std, std, bound
    exit $1 + $2 > bound * std
  }
}' "$tmp/times"
