"""Times GGUF models with llama.cpp, called through its C interface, and with Nacre, in turn.

    llama.py --libs FOLDER --nacre COMMAND [--threads N] [--prompt N] [--generate N] [--rounds N] [--about TEXT] [--out FILE] MODEL...
    llama.py --libs FOLDER --device N [--prompt N] [--generate N] [--rounds N] MODEL

FOLDER has the shared libraries of llama.cpp 0.5.0, whose structures follow. Each line has the best
rates of a model, in tokens a second, and the ratio of Nacre's to llama.cpp's. FILE gets the same
lines after the text and the load of the machine. With --device, llama.cpp alone runs on that Vulkan
device, and its rates of the prompt and of what follows are printed as JSON.
"""

import argparse
import ctypes as C
import glob
import json
import os
import re
import subprocess
import time


class ModelParams(C.Structure):
    _fields_ = [("devices", C.c_void_p), ("buffers", C.c_void_p), ("gpu_layers", C.c_int32), ("split", C.c_int32),
                ("load", C.c_int32), ("lazy", C.c_int32), ("gpu", C.c_int32), ("share", C.c_void_p), ("progress", C.c_void_p * 2),
                ("overrides", C.c_void_p), ("flags", C.c_bool * 7)]


class ContextParams(C.Structure):
    _fields_ = [("context", C.c_uint32), ("batch", C.c_uint32), ("part", C.c_uint32), ("sequences", C.c_uint32),
                ("states", C.c_uint32), ("outputs", C.c_uint32 * 2), ("threads", C.c_int32), ("threads_batch", C.c_int32),
                ("kinds", C.c_int32 * 5), ("rope", C.c_float * 6), ("original", C.c_uint32), ("defrag", C.c_float),
                ("eval", C.c_void_p * 2), ("cache", C.c_int32 * 2), ("abort", C.c_void_p * 2), ("flags", C.c_bool * 6),
                ("samplers", C.c_void_p), ("sampler_count", C.c_size_t), ("other", C.c_void_p)]


class Batch(C.Structure):
    _fields_ = [("count", C.c_int32), ("token", C.POINTER(C.c_int32)), ("embedding", C.c_void_p), ("position", C.POINTER(C.c_int32)),
                ("sequences", C.POINTER(C.c_int32)), ("sequence", C.POINTER(C.POINTER(C.c_int32))), ("output", C.POINTER(C.c_int8))]


LOG = C.CFUNCTYPE(None, C.c_int, C.c_char_p, C.c_void_p)


class Llama:
    """A model in llama.cpp."""

    def __init__(self, libraries, path, threads, room, layers=0):
        self.lib, self.log = libraries, LOG(lambda *_: None)
        lib = self.lib
        lib.llama_log_set(self.log, None)
        for name, result, arguments in [
                ("llama_model_default_params", ModelParams, []), ("llama_context_default_params", ContextParams, []),
                ("llama_model_load_from_file", C.c_void_p, [C.c_char_p, ModelParams]), ("llama_model_free", None, [C.c_void_p]),
                ("llama_init_from_model", C.c_void_p, [C.c_void_p, ContextParams]), ("llama_free", None, [C.c_void_p]),
                ("llama_decode", C.c_int32, [C.c_void_p, Batch]), ("llama_batch_init", Batch, [C.c_int32] * 3),
                ("llama_batch_free", None, [Batch]), ("llama_get_memory", C.c_void_p, [C.c_void_p]),
                ("llama_memory_clear", None, [C.c_void_p, C.c_bool]), ("llama_synchronize", None, [C.c_void_p])]:
            function = getattr(lib, name)
            function.restype, function.argtypes = result, arguments
        model = lib.llama_model_default_params()
        model.gpu_layers = layers
        self.model = lib.llama_model_load_from_file(path.encode(), model)
        if not self.model:
            raise SystemExit("llama.cpp cannot load " + path)
        context = lib.llama_context_default_params()
        context.context, context.batch, context.part, context.sequences = room, 512, 512, 1
        context.threads = context.threads_batch = threads
        self.context = lib.llama_init_from_model(self.model, context)

    def run(self, tokens, start):
        batch = self.lib.llama_batch_init(len(tokens), 0, 1)
        batch.count = len(tokens)
        for i, token in enumerate(tokens):
            batch.token[i], batch.position[i], batch.sequences[i], batch.output[i] = token, start + i, 1, i == len(tokens) - 1
            batch.sequence[i][0] = 0
        code = self.lib.llama_decode(self.context, batch)
        self.lib.llama_synchronize(self.context)  # results are read after each token
        self.lib.llama_batch_free(batch)
        if code != 0:
            raise SystemExit("llama_decode returned %d" % code)

    def rates(self, tokens, generate):
        """Returns tokens a second of the prompt and of what follows."""
        self.lib.llama_memory_clear(self.lib.llama_get_memory(self.context), True)
        times = [time.perf_counter()]
        for i in range(0, len(tokens), 512):
            self.run(tokens[i:i + 512], i)
        times.append(time.perf_counter())
        for i in range(generate):
            self.run(tokens[i:i + 1], len(tokens) + i)
        times.append(time.perf_counter())
        return len(tokens) / (times[1] - times[0]), generate / (times[2] - times[1])

    def close(self):
        self.lib.llama_free(self.context)
        self.lib.llama_model_free(self.model)


def load(folder):
    """Returns the library of llama.cpp in a folder, with kernels for this processor."""
    def find(pattern):
        files = sorted(glob.glob(os.path.join(folder, pattern)))
        return [f for f in files if not re.search("-cpu|-vulkan|common", os.path.basename(f))]

    C.CDLL(find("libggml-base*.so*")[0], mode=C.RTLD_GLOBAL)
    ggml = C.CDLL([f for f in find("libggml*.so*") if "-base" not in os.path.basename(f)][0], mode=C.RTLD_GLOBAL)
    ggml.ggml_backend_load_all_from_path.argtypes = [C.c_char_p]
    ggml.ggml_backend_load_all_from_path(folder.encode())
    return C.CDLL(find("libllama*.so*")[0], mode=C.RTLD_GLOBAL)


def nacre(command, path, accuracy, threads, tokens, generate):
    said = subprocess.run([command, "generate", path, "--tokens", ",".join(map(str, tokens)), "--max-tokens", str(generate), "--greedy",
                           "--threads", str(threads), "--accuracy", accuracy], capture_output=True, text=True, check=True).stderr
    return [float(re.search(name + r":.*, ([0-9.e+]+) tokens/s", said).group(1)) for name in ("prompt", "generated")]


def on_device(a):
    """Returns the best rates of the first model on a device of llama.cpp."""
    everything = 1000  # layers
    peer = Llama(load(a.libs), a.models[0], a.threads, a.prompt + a.generate + 8, everything)
    rates = [peer.rates([100 + i for i in range(a.prompt)], a.generate) for _ in range(a.rounds)]
    peer.close()
    return [max(r) for r in zip(*rates)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--libs", required=True)
    parser.add_argument("--nacre")
    parser.add_argument("--device")
    for name, value in [("threads", 1), ("prompt", 512), ("generate", 48), ("rounds", 3)]:
        parser.add_argument("--" + name, type=int, default=value)
    parser.add_argument("--about", default="")
    parser.add_argument("--out")
    parser.add_argument("models", nargs="+")
    a = parser.parse_args()
    if a.device is not None:
        os.environ["GGML_VK_VISIBLE_DEVICES"] = a.device
        print(json.dumps(on_device(a)))
        return
    lines, load_before = [], os.getloadavg()[0]

    def say(line):
        lines.append(line)
        print(line, flush=True)

    library, tokens = load(a.libs), [100 + i for i in range(a.prompt)]
    say("%-36s %-6s %9s %9s %6s %9s %9s %6s" % ("model", "nacre", "prompt", "llama.cpp", "ratio", "generate", "llama.cpp", "ratio"))
    for path in a.models:
        peer, best = Llama(library, path, a.threads, a.prompt + a.generate + 8), {}
        for _ in range(a.rounds):
            for side in ("peer", "exact", "fast"):
                rates = peer.rates(tokens, a.generate) if side == "peer" else nacre(a.nacre, path, side, a.threads, tokens, a.generate)
                best[side] = [max(pair) for pair in zip(best.get(side, rates), rates)]
        peer.close()
        for side in ("exact", "fast"):
            cells = [v for ours, other in zip(best[side], best["peer"]) for v in (ours, other, ours / other)]
            say("%-36s %-6s %9.1f %9.1f %6.2f %9.1f %9.1f %6.2f" % (os.path.basename(path), side, *cells))
    if a.out:
        about = "%s, threads: %d, prompts of %d, %d generated, load %.1f before and %.1f after" % (
            a.about, a.threads, a.prompt, a.generate, load_before, os.getloadavg()[0])
        with open(a.out, "w") as f:
            f.write("\n".join([about.removeprefix(", ")] + lines) + "\n")


if __name__ == "__main__":
    main()
