"""Makes sound files as libsndfile writes them, and numbers of scipy's resampling.

    python oracles/speech/sounds.py speech/testdata/sounds

The Python has soundfile 0.14.0 and scipy 1.17.1. The files hold two channels: 0.5 sin 440 Hz and 0.25 sin 880 Hz.
"""

import json
import pathlib
import sys

import numpy as np
import scipy.signal
import soundfile

FILES = [
    ("pcm16.wav", 8000, 400, "WAV", "PCM_16"),
    ("pcm24.wav", 8000, 400, "WAV", "PCM_24"),
    ("pcm32.wav", 8000, 400, "WAV", "PCM_32"),
    ("u8.wav", 8000, 400, "WAV", "PCM_U8"),
    ("float.wav", 8000, 400, "WAV", "FLOAT"),
    ("double.wav", 8000, 400, "WAV", "DOUBLE"),
    ("extensible.wav", 8000, 400, "WAVEX", "PCM_16"),
    ("pcm16.flac", 8000, 400, "FLAC", "PCM_16"),
    ("pcm24.flac", 8000, 400, "FLAC", "PCM_24"),
    ("layer3.mp3", 22050, 8000, "MP3", "MPEG_LAYER_III"),
]
RATES = [(22050, 24000), (44100, 16000), (16000, 24000), (48000, 22050)]


def wave(hertz, rate, n):
    return np.sin(2 * np.pi * hertz * np.arange(n) / rate)


def main():
    to = pathlib.Path(sys.argv[1])
    for name, rate, n, container, subtype in FILES:
        channels = np.stack([0.5 * wave(440, rate, n), 0.25 * wave(880, rate, n)], axis=1)
        soundfile.write(to / name, channels, rate, format=container, subtype=subtype)
    answers = []
    for source, target in RATES:
        n = 3000
        sound = 0.4 * wave(300, source, n) + 0.3 * wave(1234.5, source, n) + 0.2 * wave(5000, source, n)
        g = np.gcd(source, target)
        out = scipy.signal.resample_poly(sound, target // g, source // g, window=("kaiser", 9.0))
        first = len(out) // 2
        answers.append(
            {"from": source, "to": target, "n": n, "first": first, "sound": [round(x, 6) for x in out[first:][:64]]}
        )
    with (to / "resampled.json").open("w") as f:
        json.dump(answers, f, separators=(",", ":"))


if __name__ == "__main__":
    main()
