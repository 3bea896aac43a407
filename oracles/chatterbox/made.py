"""Makes a model folder of the topology of Chatterbox turbo, with random weights.

    python oracles/chatterbox/made.py tiny|full FOLDER [fp32 fp16 quantized q4 q4f16]

The published weights have these names, inputs, outputs, types and operators. Noise is off, so that runs compare.
"""

import dataclasses
import pathlib
import sys

import text
from decoder import conditional_decoder
from encoder import speech_encoder
from graph import PRECISIONS
from language import embed_tokens, language_model


@dataclasses.dataclass(frozen=True)
class Size:
    """The sizes of the published networks."""

    texts: int = 50257  # rows of the table of embeddings for text
    layers: int = 24
    width: int = 1024
    heads: int = 16
    window: int = 8196  # positions
    ends: int = 500  # the position from which on the end becomes likely
    ends_within: int = 40
    conformer: int = 512
    conformer_heads: int = 8
    frames: int = 5000  # positions of the conformer
    flow: int = 256
    flow_heads: int = 8
    flow_head: int = 64
    flow_blocks: int = 4
    flow_middle: int = 12
    vocoder: int = 512
    pitch: int = 512
    listener: int = 1280
    listener_heads: int = 20
    listener_layers: int = 6
    speaker: int = 128
    speaker_layers: int = 24
    voice: int = 256
    noise: float = 1e-30  # its deviation, which must be positive


FULL = Size()
TINY = Size(
    **{"texts": 420, "layers": 2, "width": 32, "heads": 2, "window": 1600, "ends": 76, "ends_within": 12},
    **{"conformer": 32, "conformer_heads": 2, "frames": 1000},
    **{"flow": 32, "flow_heads": 2, "flow_head": 16, "flow_blocks": 1, "flow_middle": 2, "vocoder": 32, "pitch": 16},
    **{"listener": 32, "listener_heads": 2, "listener_layers": 2, "speaker": 16, "speaker_layers": 2, "voice": 16},
)
SEED = 1


def make(size, folder, precisions=tuple(PRECISIONS), seed=SEED):
    pathlib.Path(folder, "onnx").mkdir(parents=True, exist_ok=True)
    text.write(folder)
    for precision in precisions:
        for graph in (speech_encoder, embed_tokens, language_model, conditional_decoder):
            graph(size, pathlib.Path(folder, "onnx"), precision, seed)


if __name__ == "__main__":
    make({"tiny": TINY, "full": FULL}[sys.argv[1]], sys.argv[2], sys.argv[3:] or tuple(PRECISIONS))
