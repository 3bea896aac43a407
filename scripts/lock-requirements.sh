#!/usr/bin/env bash
# Writes scripts/requirements.txt and oracles/networks/tools.txt: what the files beside them that end
# in .in ask for and what that needs, each package at one version with the SHA-256 of all its files,
# for Python 3.11 and later. Versions that a file has already stay; the argument --upgrade takes the
# newest.
set -euo pipefail
cd "$(dirname "$0")/.."

tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
python3 -m venv "$tools"
"$tools/bin/python" -m pip install --quiet --disable-pip-version-check uv==0.13.9
for list in scripts/requirements oracles/networks/tools; do
  "$tools/bin/uv" pip compile $list.in --quiet --universal --python-version 3.11 --generate-hashes \
    --no-annotate --custom-compile-command scripts/lock-requirements.sh --output-file $list.txt "$@" >/dev/null
done
