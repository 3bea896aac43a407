"""Calls llama.cpp 0.5.0, as the package @node-llama-cpp/linux-x64 3.22.1 has it, through its C interface."""

import contextlib
import ctypes
import glob
import os
from ctypes import POINTER, c_bool, c_char_p, c_float, c_int8, c_int32, c_size_t, c_uint32, c_void_p


def structure(name, fields):
    """Returns a structure whose fields are pairs of a type and names."""
    rows = [(n, kind) for kind, names in fields for n in names.split()]
    return type(name, (ctypes.Structure,), {"_fields_": rows})


ModelParams = structure(
    "ModelParams",
    [
        (c_void_p, "devices buffer_types"),
        (c_int32, "gpu_layers split_mode load_mode lazy_mode main_gpu"),
        (c_void_p, "tensor_split progress progress_data overrides"),
        (c_bool, "vocab_only check_tensors extra_buffers no_host no_alloc load_mtp"),
    ],
)
ContextParams = structure(
    "ContextParams",
    [
        (c_uint32, "window batch micro_batch sequences rs_sequences outputs outputs_per_sequence"),
        (c_int32, "threads batch_threads kind rope_scaling pooling attention flash"),
        (c_float, "rope_base rope_scale yarn_extension yarn_attention yarn_fast yarn_slow"),
        (c_uint32, "yarn_original"),
        (c_float, "defragment"),
        (c_void_p, "callback callback_data"),
        (c_int32, "key_type value_type"),
        (c_void_p, "abort abort_data"),
        (c_bool, "embeddings offload no_timing offload_ops full_windows unified"),
        (c_void_p, "samplers"),
        (c_size_t, "sampler_count"),
        (c_void_p, "other"),
    ],
)
QuantizeParams = structure(
    "QuantizeParams",
    [
        (c_int32, "threads file_type output_type embedding_type"),
        (c_bool, "requantise quantise_output only_copy pure keep_split dry_run"),
        (c_void_p, "importance overrides type_overrides prune"),
        (c_size_t, "most"),
    ],
)
Batch = structure(
    "Batch",
    [
        (c_int32, "count"),
        (POINTER(c_int32), "tokens"),
        (c_void_p, "embeddings"),
        (POINTER(c_int32), "positions sequence_counts"),
        (POINTER(POINTER(c_int32)), "sequences"),
        (POINTER(c_int8), "logits"),
    ],
)
LOG = ctypes.CFUNCTYPE(None, ctypes.c_int, c_char_p, c_void_p)
FUNCTIONS = {
    "llama_backend_init": (None, []),
    "llama_model_default_params": (ModelParams, []),
    "llama_context_default_params": (ContextParams, []),
    "llama_model_quantize_default_params": (QuantizeParams, []),
    "llama_model_quantize": (c_uint32, [c_char_p, c_char_p, POINTER(QuantizeParams)]),
    "llama_model_load_from_file": (c_void_p, [c_char_p, ModelParams]),
    "llama_model_free": (None, [c_void_p]),
    "llama_init_from_model": (c_void_p, [c_void_p, ContextParams]),
    "llama_free": (None, [c_void_p]),
    "llama_model_get_vocab": (c_void_p, [c_void_p]),
    "llama_vocab_n_tokens": (c_int32, [c_void_p]),
    "llama_tokenize": (c_int32, [c_void_p, c_char_p, c_int32, POINTER(c_int32), c_int32, c_bool, c_bool]),
    "llama_token_to_piece": (c_int32, [c_void_p, c_int32, c_char_p, c_int32, c_int32, c_bool]),
    "llama_batch_init": (Batch, [c_int32, c_int32, c_int32]),
    "llama_batch_free": (None, [Batch]),
    "llama_decode": (c_int32, [c_void_p, Batch]),
    "llama_get_logits_ith": (POINTER(c_float), [c_void_p, c_int32]),
}


class Llama:
    """The shared libraries in a folder."""

    def __init__(self, folder):
        def library(pattern, without=" "):
            (path,) = [p for p in sorted(glob.glob(os.path.join(folder, pattern))) if without not in p][:1]
            return ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)

        base = library("libggml-base*.so*")
        kernels = library("libggml.*so*")
        self.c = library("libllama.*so*")
        self.quiet = LOG(lambda *_: None)
        self.c.llama_log_set(self.quiet, None)
        base.ggml_log_set(self.quiet, None)
        kernels.ggml_backend_load_all_from_path(folder.encode())
        for name, (result, arguments) in FUNCTIONS.items():
            f = getattr(self.c, name)
            f.restype, f.argtypes = result, arguments

    def decode(self, file, to):
        """Writes the file with all weights as float32."""
        p = self.c.llama_model_quantize_default_params()
        p.file_type, p.requantise = 0, True
        if self.c.llama_model_quantize(file.encode(), to.encode(), p) != 0:
            raise RuntimeError(f"{file}: cannot be decoded")

    @contextlib.contextmanager
    def model(self, file):
        p = self.c.llama_model_default_params()
        p.gpu_layers = 0
        handle = self.c.llama_model_load_from_file(file.encode(), p)
        if not handle:
            raise RuntimeError(f"{file}: cannot be opened")
        yield Model(self.c, handle)
        self.c.llama_model_free(handle)


class Model:
    def __init__(self, c, handle):
        self.c, self.handle = c, handle
        self.vocabulary = c.llama_model_get_vocab(handle)
        self.size = c.llama_vocab_n_tokens(self.vocabulary)

    def tokens(self, text):
        """Returns the tokens of a text with those that begin it; special tokens in the text are text."""
        data = text.encode()
        ids = (c_int32 * (len(data) + 16))()
        n = self.c.llama_tokenize(self.vocabulary, data, len(data), ids, len(ids), True, False)
        return list(ids[:n])

    def text(self, tokens):
        data, piece = b"", ctypes.create_string_buffer(512)
        for token in tokens:
            n = self.c.llama_token_to_piece(self.vocabulary, token, piece, len(piece), 0, False)
            data += piece.raw[:n]
        return data.decode(errors="replace")

    @contextlib.contextmanager
    def context(self):
        """Yields a function that takes the next tokens and returns the logits of the last.

        The cache holds float32, attention is computed in parts, and there is one thread.
        """
        p = self.c.llama_context_default_params()
        p.window = p.batch = p.micro_batch = 512
        p.sequences = p.threads = p.batch_threads = 1
        p.flash = p.key_type = p.value_type = 0
        p.no_timing = True
        handle, position = self.c.llama_init_from_model(self.handle, p), 0

        def run(tokens):
            nonlocal position
            b = self.c.llama_batch_init(len(tokens), 0, 1)
            b.count = len(tokens)
            for i, token in enumerate(tokens):
                b.tokens[i], b.positions[i], b.sequence_counts[i], b.logits[i] = token, position + i, 1, 0
                b.sequences[i][0] = 0
            b.logits[len(tokens) - 1] = 1
            code = self.c.llama_decode(handle, b)
            self.c.llama_batch_free(b)
            if code != 0:
                raise RuntimeError(f"llama.cpp returned {code}")
            position += len(tokens)
            return self.c.llama_get_logits_ith(handle, -1)[: self.size]

        yield run
        self.c.llama_free(handle)
