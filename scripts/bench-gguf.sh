#!/usr/bin/env bash
# Times Nacre in turn with llama.cpp on a GGUF model, as it is and with its weights in other types of
# blocks. The libraries of llama.cpp come from npm, into build/llama. ROUNDS, PROMPT, GENERATE and
# THREADS change what is timed. OUT is a folder for the table, such as bench/results; README shows the
# newest table there.
#   scripts/bench-gguf.sh MODEL.gguf [TYPE...]
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || { sed -n '2,6s/^# *//p' "$0" >&2; exit 2; }
model=$1
shift

libraries=$(scripts/llama.sh)
mkdir -p build/gguf
go build -o build/gguf/nacre ./cmd/nacre
models=("$model")
for type in "$@"; do
  quantized=build/gguf/$(basename "$model" .gguf).$type.gguf
  [ -f "$quantized" ] || build/gguf/nacre quantize "$model" "$quantized" --to "$type" --allow-requantize >/dev/null
  models+=("$quantized")
done
about="$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -1) with $(nproc) cores"
arguments=()
[ -z "${OUT:-}" ] || arguments=(--out "$OUT/$(date +%F)-$(git rev-parse --short HEAD)-gguf.txt")
python3 bench/peers/llama.py --libs "$libraries" --nacre build/gguf/nacre --rounds "${ROUNDS:-3}" --prompt "${PROMPT:-512}" \
  --generate "${GENERATE:-48}" --threads "${THREADS:-1}" --about "$about" "${arguments[@]}" "${models[@]}"
