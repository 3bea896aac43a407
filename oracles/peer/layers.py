"""Layers of networks, as exporters write them."""

import numpy as np


class Layers:
    """Layers of one exporter's habits, on NCHW values."""

    def __init__(self, case):
        self.c = case
        self.separate_norm = case.chance(0.5)  # or folded into the convolution
        self.rank = 2

    def weight(self, *shape, scale=None):
        c = self.c
        fan = int(np.prod(shape[1:])) if len(shape) > 1 else 1
        scale = (2 / fan) ** 0.5 if scale is None else scale
        return c.const((c.numbers(np.float32, shape) * np.float32(scale)).astype(c.float))

    def between(self, low, high, *shape):
        return self.c.const(self.c.numbers(np.float32, shape, low, high).astype(self.c.float))

    def scalar(self, v, shape=()):
        return self.c.const(np.full(shape, v, self.c.float))

    def image(self, *shape, low=-1, high=1):
        """The input of the network; its extents other than the channels may be known at run time only."""
        return self.c.input(
            self.c.numbers(np.float32, shape, low, high).astype(self.c.float), symbolic=self.c.chance(0.4)
        )

    def conv(self, x, cin, cout, k=3, stride=1, pad=None, groups=1, dilation=1, bias=None, act=None, norm=None):
        c, r = self.c, self.rank
        pad = (k - 1) * dilation // 2 if pad is None else pad
        norm = self.separate_norm if norm is None else norm
        b = self.weight(cout, scale=0.1) if (not norm if bias is None else bias) else None
        x = c.node(
            "Conv",
            x,
            self.weight(cout, cin // groups, *[k] * r),
            b,
            kernel_shape=[k] * r,
            strides=[stride] * r,
            pads=[pad] * 2 * r,
            dilations=[dilation] * r,
            group=groups,
        )
        if norm:
            x = self.norm(x, cout)
        return self.act(x, act)

    def norm(self, x, ch):
        return self.c.node(
            "BatchNormalization",
            x,
            self.between(0.7, 1.3, ch),
            self.weight(ch, scale=0.1),
            self.weight(ch, scale=0.1),
            self.between(0.5, 1.5, ch),
            epsilon=1e-5,
            momentum=0.9,
        )

    def act(self, x, kind):
        c = self.c
        if kind is None:
            return x
        if kind == "relu6":
            if c.opset < 11:
                return c.node("Clip", x, min=0.0, max=6.0)
            return c.node("Clip", x, self.scalar(0), self.scalar(6))
        if kind == "hswish":
            if c.opset >= 14 and c.chance(0.5):
                return c.node("HardSwish", x)
            t = c.node("Add", x, self.scalar(3))
            return c.node("Div", c.node("Mul", x, self.act(t, "relu6")), self.scalar(6))
        if kind == "hsigmoid":
            return c.node("HardSigmoid", x, alpha=1 / 6, beta=0.5)
        if kind == "leaky":
            return c.node("LeakyRelu", x, alpha=0.1)
        if kind == "silu":
            return c.node("Mul", x, c.node("Sigmoid", x))
        return c.node({"relu": "Relu", "sigmoid": "Sigmoid", "tanh": "Tanh", "elu": "Elu"}[kind], x)

    def pool(self, x, k=2, stride=2, pad=0, op="MaxPool", **more):
        r = self.rank
        return self.c.node(op, x, kernel_shape=[k] * r, strides=[stride] * r, pads=[pad] * 2 * r, **more)

    def flatten(self, x, features):
        """The habits for turning N, C, 1, 1 into N, C."""
        c = self.c
        way = c.int(0, 4)
        if way == 0:
            return c.node("Flatten", x, axis=1)
        if way == 1:
            return c.node("Reshape", x, c.const(np.array([0, -1])))
        if way == 2:
            return c.node("Reshape", x, c.const(np.array([-1, features])))
        n = self.extent(x, 0)
        return c.node("Reshape", x, self.concat_shape(n, -1))

    def extent(self, x, axis):
        """One extent of x as a vector of one element, computed while running."""
        c = self.c
        s = c.node("Shape", x)
        if c.chance(0.3):
            return self.slice(s, [axis], [axis + 1])
        return self.unsqueeze(c.node("Gather", s, c.const(np.array(axis)), axis=0), [0])

    def concat_shape(self, *parts):
        """A shape of computed extents and of numbers."""
        c = self.c
        return c.node("Concat", *(p if isinstance(p, str) else c.const(np.array([p])) for p in parts), axis=0)

    def unsqueeze(self, x, axes):
        return self.with_axes("Unsqueeze", x, axes)

    def squeeze(self, x, axes):
        return self.with_axes("Squeeze", x, axes)

    def with_axes(self, op, x, axes):
        if self.c.opset < 13:
            return self.c.node(op, x, axes=axes)
        return self.c.node(op, x, self.c.const(np.array(axes, np.int64)))

    def slice(self, x, starts, ends, axes=None):
        c = self.c
        axes = list(range(len(starts))) if axes is None else axes
        if c.opset < 10:
            return c.node("Slice", x, starts=starts, ends=ends, axes=axes)
        return c.node("Slice", x, *(c.const(np.array(v, np.int64)) for v in (starts, ends, axes)))

    def mean(self, x, axes, keepdims=1, op="ReduceMean"):
        c = self.c
        if c.opset < (13 if op == "ReduceSum" else 18):
            return c.node(op, x, axes=axes, keepdims=keepdims)
        return c.node(op, x, c.const(np.array(axes, np.int64)), keepdims=keepdims)

    def pad(self, x, pads, mode="constant"):
        c = self.c
        if c.opset < 11:
            return c.node("Pad", x, pads=pads, mode=mode)
        return c.node("Pad", x, c.const(np.array(pads, np.int64)), mode=mode)

    def split(self, x, sizes, axis):
        c = self.c
        if c.opset < 13:
            return c.node("Split", x, n=len(sizes), axis=axis, split=sizes)
        return c.node("Split", x, c.const(np.array(sizes, np.int64)), n=len(sizes), axis=axis)

    def linear(self, x, cin, cout, act=None):
        c = self.c
        if c.chance(0.6):
            x = c.node("Gemm", x, self.weight(cout, cin), self.weight(cout, scale=0.1), transB=1)
        else:
            x = c.node("MatMul", x, self.weight(cin, cout, scale=cin**-0.5))
            x = c.node("Add", x, self.weight(cout, scale=0.1))
        return self.act(x, act)

    def resize(self, x, scale=2, mode="nearest"):
        """Up by a factor, by one of the operators and habits of the opsets."""
        c = self.c
        scales = np.array([1, 1] + [scale] * self.rank, np.float32)
        if c.opset < 9:
            return c.node("Upsample", x, scales=scales.tolist(), mode=mode)
        if c.opset < 11:
            return c.node("Upsample" if c.opset < 10 else "Resize", x, c.const(scales), mode=mode)
        transform = "asymmetric" if mode == "nearest" else c.pick(["half_pixel", "pytorch_half_pixel", "align_corners"])
        attributes = {
            "mode": mode,
            "coordinate_transformation_mode": transform,
            "nearest_mode": "floor" if mode == "nearest" else None,
        }
        roi = c.const(np.zeros(0, np.float32)) if c.opset < 13 else None
        if c.chance(0.5):
            return c.node("Resize", x, roi, c.const(scales), **attributes)
        return c.node(
            "Resize",
            x,
            roi,
            None if c.opset >= 13 else c.const(np.zeros(0, np.float32)),
            self.sizes(x, scale),
            **attributes,
        )

    def sizes(self, x, scale):
        """Twice the extents of x, computed from its shape through floats, as tracing exporters do."""
        c = self.c
        shape = c.node("Shape", x)
        lead = self.slice(shape, [0], [2])
        rest = c.node("Cast", self.slice(shape, [2], [2 + self.rank]), to=1)
        rest = c.node("Floor", c.node("Mul", rest, c.const(np.array([scale] * self.rank, np.float32))))
        return c.node("Concat", lead, c.node("Cast", rest, to=7), axis=0)

    def head(self, x, ch, classes=10):
        """Mean over the image, a linear layer, probabilities."""
        c = self.c
        way = c.int(0, 2)
        if way == 0:
            x = self.flatten(c.node("GlobalAveragePool", x), ch)
        elif way == 1:
            x = self.mean(
                x, [-2, -1] if c.opset >= 11 and self.rank == 2 else list(range(2, 2 + self.rank)), keepdims=0
            )
        else:
            x = self.squeeze(c.node("GlobalAveragePool", x), list(range(2, 2 + self.rank)))
        x = self.linear(x, ch, classes)
        c.output(c.node(c.pick(["Softmax", "LogSoftmax"]), x, axis=1) if c.chance(0.7) else x)
