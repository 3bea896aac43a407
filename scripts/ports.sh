#!/usr/bin/env bash
# ports.sh GOOS/GOARCH... builds the command for systems, kernels included, into build/ports. A
# warning is a failure.
#
# Zig has no libraries of Apple beside the system's. A program is linked against stand-ins that
# name the functions which Go's standard library calls; on a Mac it finds the libraries.
set -euo pipefail
cd "$(dirname "$0")/.."

stand_in() { # FILE LIBRARY
  local symbols
  symbols=$(grep -rh '^//go:cgo_import_dynamic' "$(go env GOROOT)/src" --include='*.go' |
    awk -v library="\"$2\"" '$4 == library { printf "%s_%s", n++ ? ", " : "", $3 }')
  mkdir -p "$(dirname "build/ports/apple/$1")"
  cat >"build/ports/apple/$1" <<END
--- !tapi-tbd
tbd-version: 4
targets: [ arm64-macos, x86_64-macos ]
install-name: $2
exports:
  - targets: [ arm64-macos, x86_64-macos ]
    symbols: [ $symbols ]
...
END
}
for name in CoreFoundation Security; do
  stand_in $name.framework/$name.tbd /System/Library/Frameworks/$name.framework/Versions/A/$name
done
stand_in libresolv.tbd /usr/lib/libresolv.9.dylib

for system in "$@"; do
  os=${system%/*} arch=${system#*/}
  program=build/ports/$os-$arch/nacre
  [ "$os" != windows ] || program+=.exe
  printf '%s\n' "$program"
  # Go would strip a program for macOS by a tool of macOS; -w leaves nothing to strip.
  CC="'$PWD/scripts/zig.sh' $system" CGO_ENABLED=1 GOOS=$os GOARCH=$arch \
    go build -trimpath -ldflags='-s -w' -o "$program" ./cmd/nacre 2>build/ports/messages || { cat build/ports/messages >&2; exit 1; }
  ! grep -v '^go: downloading' build/ports/messages >&2 || exit 1
done
