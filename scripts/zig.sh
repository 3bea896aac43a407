#!/usr/bin/env bash
# zig.sh GOOS/GOARCH ARGUMENT... compiles and links C for that system, by the clang, the headers and
# the linker of zig, a package of .venv. For cgo it is CC='scripts/zig.sh darwin/arm64'.
set -euo pipefail
root=$(dirname "$(dirname "$(readlink -f "$0")")")
system=$1
shift
options=()
case $system in
linux/amd64) target=x86_64-linux-gnu ;;
linux/arm64) target=aarch64-linux-gnu ;;
windows/amd64) target=x86_64-windows-gnu ;;
# macOS 12 is the oldest that Go supports. ports.sh makes the folder of libraries.
darwin/amd64) target=x86_64-macos.12.0 options=(-F "$root/build/ports/apple" -L "$root/build/ports/apple") ;;
darwin/arm64) target=aarch64-macos.12.0 options=(-F "$root/build/ports/apple" -L "$root/build/ports/apple") ;;
*) printf 'zig.sh: no target for %s\n' "$system" >&2; exit 2 ;;
esac
export ZIG_GLOBAL_CACHE_DIR=$root/build/zig ZIG_LOCAL_CACHE_DIR=$root/build/zig
exec "$root/.venv/bin/python" -m ziglang cc -target "$target" "${options[@]}" "$@"
