"""Trained networks that read text and tables of numbers."""

import numpy as np
import onnx
from onnx import numpy_helper

import values
from trained import contents, trained
from values import F


def tashkeel(name, member, key, vocabulary, what, **tolerance):
    def feeds(rng):
        for shape in ((1, 40), (3, 17), (1, 1)):
            yield {key: values.tokens(rng, vocabulary, *shape)}

    trained(name, what, "text2tashkeel", f"text2tashkeel/models/{member}.int8.onnx", "Apache-2.0", feeds, **tolerance)


flips = "a step of int8 flips and stays in the state"
flipping = {"rtol": 1e-3, "atol": 0.2}
tashkeel(
    "tashkeel_bilstm",
    "bilstm",
    "input_ids",
    54,
    "vowels of Arabic: attention, three int8 BiLSTM",
    tolerance=flipping,
    why=flips,
)
tashkeel("tashkeel_rawi", "rawi", "input", 302, "vowels of Arabic: two int8 BiLSTM", tolerance=flipping, why=flips)
tashkeel("tashkeel_rawi_v2", "rawi_v2", "input", 236, "vowels of Arabic: two int8 BiLSTM, another alphabet")
tashkeel(
    "tashkeel_rawi_v3",
    "rawi_v3",
    "input",
    236,
    "vowels of Arabic: two int8 BiLSTM, two heads",
    tolerance=flipping,
    why=flips,
)
tashkeel(
    "tashkeel_ensemble", "rawi_ensemble", "input", 236, "vowels of Arabic: two networks merged, one gates the other"
)


def splits(package, member):
    """What the trees of a network compare each feature with."""
    (node,) = onnx.load_from_string(contents(package, member)).graph.node
    a = {a.name: a for a in node.attribute}
    at, split = np.array(a["nodes_featureids"].ints), numpy_helper.to_array(a["nodes_splits"].t)
    return {k: np.unique(split[at == k]) for k in np.unique(at)}


def trees(name, member, features, what):
    """Rows of numbers on either side of the splits, at them, and missing."""
    package, member = "atspm-detector", f"atspm_detector/weights/{member}.onnx"

    def feeds(rng):
        at = splits(package, member)
        for rows in (1, 64, 257):
            x = rng.standard_normal((rows, features))
            for k, s in at.items():
                x[:, k] = rng.choice(s, rows)
            x *= np.where(rng.random(x.shape) < 0.5, 1, 1 + 0.1 * rng.standard_normal(x.shape))
            x[rng.random(x.shape) < 0.05] = np.nan
            yield {"X": x}

    trained(name, what, package, member, "MIT", feeds)


trees("traffic_phase", "phase_lgbm_v5_s0", 261, "signal phase of a detector: LightGBM in TreeEnsemble, float64")
trees("traffic_function", "function/function229_s0", 229, "function of a detector: LightGBM of seven classes, float64")
trees(
    "traffic_stacker", "stacker/stacker_mean3_s0", 46, "function of a detector, from other answers: LightGBM, float64"
)
trees("traffic_decode", "decode_v3", 25, "function of a detector: LightGBM, float64")
trees("traffic_lanes", "lanes/lane_pair_D_s0", 508, "pairs of lanes: LightGBM, float64")
trees("traffic_setback", "setback/setback_q10_s0", 59, "distance of a detector, 10 % quantile: LightGBM, float64")


def pair(rng):
    for n, t in ((4, 600), (2, 301)):
        yield {"x": (rng.random((n, 15, t)) < 0.2).astype(F)}


def head(rng):
    for d, k in ((5, 8), (3, 13)):
        act = (rng.random(d) < 0.8).astype(F)
        yield {"logit": 3 * values.normal(rng, d, k), "Z": values.normal(rng, d, k, 128), "act": act}


trained(
    "traffic_pairs",
    "how events of a detector go with a phase: residual convolutions, attention",
    "atspm-detector",
    "atspm_detector/weights/funcnet/x100_w32full_pair.onnx",
    "MIT",
    pair,
)
trained(
    "traffic_heads",
    "attention over the detectors of a crossing",
    "atspm-detector",
    "atspm_detector/weights/funcnet/x100_w32full_head.onnx",
    "MIT",
    head,
)
