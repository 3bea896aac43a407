"""Networks that listen and speak."""

import numpy as np

import values
from made_hugging import hugging
from made_torch import net
from values import F

base = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64, "vocab_size": 20}
convs = {
    "conv_dim": [16, 16, 16],
    "conv_kernel": [10, 3, 2],
    "conv_stride": [5, 2, 2],
    "num_feat_extract_layers": 3,
    "num_conv_pos_embeddings": 8,
    "num_conv_pos_embedding_groups": 4,
}


def sound(*shapes, key="input_values"):
    def feeds(rng):
        for b, n in shapes or ((1, 1600), (2, 2400)):
            yield {key: np.stack([values.speech(rng, n) for _ in range(b)])}

    return feeds


speech = "speech"
hugging("wav2vec2", speech, "wav2vec 2.0, letters", "Wav2Vec2:Wav2Vec2ForCTC", base | convs, sound())
hugging("hubert", speech, "HuBERT", "Hubert", base | convs, sound())
hugging("wavlm", speech, "WavLM: gated distances", "WavLM", base | convs, sound())
hugging("data2vec_audio", speech, "data2vec", "Data2VecAudio", base | convs | {"conv_pos_kernel_size": 5}, sound())
hugging(
    "sew", speech, "SEW: squeezed", "SEW:SEWForCTC", base | convs | {"squeeze_factor": 2}, sound((1, 1600), (2, 1600))
)
hugging(
    "ast",
    speech,
    "audio spectrogram transformer",
    "AST:ASTForAudioClassification",
    base | {"max_length": 64, "num_mel_bins": 32},
    lambda rng: ({"input_values": values.bands(rng, b, 32, 64).transpose(0, 2, 1)} for b in (1, 2)),
)
whisper = {
    "vocab_size": 96,
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "num_mel_bins": 16,
    "max_source_positions": 50,
    "max_target_positions": 32,
    "init_std": 0.1,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 3,
}


def heard(rng):
    for b, n in ((1, 4), (2, 7)):
        yield {"input_features": values.bands(rng, b, 16, 100), "decoder_input_ids": values.tokens(rng, 96, b, n)}


def logits(module, decoder_input_ids, **inputs):
    mask = decoder_input_ids * 0 + 1
    return module(
        decoder_input_ids=decoder_input_ids, decoder_attention_mask=mask, **inputs, use_cache=False, return_dict=True
    ).logits


hugging(
    "whisper", speech, "Whisper, both halves", "Whisper:WhisperForConditionalGeneration", whisper, heard, call=logits
)
hugging(
    "whisper_encoder",
    speech,
    "Whisper, the half that listens",
    "Whisper",
    whisper,
    lambda rng: ({"input_features": values.bands(rng, b, 16, 100)} for b in (1, 2)),
    call=lambda m, input_features: m.encoder(input_features, return_dict=True),
)
hugging(
    "speech_to_text",
    speech,
    "Speech2Text",
    "Speech2Text:Speech2TextForConditionalGeneration",
    {k: v for k, v in whisper.items() if k != "num_mel_bins"}
    | {"input_feat_per_channel": 16, "conv_channels": 32, "max_source_positions": 100},
    lambda rng: (
        {
            "input_features": values.bands(rng, b, 16, 64).transpose(0, 2, 1),
            "decoder_input_ids": values.tokens(rng, 96, b, 5),
        }
        for b in (1, 2)
    ),
    call=logits,
)
hugging(
    "encodec",
    speech,
    "EnCodec: sound into codes, LSTM",
    "Encodec",
    {
        "num_filters": 4,
        "hidden_size": 16,
        "codebook_size": 32,
        "codebook_dim": 16,
        "upsampling_ratios": [4, 2],
        "target_bandwidths": [6.0],
        "sampling_rate": 16000,
        "num_lstm_layers": 1,
    },
    sound((1, 1600)),
    call=lambda m, input_values: m.decoder(m.encoder(input_values[:, None])),
)
hugging(
    "hifigan",
    speech,
    "HiFi-GAN: bands into sound",
    "SpeechT5HifiGan:SpeechT5HifiGan",
    {
        "model_in_dim": 16,
        "upsample_initial_channel": 32,
        "upsample_rates": [4, 2],
        "upsample_kernel_sizes": [8, 4],
        "resblock_kernel_sizes": [3, 5],
        "resblock_dilation_sizes": [[1, 3], [1, 3]],
    },
    lambda rng: ({"spectrogram": values.bands(rng, b, 16, n).transpose(0, 2, 1)} for b, n in ((1, 20), (2, 33))),
    call=lambda m, spectrogram: m(spectrogram),
)
hugging(
    "vits",
    speech,
    "VITS, text to sound: flows",
    "Vits",
    {
        "vocab_size": 30,
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "ffn_dim": 48,
        "flow_size": 32,
        "spectrogram_bins": 33,
        "upsample_initial_channel": 32,
        "upsample_rates": [4, 2],
        "upsample_kernel_sizes": [8, 4],
        "resblock_kernel_sizes": [3],
        "resblock_dilation_sizes": [[1, 3]],
        "prior_encoder_num_wavenet_layers": 2,
        "noise_scale": 0.0,
        "noise_scale_duration": 0.0,
        "duration_predictor_num_flows": 2,
        "depth_separable_num_layers": 2,
        "use_stochastic_duration_prediction": False,
    },
    lambda rng: ({"input_ids": values.tokens(rng, 30, 1, n)} for n in (12, 19)),
    call=lambda m, input_ids: m(input_ids).waveform,
)


def rnn(name, what, make, feeds, **settings):
    net(name, "recurrent and streaming", what, "torch", make, feeds, **settings)


def frames(states, bins, steps=4, batch=1):
    """Frames one after the other, with the state that came back; states are name and shape."""

    def feeds(rng):
        state = {n: np.zeros(s, F) for n, s in states.items()}
        for _ in range(steps):
            answers = yield {"frame": values.normal(rng, batch, 1, bins)} | state
            if answers is not None:
                state = dict(zip(state, list(answers.values())[1:]))

    return feeds


def torch_class(make):
    """A module of torch from a function that is given torch.nn and returns layers and a forward function."""

    def build():
        import torch

        layers, run = make(torch)

        class Network(torch.nn.Module):
            def __init__(self):
                super().__init__()
                for k, v in layers.items():
                    setattr(self, k, v)

            def forward(self, *x):
                return run(self, *x)

        return Network()

    return build


@torch_class
def dtln(torch):
    """Two LSTM masks one after the other, the first over magnitudes, the second over learned features."""
    nn = torch.nn
    layers = {
        "a": nn.LSTM(65, 32, 2, batch_first=True),
        "am": nn.Linear(32, 65),
        "enc": nn.Conv1d(65, 48, 1),
        "norm": nn.LayerNorm(48),
    }
    layers |= {"b": nn.LSTM(48, 32, 2, batch_first=True), "bm": nn.Linear(32, 48), "dec": nn.Conv1d(48, 65, 1)}

    def run(m, x, ha, ca, hb, cb):
        y, (ha, ca) = m.a(x, (ha, ca))
        z = m.enc((x * torch.sigmoid(m.am(y))).transpose(1, 2)).transpose(1, 2)
        y, (hb, cb) = m.b(m.norm(z), (hb, cb))
        return m.dec((z * torch.sigmoid(m.bm(y))).transpose(1, 2)), ha, ca, hb, cb

    return layers, run


rnn(
    "dtln",
    "noise suppression as DTLN does it: two LSTM masks",
    dtln,
    frames({n: (2, 1, 32) for n in ("ha", "ca", "hb", "cb")}, 65),
)


@torch_class
def gtcrn(torch):
    """Convolutions over bands, grouped GRU over bands and over time, transposed convolutions back; state of the GRU."""
    nn = torch.nn
    layers = {
        "c1": nn.Conv2d(3, 8, (1, 5), (1, 2), (0, 2)),
        "b1": nn.BatchNorm2d(8),
        "p1": nn.PReLU(),
        "c2": nn.Conv2d(8, 8, (1, 3), (1, 2), (0, 1), groups=2),
    }
    layers |= {
        "intra": nn.GRU(8, 4, bidirectional=True, batch_first=True),
        "inter": nn.GRU(8, 8, batch_first=True),
        "n": nn.LayerNorm((17, 8)),
    }
    layers |= {
        "d2": nn.ConvTranspose2d(8, 8, (1, 3), (1, 2), (0, 1), groups=2),
        "d1": nn.ConvTranspose2d(8, 2, (1, 5), (1, 2), (0, 2)),
    }

    def run(m, x, h):
        re, im = x[:, None, :, :65], x[:, None, :, 65:]
        f = torch.cat([torch.sqrt(re**2 + im**2 + 1e-12), re, im], 1)
        e1 = m.p1(m.b1(m.c1(f)))
        e2 = torch.tanh(m.c2(e1))
        b, c, t, w = e2.shape
        z = e2.permute(0, 2, 3, 1)
        z = z + m.n(m.intra(z.reshape(b * t, w, c))[0].reshape(b, t, w, c))
        y, h = m.inter(z.permute(0, 2, 1, 3).reshape(b * w, t, c), h)
        z = z + m.n(y.reshape(b, w, t, c).permute(0, 2, 1, 3))
        mask = torch.tanh(m.d1(torch.relu(m.d2(z.permute(0, 3, 1, 2) + e2)) + e1))
        return torch.cat([re * mask[:, :1] - im * mask[:, 1:], re * mask[:, 1:] + im * mask[:, :1]], 1), h

    return layers, run


rnn("gtcrn", "noise suppression as GTCRN does it: GRU over bands and time", gtcrn, frames({"h": (1, 17, 8)}, 130))


@torch_class
def rnnoise(torch):
    nn = torch.nn
    layers = {
        "d": nn.Linear(42, 24),
        "v": nn.GRU(24, 24, batch_first=True),
        "n": nn.GRU(90, 48, batch_first=True),
        "s": nn.GRU(114, 96, batch_first=True),
        "g": nn.Linear(96, 22),
        "p": nn.Linear(24, 1),
    }

    def run(m, x, hv, hn, hs):
        d = torch.tanh(m.d(x))
        v, hv = m.v(d, hv)
        n, hn = m.n(torch.cat([d, v, x], 2), hn)
        s, hs = m.s(torch.cat([v, n, x], 2), hs)
        return torch.sigmoid(m.g(s)), hv, hn, hs, torch.sigmoid(m.p(v))

    return layers, run


rnn(
    "rnnoise",
    "noise suppression as RNNoise does it: three GRU",
    rnnoise,
    frames({"hv": (1, 1, 24), "hn": (1, 1, 48), "hs": (1, 1, 96)}, 42),
)


@torch_class
def crnn(torch):
    nn = torch.nn
    layers = {
        "c": nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.MaxPool2d((2, 1)),
            nn.AvgPool2d((8, 1)),
        )
    }
    layers |= {"r": nn.LSTM(32, 24, 2, bidirectional=True), "o": nn.Linear(48, 30)}

    def run(m, x):
        y, _ = m.r(m.c(x)[:, :, 0].permute(2, 0, 1))
        return torch.log_softmax(m.o(y), 2)

    return layers, run


rnn(
    "crnn",
    "text recognition as CRNN does it: convolutions, two-way LSTM",
    crnn,
    lambda rng: ({"line": values.written(rng, 32, w)[:1][None].repeat(b, 0)} for b, w in ((1, 100), (2, 76))),
)


@torch_class
def recurrent(torch):
    nn = torch.nn
    layers = {
        "r": nn.RNN(8, 12, 2, nonlinearity="relu"),
        "t": nn.RNN(12, 12, bidirectional=True),
        "g": nn.GRU(24, 12, 2, bidirectional=True),
        "l": nn.LSTM(24, 12, proj_size=0),
    }

    def run(m, x):
        y, _ = m.r(x)
        y, _ = m.t(y)
        y, _ = m.g(y)
        return m.l(y)

    return layers, run


rnn(
    "recurrent",
    "RNN, GRU and LSTM one over the other",
    recurrent,
    lambda rng: ({"x": values.normal(rng, t, b, 8)} for t, b in ((9, 2), (5, 3))),
)


@torch_class
def keyword(torch):
    nn = torch.nn

    def depthwise(n):
        return nn.Sequential(
            nn.Conv2d(n, n, 3, padding=1, groups=n),
            nn.BatchNorm2d(n),
            nn.ReLU(),
            nn.Conv2d(n, n, 1),
            nn.BatchNorm2d(n),
            nn.ReLU(),
        )

    layers = {
        "c": nn.Sequential(
            nn.Conv2d(1, 32, (10, 4), 2, (5, 1)),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            depthwise(32),
            depthwise(32),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(32, 12),
        )
    }
    return layers, lambda m, x: m.c(x)


def bands(rng):
    for b in (1, 3):
        yield {"bands": values.bands(rng, b, 10, 49).transpose(0, 2, 1)[:, None]}


rnn("keyword", "keyword spotting: depthwise convolutions", keyword, bands)
