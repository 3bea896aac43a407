"""Writes generate/testdata/gemma3.json: tokens with which llama.cpp continues prompts.

    npm pack @node-llama-cpp/linux-x64@3.22.1 && tar xzf node-llama-cpp-linux-x64-3.22.1.tgz
    python oracles/gguf/greedy.py package/bins/linux-x64 .cache/gguf/gemma-3-270m-q4_k_m.gguf

llama.cpp rounds the activations that meet packed weights to 8 bits. It therefore continues each prompt twice, with the
file and with a copy whose weights it decoded to float32. The program keeps the tokens up to the first at which these
two differ, and "margin", the smallest distance of the two largest logits in float32.
"""

import json
import pathlib
import sys
import tempfile

from llama import Llama

TOKENS = 16
PROMPTS = [
    "def fibonacci(n):\n    ",
    "One, two, three, four,",
    "Water boils at",
    "import numpy as np\n\n",
    "1 + 1 = 2\n2 + 2 = 4\n3 + 3 =",
    "Die Hauptstadt von Deutschland ist",
]


def continued(model, ids):
    """Returns the likeliest tokens after ids, and the smallest distance of the two largest logits."""
    with model.context() as run:
        tokens, logits, margins = [], run(ids), []
        for _ in range(TOKENS):
            second, first = sorted(logits)[-2:]
            margins.append(first - second)
            tokens.append(logits.index(first))
            logits = run(tokens[-1:])
        return tokens, margins


def main():
    llama, file = Llama(sys.argv[1]), sys.argv[2]
    cases = []
    with tempfile.TemporaryDirectory() as folder:
        decoded = str(pathlib.Path(folder, "float32.gguf"))
        llama.decode(file, decoded)
        with llama.model(file) as packed, llama.model(decoded) as exact:
            for prompt in PROMPTS:
                ids = packed.tokens(prompt)
                (a, _), (b, margins) = continued(packed, ids), continued(exact, ids)
                n = next((i for i in range(TOKENS) if a[i] != b[i]), TOKENS)
                text = packed.text(a[:n])
                print(n, f"{min(margins[:n], default=0):.3f}", repr(prompt + text))
                case = {"prompt": prompt, "ids": ids, "tokens": a[:n], "text": text}
                cases.append(case | {"margin": round(min(margins[:n], default=0), 3)})
    path = pathlib.Path(__file__).resolve().parent.parent.parent / "generate" / "testdata" / "gemma3.json"
    rows = ",\n".join(json.dumps(c, ensure_ascii=False) for c in cases)
    path.write_text("[\n" + rows + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
