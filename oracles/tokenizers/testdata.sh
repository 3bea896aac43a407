#!/bin/sh
# Makes the answers that the tests of generate/tokenizer read.
set -eu
cd "$(dirname "$0")/../.."
python=${PYTHON:-.venv/bin/python}
out=$PWD/generate/tokenizer/testdata
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -B oracles/tokenizers/answers.py "$folder" 200 3
"$python" -B oracles/tokenizers/sentencepiece_answers.py "$folder"
rm -f "$out/answers.zip"
(cd "$folder" && "$OLDPWD/$python" -m zipfile -c "$out/answers.zip" ./*)
"$python" -B oracles/tokenizers/encodings.py "$folder" 25 3
rm -f "$out/encodings.zip"
(cd "$folder" && "$OLDPWD/$python" -m zipfile -c "$out/encodings.zip" ./*.encodings.json)
"$python" -B oracles/tokenizers/chats.py "$out/chats.json"
