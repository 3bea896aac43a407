"""Networks of one-dimensional signals."""

from generators import network
from layers import Layers


@network
def vocoder(c):
    """Reflected borders, dilated residuals, transposed convolutions."""
    f = Layers(c)
    f.rank, f.separate_norm, ch = 1, False, c.pick([4, 8, 12])
    x = f.image(c.pick([1, 2]), 5, c.int(8, 20))
    x = f.conv(f.pad(x, [0, 0, 3, 0, 0, 3], "reflect"), 5, ch, k=7, pad=0)
    for _ in range(c.int(1, 2)):
        s = c.pick([2, 3, 4])
        x = c.node("LeakyRelu", x, alpha=0.2)
        x = c.node(
            "ConvTranspose",
            x,
            f.weight(ch, ch, 2 * s, scale=(0.5 / ch) ** 0.5),
            f.weight(ch, scale=0.1),
            kernel_shape=[2 * s],
            strides=[s],
            pads=[(s + 1) // 2, s // 2],
            output_padding=[s % 2] if c.chance(0.3) else None,
        )
        total = None
        for d in (1, 3):
            y = f.conv(c.node("LeakyRelu", x, alpha=0.1), ch, ch, dilation=d)
            y = f.conv(c.node("LeakyRelu", y, alpha=0.1), ch, ch, k=1)
            total = c.node("Add", x, y) if total is None else c.node("Add", total, y)
        x = c.node("Div", total, f.scalar(2))
    c.output(c.node("Tanh", f.conv(x, ch, 1, k=7)))


@network
def enhancer(c):
    """Instance normalisation, PRelu with a slope per channel, a mask that multiplies, depthwise and gated layers."""
    f = Layers(c)
    f.rank, f.separate_norm, ch = 1, False, c.pick([4, 6])
    x = f.image(c.pick([1, 2]), 1, c.int(40, 90))
    e = c.node("Relu", f.conv(x, 1, ch, k=4, stride=2, pad=1))
    y = c.node("InstanceNormalization", e, f.between(0.7, 1.3, ch), f.weight(ch, scale=0.1), epsilon=1e-3)
    for d in (1, 2, 4)[: c.int(1, 3)]:
        z = c.node("PRelu", f.conv(y, ch, ch, k=1), f.between(0.1, 0.4, *c.pick([(ch, 1), (1, 1), (1,), (1, ch, 1)])))
        z = c.node("InstanceNormalization", z, f.between(0.7, 1.3, ch), f.weight(ch, scale=0.1), epsilon=1e-3)
        z = f.conv(z, ch, ch, k=3, dilation=d, groups=ch)
        gate = c.node("Sigmoid", f.conv(z, ch, ch, k=1))
        y = c.node("Add", y, c.node("Mul", c.node("Tanh", z), gate))
    y = c.node("Mul", e, f.conv(y, ch, ch, k=1, act="sigmoid"))
    c.output(c.node("ConvTranspose", y, f.weight(ch, 1, 4), kernel_shape=[4], strides=[2], pads=[1, 1]))


@network
def keyword(c):
    """Time as an image of one row: Unsqueeze, 2-D layers, Squeeze, as frameworks without 1-D layers write it."""
    f = Layers(c)
    f.separate_norm, ch = c.chance(0.5), 6
    x = f.unsqueeze(f.image(c.pick([1, 2]), c.int(20, 40), 8), [1])
    x = c.node("Conv", x, f.weight(ch, 1, 3, 8, scale=0.3), kernel_shape=[3, 8], pads=[1, 0, 1, 0])
    x = c.node("Transpose", f.act(x, "relu"), perm=[0, 1, 3, 2])
    for _ in range(2):
        y = c.node("Conv", x, f.weight(ch, 1, 1, 9), kernel_shape=[1, 9], pads=[0, 4, 0, 4], group=ch)
        y = f.act(f.norm(y, ch), "relu")
        x = c.node("Add", c.node("Conv", y, f.weight(ch, ch, 1, 1), kernel_shape=[1, 1]), x)
    x = f.squeeze(x, [2])
    x = f.mean(x, [2], keepdims=0, op=c.pick(["ReduceMean", "ReduceMax"]))
    c.output(c.node("LogSoftmax", f.linear(x, ch, 4), axis=1))


@network
def spectrum(c):
    """A transform as a convolution with a large stride, magnitudes, logarithms, normalisation over time."""
    f = Layers(c)
    f.rank, bins = 1, c.pick([9, 17])
    wave = f.image(c.pick([1, 2]), c.int(100, 200))
    x = f.unsqueeze(wave, [1])
    x = f.conv(x, 1, 2 * bins, k=32, stride=16, pad=0, bias=False, norm=False)
    real, imaginary = f.split(x, [bins, bins], 1)
    power = c.node("Add", c.node("Mul", real, real), c.node("Pow", imaginary, f.scalar(2)))
    mel = c.node("MatMul", c.node("Transpose", power, perm=[0, 2, 1]), f.between(0, 1, bins, 6))
    x = c.node("Log", c.node("Add", mel, f.scalar(0.3)))
    centred = c.node("Sub", x, f.mean(x, [1]))
    deviation = c.node("Sqrt", c.node("Add", f.mean(c.node("Mul", centred, centred), [1]), f.scalar(0.3)))
    c.output(c.node("Div", centred, deviation))
    c.output(c.node("Max", c.node("Sub", x, f.scalar(1)), f.scalar(-2)) if c.opset >= 8 else x)
