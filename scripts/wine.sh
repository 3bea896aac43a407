#!/usr/bin/env bash
# wine.sh PROGRAM ARGUMENT... runs a program for Windows by Wine, with the folder build/wine as its
# drive C:. Wine before 9 lacks the library of random numbers that Go's runtime loads; it is made
# here of the function that older Windows has.
set -euo pipefail
root=$(dirname "$(dirname "$(readlink -f "$0")")")
export WINEPREFIX=$root/build/wine WINEDEBUG=-all WINEDLLOVERRIDES=mscoree,mshtml= WINEARCH=win64
if [ ! -e "$WINEPREFIX/made" ]; then
  mkdir -p "$WINEPREFIX"
  wineboot --init >"$WINEPREFIX/log" 2>&1
  wineserver --wait
  library=$WINEPREFIX/drive_c/windows/system32/bcryptprimitives.dll
  cat >"$WINEPREFIX/random.c" <<'C'
#include <stddef.h>

unsigned char __stdcall SystemFunction036(void *buffer, unsigned long bytes);

__declspec(dllexport) int __stdcall ProcessPrng(unsigned char *buffer, size_t bytes) {
    enum { MOST = 1 << 20 };
    for (size_t at = 0, n; at < bytes; at += n) {
        n = bytes - at < MOST ? bytes - at : MOST;
        if (!SystemFunction036(buffer + at, (unsigned long)n)) return 0;
    }
    return 1;
}
C
  [ -e "$library" ] || "$root/scripts/zig.sh" windows/amd64 -shared -O2 -o "$library" "$WINEPREFIX/random.c" -ladvapi32
  touch "$WINEPREFIX/made"
fi
exec wine "$@"
