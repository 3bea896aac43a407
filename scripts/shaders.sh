#!/usr/bin/env bash
# Compiles the shaders that changed to SPIR-V, in shaders/spv. It needs glslangValidator
# and SPIRV-Tools: Debian's packages glslang-tools and spirv-tools. Where a shader changed that
# uses cooperative matrices, scripts/glslang/build.sh builds the compiler that it takes.
set -euo pipefail
cd "$(dirname "$0")/.."

for tool in glslangValidator spirv-opt spirv-val; do
  command -v "$tool" >/dev/null || { echo "shaders: $tool is missing" >&2; exit 1; }
done
go run ./shaders/internal/generate shaders
