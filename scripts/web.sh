#!/usr/bin/env bash
# web.sh makes the page: build/web has all of its files, for any server, with compressed copies, and
# web/built the compressed ones, for a command with the tag web. wasm_exec.js comes with Go.
set -euo pipefail
cd "$(dirname "$0")/.."
out=build/web
built=web/built
rm -rf "$out" "$built"
mkdir -p "$out" "$built"

# Calls are not inlined, because kernels do the work, and the only format is ONNX: the program is
# smaller by a quarter.
GOOS=js GOARCH=wasm go build -trimpath -tags onnxonly -ldflags='-s -w' -gcflags=all=-l -o "$out/nacre.wasm" ./web/engine
cp "$(go env GOROOT)/lib/wasm/wasm_exec.js" web/nacre.js web/nacre.d.ts web/worker.js web/package.json web/example.html \
  web/page/* internal/diagram/viewer/{viewer,colours}.css "$out"
cat internal/diagram/viewer/{arrange,paint,details,viewer}.js >"$out/viewer.js"
chmod u=rw,go=r "$out"/*
gzip -9 -n -k "$out"/*
cp "$out"/*.gz "$built"

for file in nacre.wasm wasm_exec.js; do
  printf '%-13s %9d bytes, gzip %8d\n' "$file" "$(wc -c <"$out/$file")" "$(wc -c <"$out/$file.gz")"
done
printf 'the page      %9d bytes, gzip %8d\n' "$(cat "$out"/*.{html,js,css} | wc -c)" "$(cat "$out"/*.{html,js,css}.gz | wc -c)"
