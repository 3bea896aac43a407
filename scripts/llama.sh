#!/usr/bin/env bash
# Prints the folder with the libraries of llama.cpp, from npm: for processors, or with "vulkan" for
# Vulkan devices, too.
#   scripts/llama.sh [vulkan]
set -euo pipefail
cd "$(dirname "$0")/.."
version=3.22.1
name=linux-x64${1:+-$1}
libraries=build/llama/$version/$name/package/bins/$name
if [ ! -d "$libraries" ]; then
  mkdir -p "build/llama/$version/$name"
  (cd "build/llama/$version/$name" && npm pack --silent "@node-llama-cpp/$name@$version" >/dev/null && tar xzf ./*.tgz && rm ./*.tgz)
fi
echo "$libraries"
