"""Writes generate/testdata/transformers.json: the probabilities that the logits
processors of the package transformers leave to tokens.

    .cache/tools/bin/python oracles/hugging/sampling.py
"""

import json
import pathlib
import random

import torch
from transformers import LogitsProcessorList
from transformers.generation import logits_process

random.seed(1)
torch.manual_seed(1)


def processors(c):
    made = LogitsProcessorList()
    if c["repetition_penalty"] != 1:
        made.append(logits_process.RepetitionPenaltyLogitsProcessor(c["repetition_penalty"]))
    if c["temperature"] != 1:
        made.append(logits_process.TemperatureLogitsWarper(c["temperature"]))
    if c["top_k"]:
        made.append(logits_process.TopKLogitsWarper(c["top_k"]))
    if 0 < c["top_p"] < 1:
        made.append(logits_process.TopPLogitsWarper(c["top_p"]))
    if c["min_p"]:
        made.append(logits_process.MinPLogitsWarper(c["min_p"]))
    return made


def case():
    n = random.choice([3, 8, 20])
    c = {
        "logits": [round(random.gauss(0, 3), 3) for _ in range(n)],
        "prompt": [random.randrange(n) for _ in range(random.randrange(1, 6))],
        "temperature": random.choice([0.3, 1.0, 1.7]),
        "top_k": random.choice([0, 1, 2, 5, 50]),
        "top_p": random.choice([0, 0.2, 0.55, 0.9, 1]),
        "min_p": random.choice([0, 0, 0.02, 0.3, 1]),
        "repetition_penalty": random.choice([1, 0.8, 1.3]),
    }
    # Which of equal logits top-p keeps is left open there; top-k keeps them all.
    if c["top_p"] in (0, 1) and random.random() < 0.5:
        c["logits"] = [float(round(x)) for x in c["logits"]]
    scores = processors(c)(torch.tensor([c["prompt"]]), torch.tensor([c["logits"]]))
    c["probabilities"] = [round(p, 7) for p in scores.softmax(-1)[0].tolist()]
    return c


path = pathlib.Path(__file__).resolve().parent.parent.parent / "generate" / "testdata" / "transformers.json"
path.write_text("[\n" + ",\n".join(json.dumps(case()) for _ in range(200)) + "\n]\n")
