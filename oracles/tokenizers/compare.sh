#!/usr/bin/env bash
# Compares nacre's tokenizers with the packages tokenizers, sentencepiece and transformers
# of PyPI, on tokenizers of every kind and many texts.
#
# Usage: compare.sh [COUNT [SEED]]
set -euo pipefail
cd "$(dirname "$0")/../.."
python=${PYTHON:-.venv/bin/python}
count=${1:-5000}
seed=${2:-7}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -B oracles/tokenizers/answers.py "$folder" "$count" "$seed"
"$python" -B oracles/tokenizers/sentencepiece_answers.py "$folder"
"$python" -B oracles/tokenizers/encodings.py "$folder" $((count / 10)) "$seed"
"$python" -B oracles/tokenizers/chats.py "$folder/chats.list"
NACRE_TOKENIZERS=$folder NACRE_CHATS=$folder/chats.list \
	go test ./generate/tokenizer -count=1 -run 'TestAnswers|TestEncodings|TestChatAnswers' -v | grep -E '^ *--- |comparisons|^ok|^FAIL'
