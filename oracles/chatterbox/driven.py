"""Speaks with a model folder by ONNX Runtime, as the page of the published model does, and keeps every value.

    python oracles/chatterbox/driven.py FOLDER VOICE OUT TEXT...

VOICE has samples of float32 at 24 kHz. OUT is a folder for PRECISION.safetensors: text/N is the ids of text N, tokens/N
the codes that follow, waveform/N the sound, and GRAPH/N/in/NAME and GRAPH/N/out/NAME are inputs and outputs of run N of
a graph. The smallest distance of the two largest logits, in deviations of the logits, is printed.
"""

import pathlib
import sys

import numpy as np
import onnxruntime
from safetensors.numpy import save_file
from tokenizers import Tokenizer

from graph import PRECISIONS
from language import START, STOP

SILENCE, PENALTY, LIMIT, KEPT = 4299, 1.2, 1024, 3


class Driver:
    def __init__(self, folder, precision):
        options = onnxruntime.SessionOptions()
        options.log_severity_level, options.intra_op_num_threads = 3, 1
        self.sessions = {
            name: onnxruntime.InferenceSession(
                pathlib.Path(folder, "onnx", f"{name}{PRECISIONS[precision]}.onnx"),
                options,
                providers=["CPUExecutionProvider"],
            )
            for name in ("speech_encoder", "embed_tokens", "language_model", "conditional_decoder")
        }
        self.tokenizer = Tokenizer.from_file(str(pathlib.Path(folder, "tokenizer.json")))
        self.kept, self.margin = {}, np.inf

    def run(self, graph, **feeds):
        """Runs a graph. The first runs of each are kept."""
        session = self.sessions[graph]
        results = session.run(None, feeds)
        n = sum(key.startswith(f"{graph}/") and "/out/" in key for key in self.kept) // len(results)
        if n < KEPT:
            self.kept |= {f"{graph}/{n}/in/{name}": value for name, value in feeds.items()}
            names = [output.name for output in session.get_outputs()]
            self.kept |= {f"{graph}/{n}/out/{name}": value for name, value in zip(names, results)}
        return results

    def listen(self, voice):
        self.voice = self.run("speech_encoder", audio_values=voice[None])

    def speak(self, number, text):
        features, prompt, *speaker = self.voice
        ids = np.array([self.tokenizer.encode(text).ids], np.int64)
        self.kept[f"text/{number}"] = ids
        tokens = [START]
        caches = {
            i.name: np.zeros((1, i.shape[1], 0, i.shape[3]), np.float16 if "float16" in i.type else np.float32)
            for i in self.sessions["language_model"].get_inputs()
            if i.name.startswith("past_key_values")
        }
        first = 0
        for step in range(LIMIT):
            x = self.run("embed_tokens", input_ids=ids)[0]
            if step == 0:
                x = np.concatenate([features, x], axis=1)
            rows = x.shape[1]
            mask, positions = np.ones((1, first + rows), np.int64), np.arange(first, first + rows)[None]
            logits, *present = self.run(
                "language_model", inputs_embeds=x, attention_mask=mask, position_ids=positions, **caches
            )
            caches, first = dict(zip(caches, present)), first + rows
            tokens.append(self.chosen(logits[0, -1], tokens))
            if tokens[-1] == STOP:
                break
            ids = np.array([tokens[-1:]], np.int64)
        tokens = np.array([t for t in tokens[1:] if t != STOP], np.int64)
        codes = np.concatenate([prompt[0], tokens, [SILENCE] * 3])[None]
        names = ("speaker_embeddings", "speaker_features")
        sound = self.run("conditional_decoder", speech_tokens=codes, **dict(zip(names, speaker)))[0]
        self.kept |= {f"tokens/{number}": tokens, f"waveform/{number}": sound[0]}

    def chosen(self, logits, tokens):
        scores = logits.astype(np.float64)
        seen = np.unique(tokens)
        scores[seen] = np.where(scores[seen] < 0, scores[seen] * PENALTY, scores[seen] / PENALTY)
        second, best = np.partition(scores, -2)[-2:]
        self.margin = min(self.margin, (best - second) / scores.std())
        return int(scores.argmax())


def main(folder, voice, out, *texts):
    voice = np.fromfile(voice, np.float32)
    for precision, ending in PRECISIONS.items():
        if not pathlib.Path(folder, "onnx", f"language_model{ending}.onnx").exists():
            continue
        driver = Driver(folder, precision)
        driver.listen(voice)
        for i, text in enumerate(texts):
            driver.speak(i, text)
            tokens, sound = driver.kept[f"tokens/{i}"], driver.kept[f"waveform/{i}"]
            print(
                precision, len(tokens), "codes", len(np.unique(tokens)), "different,", len(sound), "samples", end=", "
            )
            print(f"{np.sqrt((sound**2).mean()):.3f} loud, margin {driver.margin:.4f}", flush=True)
        kept = {key: np.ascontiguousarray(value) for key, value in driver.kept.items()}
        save_file(kept, pathlib.Path(out, f"{precision}.safetensors"))


if __name__ == "__main__":
    main(*sys.argv[1:])
