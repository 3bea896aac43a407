"""Writes formats/gguf/testdata/bitnet.json: the logits of llama.cpp for a small decoder of the architecture bitnet.

npm pack @node-llama-cpp/linux-x64@3.22.1 && tar xzf node-llama-cpp-linux-x64-3.22.1.tgz
go test ./formats/gguf -run BitNet -ternary FOLDER
python oracles/gguf/bitnet.py package/bins/linux-x64 FOLDER/bitnet.gguf
"""

import json
import pathlib
import sys

from llama import Llama

TOKENS = [3, 17, 90, 5, 41, 8]


def main():
    with Llama(sys.argv[1]).model(sys.argv[2]) as model, model.context() as run:
        logits = [float(f"{v:.6g}") for v in run(TOKENS)]
    path = pathlib.Path(__file__).resolve().parent.parent.parent / "formats" / "gguf" / "testdata" / "bitnet.json"
    path.write_text(json.dumps({"tokens": TOKENS, "logits": logits}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
