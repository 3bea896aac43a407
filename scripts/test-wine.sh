#!/usr/bin/env bash
# Runs the command for Windows, which is build/nacre-windows afterwards, in Wine, and compares what
# it prints and writes with the command for Linux.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/ports.sh linux/amd64 windows/amd64
cat >build/nacre-windows <<'END'
#!/usr/bin/env bash
exec "$(dirname "$0")/../scripts/wine.sh" "$(dirname "$0")/ports/windows-amd64/nacre.exe" "$@"
END
cp build/ports/linux-amd64/nacre build/nacre-linux
chmod +x build/nacre-windows

out=build/windows
rm -rf $out
mkdir -p $out
PYTHONPATH=oracles/hugging .venv/bin/python -c '
import json, sys, weights
with open(sys.argv[1]) as f:
    weights.folder(sys.argv[2], json.load(f))
' formats/huggingface/testdata/llama.json $out/decoder
for system in linux windows; do
  nacre=build/nacre-$system
  {
    $nacre demo | sed '$s/;.*//' # how long a run takes
    $nacre check cmd/nacre/demo/digits.onnx
    $nacre convert $out/decoder $out/$system.onnx >/dev/null
    $nacre convert $out/$system.onnx $out/$system.onnx >/dev/null # over itself
    $nacre generate $out/decoder --tokens 1,2,3 --max-tokens 20
    $nacre convert cmd/nacre/demo/digits.onnx $out/$system.safetensors || echo "exit $?" # which holds no graph
    $nacre run $out/none.onnx || echo "exit $?"
  } 2>$out/$system-errors.txt | tr -d '\r' >$out/$system.txt
done
tail -n 5 $out/windows.txt
diff $out/linux.txt $out/windows.txt
cmp $out/linux.onnx $out/windows.onnx
left=$(find $out -name '*.nacre-tmp')
[ -z "$left" ] || { printf 'files are left: %s\n' "$left" >&2; exit 1; }
