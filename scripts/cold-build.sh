#!/usr/bin/env bash
# The processor time of a build of the command by itself: of this module and what it
# requires, with nothing in the build cache but the standard library. Fails above a bound,
# which is a multiple of what the standard library takes just before, since machines and
# minutes differ. Other work on the machine slows one build more than the next, so a ratio
# above the bound is measured again: the bound is for the least of up to three.
set -euo pipefail
cd "$(dirname "$0")/.."
bound=1.86 # 1.6 for what the module was made of, 0.16 for the Go package for Vulkan, and 0.1 for kernels of BF16, FP16 and SMMLA and for groups of any size
runs=3

tmp=$(mktemp -d)
trap 'chmod -R u+w "$tmp"; rm -rf "$tmp"' EXIT
export GOCACHE=$tmp/cache CCACHE_DISABLE=1
TIMEFORMAT='%U %S'
go mod download # no part of a build
for ((run = 1; run <= runs; run++)); do
  rm -rf "$GOCACHE"
  { time go build std 2>&3; } 3>&2 2>"$tmp/std"
  { time go build -o "$tmp/nacre" ./cmd/nacre 2>&3; } 3>&2 2>"$tmp/module"
  if paste "$tmp/std" "$tmp/module" | awk -v bound=$bound '{
    std = $1 + $2
    module = $3 + $4
    printf "%.1f s of processor time (%.1f user, %.1f system), %.2f of the %.1f s of the standard library; the bound is %.2f\n",
      module, $3, $4, module / std, std, bound
    exit module > bound * std
  }'; then exit 0; fi
done
exit 1
