#!/usr/bin/env bash
# Installs what scripts/test.sh needs beside Go and a C compiler: Debian packages for
# the cross build, CMake, clang and shaders, and a Python environment in .venv that
# holds the peers we compare with. With the argument full it installs what
# scripts/test.sh full needs too. What is there already is left as it is, so a second run
# is quick.
set -euo pipefail
cd "$(dirname "$0")/.."

# One line per tool: the command or file that shows it is there, its package.
needs='
gcc                                       gcc
clang                                     clang
cmake                                     cmake
make                                      make
node                                      nodejs
npm                                       npm
espeak-ng                                 espeak-ng
qemu-aarch64                              qemu-user
aarch64-linux-gnu-gcc                     gcc-aarch64-linux-gnu
/usr/aarch64-linux-gnu/include/stdlib.h   libc6-dev-arm64-cross
python3                                   python3-venv
chromium                                  chromium
chromedriver                              chromium-driver
/usr/share/doc/libopenblas-dev            libopenblas-dev
/usr/share/doc/mesa-vulkan-drivers        mesa-vulkan-drivers
/usr/share/doc/libvulkan1                 libvulkan1
/usr/share/doc/libvulkan-dev              libvulkan-dev
/usr/share/doc/vulkan-validationlayers    vulkan-validationlayers
glslangValidator                          glslang-tools
spirv-opt                                 spirv-tools
'
[ "${1-}" != full ] || needs+='
wine                                      wine
/usr/lib/wine/wine64                      wine64
'

missing=()
while read -r tool package; do
  [ -n "$tool" ] || continue
  command -v "$tool" >/dev/null 2>&1 || [ -e "$tool" ] || missing+=("$package")
done <<<"$needs"
python3 -c 'import ensurepip' >/dev/null 2>&1 || missing+=(python3-venv)

if [ ${#missing[@]} -gt 0 ]; then
  echo "setup: installing ${missing[*]}"
  if ! command -v apt-get >/dev/null; then
    echo "setup: this system has no apt-get; please install the counterparts of: ${missing[*]}" >&2
    exit 1
  fi
  as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if ! sudo -n true 2>/dev/null; then
      echo "setup: not root, and sudo asks for a password; please run: apt-get install ${missing[*]}" >&2
      exit 1
    fi
    as_root=(sudo -n)
  fi
  "${as_root[@]}" apt-get update -q
  DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -q -y "${missing[@]}" </dev/null
fi

scripts/setup-python.sh
