#!/usr/bin/env bash
# Runs scripts/android.sh with a stand-in for an NDK, made of a clang as recent as those of NDKs
# (scripts/zig.sh) and the headers of Linux: what is checked is that all code compiles for Android,
# that the flag which clang refuses for 64 bits is left out, and that the programs pass the
# script's own checks.
set -euo pipefail
cd "$(dirname "$0")/.."
ndk=$PWD/build/ndk
bin=$ndk/toolchains/llvm/prebuilt/stand-in/bin
rm -rf "$ndk"
mkdir -p "$bin" "$ndk/include/android" "$ndk/lib"
cat >"$ndk/include/android/log.h" <<'C'
// What Go's runtime and the Vulkan package call of Android's log.
#include <stdarg.h>
enum { ANDROID_LOG_VERBOSE = 2, ANDROID_LOG_DEBUG, ANDROID_LOG_INFO, ANDROID_LOG_WARN, ANDROID_LOG_ERROR, ANDROID_LOG_FATAL };
int __android_log_print(int priority, const char *tag, const char *format, ...);
int __android_log_vprint(int priority, const char *tag, const char *format, va_list list);
C
cat >"$ndk/log.c" <<'C'
#include <android/log.h>
int __android_log_print(int priority, const char *tag, const char *format, ...) { return priority + (tag == format); }
int __android_log_vprint(int priority, const char *tag, const char *format, va_list list) { (void)list; return priority + (tag == format); }
C
# The linker of an NDK passes over a flag of the Vulkan package that zig's refuses. Since version
# 2.34 glibc holds pthreads in its libc, as bionic does.
cat >"$bin/aarch64-linux-android24-clang" <<CC
#!/usr/bin/env bash
kept=()
for flag in "\$@"; do
  [ "\$flag" = -Wl,--no-warn-mismatch ] || kept+=("\$flag")
done
exec "$PWD/scripts/zig.sh" linux/arm64 -target aarch64-linux-gnu.2.34 -D__ANDROID__ \
  -D__ANDROID_API__=24 -I "$ndk/include" -L "$ndk/lib" \
  -Wl,--dynamic-linker=/system/bin/linker64 "\${kept[@]}"
CC
chmod +x "$bin/aarch64-linux-android24-clang"
"$bin/aarch64-linux-android24-clang" -shared -fPIC -Wl,-soname,liblog.so -o "$ndk/lib/liblog.so" "$ndk/log.c"

if ANDROID_NDK_HOME= scripts/android.sh build/android 2>build/android.txt; then
  echo 'scripts/android.sh builds without an NDK' >&2
  exit 1
fi
grep -q ANDROID_NDK_HOME build/android.txt
# glibc and bionic differ in types that package net calls by.
GOFLAGS="${GOFLAGS-} -tags=netgo,osusergo" ANDROID_NDK_HOME=$ndk scripts/android.sh build/android
