#!/usr/bin/env python3
"""Trains digits.onnx, the network of nacre demo, with numpy alone.

Data: sklearn.datasets.load_digits, 1797 handwritten digits of 8x8 counts from
0 to 16, of which a fifth is held back. The network is
Conv3x3(16)-Relu-Conv3x3(32)-Relu-MaxPool2-Gemm(64)-Relu-Gemm(10)-Softmax.
Needs numpy, scikit-learn and onnx. The same seed gives the same network on one
machine; sums in another order may differ in the last digits elsewhere.
"""
import argparse
import pathlib

import numpy as np
import onnx
from numpy.lib.stride_tricks import sliding_window_view
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import draw

SEED = 7
EPOCHS = 60
BATCH = 64
RATE = 2e-3


def windows(x):
    """The 3x3 neighbourhood of every pixel: [N,C,H,W] -> [N,H,W,C*9]."""
    n, c, h, w = x.shape
    p = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    v = sliding_window_view(p, (3, 3), axis=(2, 3))  # N,C,H,W,3,3
    return v.transpose(0, 2, 3, 1, 4, 5).reshape(n, h, w, c * 9)


class Conv:
    def __init__(self, rng, c, m):
        self.w = rng.normal(0, np.sqrt(2 / (c * 9)), (m, c, 3, 3)).astype(np.float32)
        self.b = np.zeros(m, np.float32)

    def forward(self, x):
        self.cols = windows(x)
        y = self.cols @ self.w.reshape(len(self.b), -1).T + self.b
        return y.transpose(0, 3, 1, 2)

    def backward(self, dy):
        m = len(self.b)
        flat = dy.transpose(0, 2, 3, 1).reshape(-1, m)
        self.dw = (flat.T @ self.cols.reshape(len(flat), -1)).reshape(self.w.shape)
        self.db = flat.sum(0)
        # The gradient of the input is a convolution with the kernel turned around.
        turned = self.w[:, :, ::-1, ::-1].transpose(1, 0, 2, 3)
        return (windows(dy) @ turned.reshape(turned.shape[0], -1).T).transpose(0, 3, 1, 2)


class Dense:
    def __init__(self, rng, k, n):
        self.w = rng.normal(0, np.sqrt(2 / k), (n, k)).astype(np.float32)
        self.b = np.zeros(n, np.float32)

    def forward(self, x):
        self.x = x
        return x @ self.w.T + self.b

    def backward(self, dy):
        self.dw, self.db = dy.T @ self.x, dy.sum(0)
        return dy @ self.w


class Relu:
    def forward(self, x):
        self.on = x > 0
        return x * self.on

    def backward(self, dy):
        return dy * self.on


class Pool:
    def forward(self, x):
        n, c, h, w = x.shape
        v = x.reshape(n, c, h // 2, 2, w // 2, 2)
        y = v.max((3, 5), keepdims=True)
        self.at = v == y
        self.at = self.at / self.at.sum((3, 5), keepdims=True)
        return y[:, :, :, 0, :, 0]

    def backward(self, dy):
        n, c, h, w = dy.shape
        return (self.at * dy[:, :, :, None, :, None]).reshape(n, c, 2 * h, 2 * w).astype(np.float32)


class Flatten:
    def forward(self, x):
        self.shape = x.shape
        return x.reshape(len(x), -1)

    def backward(self, dy):
        return dy.reshape(self.shape)


class Network:
    def __init__(self, rng):
        self.conv1, self.conv2 = Conv(rng, 1, 16), Conv(rng, 16, 32)
        self.fc1, self.fc2 = Dense(rng, 512, 64), Dense(rng, 64, 10)
        self.layers = [self.conv1, Relu(), self.conv2, Relu(), Pool(), Flatten(), self.fc1, Relu(), self.fc2]
        self.learned = [self.conv1, self.conv2, self.fc1, self.fc2]
        self.moments = [[np.zeros_like(p) for p in (l.w, l.w, l.b, l.b)] for l in self.learned]
        self.steps = 0

    def forward(self, x):
        for layer in self.layers:
            x = layer.forward(x)
        return x

    def learn(self, x, y, rate):
        """One step of Adam with decay of the weights."""
        z = self.forward(x)
        p = np.exp(z - z.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        p[np.arange(len(y)), y] -= 1
        d = p / len(y)
        for layer in reversed(self.layers):
            d = layer.backward(d)
        self.steps += 1
        fix1, fix2 = 1 - 0.9**self.steps, 1 - 0.999**self.steps
        for layer, (mw, vw, mb, vb) in zip(self.learned, self.moments):
            for par, grad, m, v in ((layer.w, layer.dw, mw, vw), (layer.b, layer.db, mb, vb)):
                m += 0.1 * (grad - m)
                v += 0.001 * (grad * grad - v)
                par -= rate * (m / fix1 / (np.sqrt(v / fix2) + 1e-8) + (1e-3 * par if par.ndim > 1 else 0))


def resample(x, shift, angle, scale, slant):
    """Each picture of [N,8,8] moved, turned, scaled and slanted, bilinear."""
    n = len(x)
    c = np.arange(8) - 3.5
    gy, gx = np.meshgrid(c, c, indexing="ij")
    gx, gy = gx[None] - shift[:, 0, None, None], gy[None] - shift[:, 1, None, None]
    cos, sin = np.cos(angle)[:, None, None], np.sin(angle)[:, None, None]
    sx = (cos * gx + sin * gy) / scale[:, 0, None, None] + slant[:, None, None] * gy + 3.5
    sy = (cos * gy - sin * gx) / scale[:, 1, None, None] + 3.5
    p = np.pad(x, ((0, 0), (2, 2), (2, 2)))
    sx, sy = np.clip(sx + 2, 0, 10.999), np.clip(sy + 2, 0, 10.999)
    ix, iy = sx.astype(int), sy.astype(int)
    fx, fy = sx - ix, sy - iy
    i = np.arange(n)[:, None, None]
    return (p[i, iy, ix] * (1 - fx) * (1 - fy) + p[i, iy, ix + 1] * fx * (1 - fy)
            + p[i, iy + 1, ix] * (1 - fx) * fy + p[i, iy + 1, ix + 1] * fx * fy)


def vary(x, rng):
    """Another hand: shifts, small turns, sizes, slants and thicker or thinner strokes."""
    n = len(x)
    y = resample(x, rng.uniform(-0.8, 0.8, (n, 2)), rng.uniform(-0.2, 0.2, n),
                 rng.uniform(0.85, 1.15, (n, 2)), rng.uniform(-0.2, 0.2, n))
    wide = np.max(sliding_window_view(np.pad(y, ((0, 0), (1, 1), (1, 1))), (3, 3), axis=(1, 2)), (3, 4))
    mix = rng.uniform(0, 0.35, (n, 1, 1)) * rng.integers(0, 2, (n, 1, 1))
    y = y + mix * (wide - y)
    y = y ** rng.uniform(0.7, 1.4, (n, 1, 1)) * rng.uniform(0.85, 1.25, (n, 1, 1))
    keep = rng.random((n, 1, 1)) < 0.15
    return np.clip(np.where(keep, x, y), 0, 1).astype(np.float32)


def counts(grey):
    """The 8x8 counts of a picture, as load_digits has them: the square around
    the ink as a 32x32 bitmap, and of each 4x4 block the number of dots."""
    rows, cols = np.nonzero((grey > 127).any(1))[0], np.nonzero((grey > 127).any(0))[0]
    top, left = rows[0], cols[0]
    h, w = rows[-1] + 1 - top, cols[-1] + 1 - left
    side = max(h, w)
    c = (2 * np.arange(32) + 1) * side // 64
    y, x = c + top - (side - h) // 2, c + left - (side - w) // 2
    ok = (y >= 0)[:, None] & (y < len(grey))[:, None] & (x >= 0) & (x < grey.shape[1])
    dots = ok & (grey[np.clip(y, 0, len(grey) - 1)][:, np.clip(x, 0, grey.shape[1] - 1)] > 127)
    return dots.reshape(8, 4, 8, 4).sum((1, 3)).astype(np.float32)


def export(net, file):
    """Writes the network; the scale of the training inputs moves into the first weights."""
    def const(name, a):
        return numpy_helper.from_array(np.ascontiguousarray(a, np.float32), name)

    weights = [
        const("conv1.weight", net.conv1.w / 16), const("conv1.bias", net.conv1.b),
        const("conv2.weight", net.conv2.w), const("conv2.bias", net.conv2.b),
        const("fc1.weight", net.fc1.w), const("fc1.bias", net.fc1.b),
        const("fc2.weight", net.fc2.w), const("fc2.bias", net.fc2.b),
    ]
    same = dict(kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    nodes = [
        helper.make_node("Conv", ["image", "conv1.weight", "conv1.bias"], ["conv1"], "conv1", **same),
        helper.make_node("Relu", ["conv1"], ["relu1"], "relu1"),
        helper.make_node("Conv", ["relu1", "conv2.weight", "conv2.bias"], ["conv2"], "conv2", **same),
        helper.make_node("Relu", ["conv2"], ["relu2"], "relu2"),
        helper.make_node("MaxPool", ["relu2"], ["pool"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Flatten", ["pool"], ["flat"], "flatten", axis=1),
        helper.make_node("Gemm", ["flat", "fc1.weight", "fc1.bias"], ["fc1"], "fc1", transB=1),
        helper.make_node("Relu", ["fc1"], ["relu3"], "relu3"),
        helper.make_node("Gemm", ["relu3", "fc2.weight", "fc2.bias"], ["fc2"], "fc2", transB=1),
        helper.make_node("Softmax", ["fc2"], ["probabilities"], "softmax", axis=-1),
    ]
    graph = helper.make_graph(
        nodes, "digits",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 1, 8, 8])],
        [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["batch", 10])],
        weights)
    model = helper.make_model(graph, producer_name="nacre demo", ir_version=8,
                              opset_imports=[helper.make_opsetid("", 17)],
                              doc_string="Handwritten digits: 8x8 counts of ink from 0 to 16.")
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, file)


def main():
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--held", metavar="DIR", help="only write the digits held back, image.npy and answer.npy")
    args = args.parse_args()
    here = pathlib.Path(__file__).parent
    rng = np.random.default_rng(SEED)
    data = load_digits()
    x, y = (data.images / 16).astype(np.float32), data.target
    x, held, y, answers = train_test_split(x, y, test_size=0.2, random_state=SEED, stratify=y)
    if args.held:
        np.save(pathlib.Path(args.held) / "image.npy", held[:, None] * 16)
        np.save(pathlib.Path(args.held) / "answer.npy", answers)
        return
    net = Network(rng)
    for epoch in range(EPOCHS):
        order = rng.permutation(len(x))
        rate = RATE * (1 + np.cos(np.pi * epoch / EPOCHS)) / 2
        for i in range(0, len(x), BATCH):
            at = order[i:i + BATCH]
            net.learn(vary(x[at], rng)[:, None], y[at], rate)
    right = net.forward(held[:, None]).argmax(1) == answers
    print(f"held back: {right.sum()} of {len(right)} right ({100 * right.mean():.2f} %)")
    drawn = list(draw.pictures())
    got = net.forward(np.stack([counts(g) for _, _, g in drawn])[:, None] / 16).argmax(1)
    wrong = [name for (name, digit, _), g in zip(drawn, got) if g != digit]
    print(f"drawn pictures: {len(drawn) - len(wrong)} of {len(drawn)} right", *wrong)
    export(net, here / "digits.onnx")


if __name__ == "__main__":
    main()
