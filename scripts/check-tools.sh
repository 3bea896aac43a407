#!/usr/bin/env bash
# Says what is missing to build: Go of the version in go.mod, and a C compiler.
set -euo pipefail
cd "$(dirname "$0")/.."
want=$(sed -n 's/^go //p' go.mod)

fail=0
if ! command -v go >/dev/null; then
  echo "Go is missing: install Go $want or later, from https://go.dev/dl/" >&2
  fail=1
else
  # Old versions of go do not know GOTOOLCHAIN and cannot fetch a newer one.
  have=$(GOTOOLCHAIN=local go env GOVERSION 2>/dev/null | sed 's/^go//')
  major=${have%%.*} minor=${have#*.} minor=${minor%%.*} minor=${minor%%[!0-9]*}
  want_minor=${want#*.} want_minor=${want_minor%%.*}
  if [ "$major" -eq 1 ] && [ "$minor" -lt "$want_minor" ]; then
    if [ "$minor" -lt 21 ] || [ "$(go env GOTOOLCHAIN)" = local ]; then
      echo "Go is too old: found $have, need $want or later, from https://go.dev/dl/" >&2
      fail=1
    fi
  fi
fi

if [ "$fail" -eq 0 ]; then
  compiler=$(go env CC)
  if ! command -v "${compiler%% *}" >/dev/null; then
    echo "A C compiler is missing (looked for $compiler): install gcc or clang," >&2
    echo "on Debian and Ubuntu with: apt-get install gcc libc6-dev" >&2
    fail=1
  elif [ "$(go env CGO_ENABLED)" != 1 ]; then
    echo "cgo is off, and the kernels are C: set CGO_ENABLED=1" >&2
    fail=1
  fi
fi
exit $fail
