#!/usr/bin/env bash
# Builds the compiler and the validator of shaders that use cooperative matrices, in
# build/glslang, where they are not of the version that Cargo.lock pins. It needs Cargo, which
# downloads the sources, CMake and a C++ compiler.
set -euo pipefail
cd "$(dirname "$0")/../.."
made=build/glslang
cmp -s scripts/glslang/Cargo.lock $made/Cargo.lock && exit 0

for tool in cargo cmake; do
  command -v "$tool" >/dev/null || { echo "glslang: $tool is missing" >&2; exit 1; }
done
rm -rf $made
# The sources have Go packages of their own, which ./... leaves out by the name of this folder.
cargo vendor --quiet --locked --manifest-path scripts/glslang/Cargo.toml $made/_sources >/dev/null
sources=$PWD/$made/_sources/shaderc-sys/build
cmake -S "$sources/glslang" -B $made/compiler -DCMAKE_BUILD_TYPE=Release -DENABLE_OPT=OFF -DENABLE_HLSL=OFF -DGLSLANG_TESTS=OFF
cmake --build $made/compiler --target glslang-standalone --parallel "$(nproc)"
cmake -S "$sources/spirv-tools" -B $made/validator -DCMAKE_BUILD_TYPE=Release -DSPIRV-Headers_SOURCE_DIR="$sources/spirv-headers" -DSPIRV_SKIP_TESTS=ON -DSPIRV_WERROR=OFF
cmake --build $made/validator --target spirv-val --parallel "$(nproc)"
cp scripts/glslang/Cargo.lock $made/
