#!/bin/sh
# Compares nacre's tokenizers with the packages tokenizers and transformers of PyPI, and
# with sentencepiece where it is installed, on tokenizers of every kind and many texts.
#
# Usage: compare.sh [COUNT [SEED]]
set -eu
cd "$(dirname "$0")/../.."
python=${PYTHON:-.cache/tools/bin/python}
count=${1:-5000}
seed=${2:-7}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -B scripts/tokenizers/answers.py "$folder" "$count" "$seed"
if "$python" -c 'import sentencepiece' 2>/dev/null; then
	"$python" -B scripts/tokenizers/sentencepiece_answers.py "$folder"
fi
"$python" -B scripts/tokenizers/chats.py "$folder/chats.list"
NACRE_TOKENIZERS=$folder NACRE_CHATS=$folder/chats.list \
	go test ./generate/tokenizer -count=1 -run 'TestAnswers|TestChatAnswers' -v | grep -E '^ *--- |comparisons|^ok|^FAIL'
