#!/usr/bin/env bash
# Times Nacre in turn with ONNX Runtime Web, both as WebAssembly in Node, on one thread. ONNX Runtime
# Web comes from npm, into build/node. Arguments are those of bench/versus, such as
#   scripts/bench-node.sh -quick -run 'networks/(efficientnet|yolo|unet|vocoder|llama)'
set -euo pipefail
cd "$(dirname "$0")/.."

version=1.30.0
sum=d2228df7e4616bc3348bf504ee888f3bec43789a273f0a63f3e68d203ce3bf71
folder=build/node
mkdir -p "$folder"
if [ "$(cat "$folder/sum" 2>/dev/null)" != "$sum" ]; then
  rm -rf "${folder:?}/package"
  (
    cd "$folder"
    npm pack --silent "onnxruntime-web@$version" >/dev/null
    echo "$sum  onnxruntime-web-$version.tgz" | sha256sum --check --quiet
    tar xzf "onnxruntime-web-$version.tgz"
    rm "onnxruntime-web-$version.tgz"
    echo "$sum" >sum
  )
fi
cp "$(go env GOROOT)"/lib/wasm/wasm_exec{,_node}.js "$folder/"
GOOS=js GOARCH=wasm go build -trimpath -ldflags='-s -w' -o "$folder/versus.wasm" ./bench/versus
go build -o build/versus ./bench/versus
build/versus -node "$folder" -threads 1 "$@"
