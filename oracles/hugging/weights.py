"""Weights that a formula gives, for tests that compute with the same ones on two sides."""

import json
import os

import numpy as np


def numbers(name, shape, offset):
    """The weights of a tensor. Those of norms are near 1, or near 0 where offset is set."""
    h = np.uint32(2166136261)
    with np.errstate(over="ignore"):
        for b in name.encode():
            h = np.uint32((h ^ np.uint32(b)) * np.uint32(16777619))
        x = np.arange(int(np.prod(shape)), dtype=np.uint32) * np.uint32(0x9E3779B1) ^ h
        x ^= x >> np.uint32(16)
        x *= np.uint32(0x85EBCA6B)
        x ^= x >> np.uint32(13)
        x *= np.uint32(0xC2B2AE35)
        x ^= x >> np.uint32(16)
    v = (x >> np.uint32(8)).astype(np.float64) / 2**23 - 1
    if len(shape) == 1:
        v *= 0.25
        if "norm" in name and name.endswith("weight") and not offset:
            v += 1
    else:
        v *= 2 / np.sqrt(shape[-1])
    return v.astype(np.float32).reshape(shape)


def stored(a, dtype):
    """The bytes of float32 numbers in an element type of safetensors."""
    if dtype == "F32":
        return a.tobytes()
    if dtype == "F16":
        return a.astype(np.float16).tobytes()
    u = a.view(np.uint32).astype(np.uint64)  # BF16: to the nearest, of two the even
    return ((u + 0x7FFF + ((u >> 16) & 1)) >> 16).astype(np.uint16).tobytes()


def folder(path, case):
    """Writes the folder of a case: config.json and one file of safetensors for each shard."""
    os.makedirs(path, exist_ok=True)
    with open(os.path.join(path, "config.json"), "w") as f:
        json.dump(case["config"], f)
    names = sorted(case["tensors"])
    for shard in range(case["shards"]):
        header, parts, at = {}, [], 0
        for name in names[shard :: case["shards"]]:
            shape = case["tensors"][name]
            data = stored(numbers(name, shape, case["offset"]), case["dtype"])
            header[name] = {"dtype": case["dtype"], "shape": shape, "data_offsets": [at, at + len(data)]}
            parts.append(data)
            at += len(data)
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        with open(os.path.join(path, f"model-{shard}.safetensors"), "wb") as f:
            f.write(len(text).to_bytes(8, "little") + text + b"".join(parts))
