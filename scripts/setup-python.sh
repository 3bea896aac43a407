#!/usr/bin/env bash
# Makes the Python environment .venv, which holds the peers that we compare with, unless
# it is there.
set -euo pipefail
cd "$(dirname "$0")/.."

stamp=.venv/complete
if ! cmp -s scripts/requirements.txt "$stamp"; then
  echo "setup: Python environment in .venv"
  python3 -m venv --clear .venv
  .venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r scripts/requirements.txt
  cp scripts/requirements.txt "$stamp"
fi
