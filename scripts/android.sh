#!/usr/bin/env bash
# Builds the command and a sample for 64-bit ARM on Android, with the NDK that
# ANDROID_NDK_HOME names, into a folder: build/android unless an argument says another.
# ANDROID_API is the API level, 24 unless it is set: the first with Vulkan 1.0. Vulkan 1.1, which
# the device needs, comes with the drivers of Android 10 and later.
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-build/android}
api=${ANDROID_API:-24}

fail() { printf 'android: %s\n' "$1" >&2; exit 1; }
[ -n "${ANDROID_NDK_HOME:-}" ] || fail 'ANDROID_NDK_HOME is not set; it names the folder of an Android NDK, release 25 or later'
[ -d "$ANDROID_NDK_HOME/toolchains/llvm/prebuilt" ] || fail "$ANDROID_NDK_HOME is no NDK: it has no toolchains/llvm/prebuilt"
compiler=$(find "$ANDROID_NDK_HOME/toolchains/llvm/prebuilt" -path "*/bin/aarch64-linux-android$api-clang" | head -n 1)
[ -n "$compiler" ] || fail "the NDK has no compiler aarch64-linux-android$api-clang; ANDROID_API names another level"

# The Vulkan package gives its Android build a flag for 32-bit ARM, which compilers for 64
# bits may refuse.
wrapper=$(mktemp -d)
trap 'rm -rf "$wrapper"' EXIT
cat >"$wrapper/cc" <<CC
#!/usr/bin/env bash
kept=()
for flag in "\$@"; do
  [ "\$flag" = -mfpu=vfp ] || kept+=("\$flag")
done
exec "$compiler" "\${kept[@]}"
CC
chmod +x "$wrapper/cc"

mkdir -p "$out"
for program in nacre:./cmd/nacre device:./examples/device; do
  file=$out/${program%%:*}
  printf 'android: %s\n' "$file"
  CC=$wrapper/cc CGO_ENABLED=1 GOOS=android GOARCH=arm64 go build -trimpath -ldflags='-s -w' -o "$file" "${program#*:}"
  # What the system's loader must find: an AArch64 program, and libraries of the system alone.
  header=$(readelf -h -l -d "$file")
  grep -q 'Machine: *AArch64' <<<"$header" || fail "$file is not for AArch64"
  grep -q 'interpreter: /system/bin/linker64' <<<"$header" || fail "$file does not name Android's loader"
  needed=$(sed -n 's/.*Shared library: \[\(.*\)\]/\1/p' <<<"$header" | grep -vxE 'lib(c|m|dl|log)\.so(\.[0-9]+)?' || true)
  [ -z "$needed" ] || fail "$file needs libraries that a device may lack: $needed"
done
cat <<END
android: to run them on a device that adb sees:
  adb push $out/nacre $out/device cmd/nacre/demo/digits.onnx /data/local/tmp/
  adb shell /data/local/tmp/nacre devices --probe
  adb shell /data/local/tmp/device /data/local/tmp/digits.onnx
END
