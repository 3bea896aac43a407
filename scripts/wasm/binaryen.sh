#!/usr/bin/env bash
# binaryen.sh prints the path of wasm-opt, which Node runs. It comes from npm, into build/binaryen.
set -euo pipefail
cd "$(dirname "$0")/../.."

version=132.0.0
sum=6543555fb29bb92548f325c7dc18e9ab7dbb1215edda25993d1e3f71d85b8618
folder=build/binaryen
if [ "$(cat "$folder/sum" 2>/dev/null)" != "$sum" ]; then
  rm -rf "$folder"
  mkdir -p "$folder"
  (
    cd "$folder"
    npm pack --silent "binaryen@$version" >/dev/null
    echo "$sum  binaryen-$version.tgz" | sha256sum --check --quiet
    tar xzf "binaryen-$version.tgz" package/package.json package/LICENSE package/bin/package.json package/bin/wasm-opt
    rm "binaryen-$version.tgz"
    echo "$sum" >sum
  )
fi
printf '%s\n' "$PWD/$folder/package/bin/wasm-opt"
