#!/usr/bin/env bash
# The processor time of a build of the command by itself: of this module and what it
# requires, with nothing in the build cache but the standard library. Fails above a bound.
set -euo pipefail
cd "$(dirname "$0")/.."
bound=90 # seconds, of user and system time together; the aim is 75 on a quiet machine, and work beside it adds a fifth

tmp=$(mktemp -d)
trap 'chmod -R u+w "$tmp"; rm -rf "$tmp"' EXIT
export GOCACHE=$tmp/cache CCACHE_DISABLE=1
go build std
TIMEFORMAT='%U %S'
{ time go build -o "$tmp/nacre" ./cmd/nacre 2>&3; } 3>&2 2>"$tmp/times"
awk -v bound=$bound '{
  printf "%.1f s of processor time (%.1f user, %.1f system); the bound is %d s\n", $1 + $2, $1, $2, bound
  exit $1 + $2 > bound
}' "$tmp/times"
