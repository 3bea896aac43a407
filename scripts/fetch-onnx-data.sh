#!/usr/bin/env bash
# Fills .cache/onnx with the official backend tests of ONNX 1.22.0: folders
# node, simple, pytorch-converted, pytorch-operator, light. They come from the
# published wheel, or, without a network, from an archive beside the checkout.
set -euo pipefail
cd "$(dirname "$0")/.."
version=1.22.0
data=.cache/onnx/$version
archive=${NACRE_SHARED:-../shared}/onnx-$version-backend-tests.tgz

if [ -e "$data/complete" ]; then
  exit 0
fi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

if python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: \
  -d "$tmp" "onnx==$version" 2>"$tmp/log"; then
  echo "onnx data: from the wheel onnx==$version"
  python3 - "$tmp"/onnx-*.whl "$tmp" <<'PY'
import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as z:
    z.extractall(sys.argv[2], [n for n in z.namelist() if n.startswith("onnx/backend/test/data/")])
PY
elif [ -e "$archive" ]; then
  echo "onnx data: from $archive"
  tar -xzf "$archive" -C "$tmp"
else
  cat "$tmp/log" >&2
  echo "onnx data: the wheel onnx==$version cannot be fetched, and there is no $archive" >&2
  exit 1
fi

rm -rf "$data"
mkdir -p "$data"
mv "$tmp"/onnx/backend/test/data/* "$data"/
touch "$data/complete"
