"""Networks of images, as exporters write them."""

import numpy as np

from generators import network
from layers import Layers


def batch(c):
    return c.pick([1, 1, 2, 3])


@network
def unet(c):
    """Down, up, and joined on the way: with ConvTranspose or with Resize."""
    f = Layers(c)
    act, ch = c.pick(["relu", "leaky", "elu", "silu"]), c.pick([4, 6, 8])
    x = f.image(batch(c), 3, *(8 * c.int(1, 4) for _ in range(2)))
    x = f.conv(x, 3, ch, act=act)
    skips = []
    for _ in range(c.int(1, 3)):
        skips.append((x, ch))
        x = f.pool(x) if c.chance(0.5) else f.conv(x, ch, ch, stride=2, act=act)
        x = f.conv(x, ch, 2 * ch, act=act)
        ch *= 2
    transposed, mode = c.chance(0.5), c.pick(["nearest", "linear"])
    for skip, n in reversed(skips):
        if transposed:
            k = c.pick([2, 4])
            x = c.node(
                "ConvTranspose",
                x,
                f.weight(ch, n, k, k, scale=(1 / ch / k) ** 0.5),
                f.weight(n, scale=0.1),
                kernel_shape=[k, k],
                strides=[2, 2],
                pads=[(k - 2) // 2] * 4,
            )
        else:
            x = f.conv(f.resize(x, mode=mode), ch, n, act=act)
        x = f.conv(c.node("Concat", skip, x, axis=1), 2 * n, n, act=act)
        ch = n
    c.output(f.conv(x, ch, 2, k=1, act=c.pick([None, "sigmoid"]), norm=False))
    if c.chance(0.3):
        c.output(skips[0][0])


@network
def detector(c):
    """Boxes and scores from several scales: transposed, reshaped by computed shapes, joined, decoded."""
    f = Layers(c)
    x = f.image(batch(c), 3, 16 * c.int(2, 4), 16 * c.int(2, 4), low=0, high=255)
    x = c.node("Div", c.node("Sub", x, f.scalar(127)), f.scalar(128))
    ch, boxes, scores, classes = 8, [], [], c.int(2, 4)
    x = f.conv(x, 3, ch, stride=2, act="relu")
    for _ in range(c.int(2, 3)):
        x = f.conv(x, ch, ch, groups=ch, stride=2, act="relu")
        x = f.conv(x, ch, 2 * ch, k=1, act="relu")
        ch *= 2
        anchors = c.int(1, 3)
        for outputs, width in ((boxes, 4), (scores, classes)):
            y = f.conv(x, ch, anchors * width, norm=False)
            y = c.node("Transpose", y, perm=[0, 2, 3, 1])
            shape = f.concat_shape(f.extent(y, 0), -1, width) if c.chance(0.7) else c.const(np.array([0, -1, width]))
            # A zero copies the extent of N, as wanted.
            outputs.append(c.node("Reshape", y, shape))
    box, score = c.node("Concat", *boxes, axis=1), c.node("Concat", *scores, axis=1)
    score = c.node("Softmax", score, axis=2)  # the last axis in both readings of the attribute, or N*boxes rows
    centre, extent = f.slice(box, [0], [2], [2]), f.slice(box, [2], [4], [2])
    centre = c.node("Mul", centre, f.scalar(0.1))
    extent = c.node("Exp", c.node("Mul", extent, f.scalar(0.2)))
    half = c.node("Div", extent, f.scalar(2))
    corners = c.node("Concat", c.node("Sub", centre, half), c.node("Add", centre, half), axis=2)
    c.output(score, corners)


@network
def mobilenet(c):
    """Inverted residuals, squeeze and excitation, hard activations."""
    f = Layers(c)
    version3 = c.chance(0.5)
    acts = ["relu", "hswish"] if version3 else ["relu6"]
    ch = 8
    x = f.conv(f.image(batch(c), 3, 8 * c.int(2, 5), 8 * c.int(2, 5)), 3, ch, stride=2, act=acts[-1])
    for _ in range(c.int(2, 4)):
        act, k, stride = c.pick(acts), c.pick([3, 5]), c.pick([1, 1, 2])
        wide, out = ch * c.pick([1, 2, 3]), c.pick([ch, ch, ch + 4])
        y = f.conv(x, ch, wide, k=1, act=act)
        y = f.conv(y, wide, wide, k=k, stride=stride, groups=wide, act=act)
        if version3 and c.chance(0.7):
            y = squeeze_excite(f, y, wide, max(2, wide // 4))
        y = f.conv(y, wide, out, k=1)
        x = c.node("Add", x, y) if stride == 1 and out == ch else y
        ch = out
    f.head(f.conv(x, ch, 24, k=1, act=acts[-1]), 24)


def squeeze_excite(f, x, ch, narrow):
    c = f.c
    s = c.node("GlobalAveragePool", x) if c.chance(0.5) else f.mean(x, [2, 3])
    s = f.conv(s, ch, narrow, k=1, act="relu", norm=False)
    s = f.conv(s, narrow, ch, k=1, act=c.pick(["sigmoid", "hsigmoid"]), norm=False)
    return c.node("Mul", *c.sample([x, s], 2))


@network
def shufflenet(c):
    """Channel shuffle by Reshape, Transpose, Reshape, with shapes that are constant or computed; split branches."""
    f = Layers(c)
    n, h, w, ch = batch(c), 4 * c.int(2, 5), 4 * c.int(2, 5), 8
    x = f.conv(f.image(n, 3, h, w), 3, ch, stride=2, act="relu")
    x = f.pool(x, 3, 2, 1)
    for _ in range(c.int(1, 3)):
        half = ch // 2
        if c.chance(0.5):
            a, b = f.split(x, [half, half], 1)
        else:
            a, b = f.slice(x, [0], [half], [1]), f.slice(x, [half], [ch], [1])
        b = f.conv(b, half, half, k=1, act="relu")
        b = f.conv(f.conv(b, half, half, groups=half), half, half, k=1, act="relu")
        x = c.node("Concat", a, b, axis=1)
        if c.chance(0.5):
            nn, hh, ww = (f.extent(x, i) for i in (0, 2, 3))
            y = c.node("Reshape", x, f.concat_shape(nn, 2, half, hh, ww))
            y = c.node("Transpose", y, perm=[0, 2, 1, 3, 4])
            x = c.node("Reshape", y, f.concat_shape(nn, -1, hh, ww))
        else:
            h4, w4 = -(-h // 4), -(-w // 4)
            y = c.node("Reshape", x, c.const(np.array([n, 2, half, h4, w4])))
            y = c.node("Transpose", y, perm=[0, 2, 1, 3, 4])
            x = c.node("Reshape", y, c.const(np.array([n, ch, h4, w4])))
    f.head(x, ch)


@network
def densenet(c):
    """Everything before is input of everything after; normalisation before convolution."""
    f = Layers(c)
    f.separate_norm, ch, growth = False, 8, c.pick([3, 4, 8])
    x = f.conv(f.image(batch(c), 3, 8 * c.int(1, 4), 8 * c.int(1, 4)), 3, ch)
    for block in range(2):
        for _ in range(c.int(2, 3)):
            y = f.conv(f.act(f.norm(x, ch), "relu"), ch, 2 * growth, k=1)
            y = f.conv(f.act(f.norm(y, 2 * growth), "relu"), 2 * growth, growth)
            x = c.node("Concat", x, y, axis=1)
            ch += growth
        if block == 0:
            x = f.pool(f.conv(f.act(f.norm(x, ch), "relu"), ch, ch // 2, k=1), op="AveragePool")
            ch //= 2
    f.head(f.act(f.norm(x, ch), "relu"), ch)


@network
def alexnet(c):
    """Wide strides, LRN, groups, linear layers with Dropout."""
    f = Layers(c)
    f.separate_norm = False
    x = f.conv(f.image(batch(c), 3, 35, 35), 3, 8, k=c.pick([7, 11]), stride=2, pad=2, act="relu")
    x = c.node("LRN", x, size=5, alpha=1e-4, beta=0.75, bias=1.0)
    x = f.pool(x, 3, 2)
    x = f.conv(x, 8, 12, k=5, groups=2, act="relu")
    x = c.node("LRN", x, size=5, alpha=1e-2, beta=0.75, bias=2.0)
    x = f.pool(f.conv(x, 12, 12, groups=2, act="relu"), 3, 2)
    x = c.node("GlobalMaxPool", x) if c.chance(0.3) else f.pool(x, 2, 1, op="AveragePool")
    x = f.mean(x, [2, 3], keepdims=0, op=c.pick(["ReduceMean", "ReduceMax"]))
    for n, m in ((12, 20), (20, 16)):
        x = (
            c.node("Dropout", x)
            if c.opset < 12 or c.chance(0.5)
            else c.node("Dropout", x, c.const(np.array(0.5, np.float32)))
        )
        x = f.linear(x, n, m, "relu")
    c.output(c.node("Softmax", f.linear(x, 16, 7)))


@network
def inception(c):
    """Branches of many kernels, average pools that count their padding, ceiling in pools."""
    f = Layers(c)
    ch = 8
    x = f.conv(f.image(batch(c), 3, c.int(12, 30), c.int(12, 30)), 3, ch, stride=2, pad=1, act="relu")
    ceil = {"ceil_mode": 1} if c.opset >= 10 and c.chance(0.5) else {}
    x = f.pool(x, 3, 2, 0, **ceil)
    for _ in range(c.int(1, 2)):
        one = f.conv(x, ch, 4, k=1, act="relu")
        three = f.conv(f.conv(x, ch, 3, k=1, act="relu"), 3, 5, act="relu")
        five = c.node(
            "Conv", f.conv(x, ch, 3, k=1, act="relu"), f.weight(3, 3, 1, 7), kernel_shape=[1, 7], pads=[0, 3, 0, 3]
        )
        five = c.node("Conv", f.act(five, "relu"), f.weight(4, 3, 7, 1), kernel_shape=[7, 1], pads=[3, 0, 3, 0])
        pooled = f.pool(x, 3, 1, 1, op="AveragePool", count_include_pad=c.pick([0, 1]))
        pooled = f.conv(pooled, ch, 3, k=1, act="relu")
        x = c.node("Concat", one, three, five, pooled, axis=1)
        ch = 16
    f.head(x, ch)


@network
def from_tensorflow(c):
    """NHWC at the borders, asymmetric padding, Squeeze, constants spread by broadcasting, biases added apart."""
    f = Layers(c)
    f.separate_norm = False
    x = f.image(batch(c), 8 * c.int(2, 4), 8 * c.int(2, 4), 3)
    x = c.node("Transpose", c.node("Mul", x, f.scalar(0.5)), perm=[0, 3, 1, 2])
    ch = 3
    for _ in range(c.int(2, 3)):
        out = c.pick([6, 8])
        if c.chance(0.5):
            x = c.node(
                "Conv", x, f.weight(out, ch, 3, 3), auto_pad="SAME_UPPER", strides=[2, 2], dilations=[1, 1], group=1
            )
        else:
            x = c.node(
                "Conv", f.pad(x, [0, 0, 0, 0, 0, 0, 1, 1]), f.weight(out, ch, 3, 3), strides=[2, 2], auto_pad="VALID"
            )
        x = c.node("Add", x, f.weight(1, out, 1, 1, scale=0.1))
        x = f.act(x, c.pick(["relu6", "relu", "elu"]))
        if c.chance(0.4):  # a round trip that optimisers remove
            x = c.node("Transpose", c.node("Transpose", x, perm=[0, 2, 3, 1]), perm=[0, 3, 1, 2])
        ch = out
    x = c.node("Transpose", x, perm=[0, 2, 3, 1])
    x = c.node("Mul", x, f.weight(ch, scale=1.0))
    if c.chance(0.5):
        x = f.mean(x, [1, 2], keepdims=0)
    else:
        x = f.squeeze(f.mean(x, [1, 2], keepdims=1), [1, 2])
    c.output(
        c.node(
            "Softmax", c.node("Add", c.node("MatMul", x, f.weight(ch, 5)), f.weight(5)), axis=-1 if c.opset >= 11 else 1
        )
    )


@network
def volume(c):
    """Three spatial extents."""
    f = Layers(c)
    f.rank = 3
    x = f.image(batch(c), 2, *(2 * c.int(2, 4) for _ in range(3)))
    x = f.conv(x, 2, 4, act="relu")
    x = f.pool(x, op=c.pick(["MaxPool", "AveragePool"]))
    y = f.conv(x, 4, 4, groups=4, act="leaky")
    x = c.node("Add", x, f.conv(y, 4, 4, k=1))
    if c.chance(0.5):
        x = c.node("ConvTranspose", x, f.weight(4, 4, 2, 2, 2, scale=0.4), kernel_shape=[2] * 3, strides=[2] * 3)
    elif c.opset >= 11:
        x = f.resize(x)
    f.head(x, 4)


@network
def paddle(c):
    """Scale and bias as nodes, pools to a fixed extent, Shape and Slice before a Resize to another value's extents."""
    f = Layers(c)
    x = f.image(batch(c), 3, 8 * c.int(2, 4), 8 * c.int(2, 4))
    a = f.conv(x, 3, 8, stride=2, act="hswish")
    b = f.conv(a, 8, 12, stride=2, act="relu")
    s = f.conv(c.node("GlobalAveragePool", b), 12, 12, k=1, act="hsigmoid", norm=False)
    b = c.node("Mul", b, s)
    if c.opset >= 11:
        size = c.node("Concat", f.slice(c.node("Shape", b), [0], [2]), f.slice(c.node("Shape", a), [2], [4]), axis=0)
        empty = c.const(np.zeros(0, np.float32))
        b = c.node(
            "Resize",
            b,
            empty,
            empty if c.opset < 13 else None,
            size,
            mode="nearest",
            coordinate_transformation_mode="asymmetric",
            nearest_mode="floor",
        )
    else:
        b = f.resize(b)
    y = c.node("Concat", a, b, axis=1)
    y = c.node("Add", c.node("Mul", y, f.weight(1, 20, 1, 1, scale=1)), f.weight(1, 20, 1, 1))
    y = f.conv(y, 20, 6, k=1)
    c.output(c.node("Sigmoid", y))
    shape = c.node("Concat", c.const(np.array([-1])), c.const(np.array([6])), axis=0)
    flat = c.node("Reshape", c.node("Transpose", y, perm=[0, 2, 3, 1]), shape)
    c.output(f.mean(flat, [1], 0, op="ReduceMax"))
    best = c.node("ArgMax", flat, axis=1, keepdims=0)
    if c.float != np.float16:  # which cannot tell the two best apart
        c.output(best)


@network
def yolo(c):
    """Grid, anchors, Split, Meshgrid-like ranges by Expand, sigmoid decoding, a focus layer of strided slices."""
    f = Layers(c)
    n, h, w = batch(c), 8 * c.int(2, 4), 8 * c.int(2, 4)
    x = f.image(n, 3, h, w)
    if c.opset >= 10:
        parts = [
            c.node(
                "Slice",
                c.node("Slice", x, *(c.const(np.array([v])) for v in (i, 2**31 - 1, 2, 2))),
                *(c.const(np.array([v])) for v in (j, 2**63 - 1, 3, 2)),
            )
            for i in (0, 1)
            for j in (0, 1)
        ]
        x, ch = c.node("Concat", *parts, axis=1), 12
    else:
        x, ch = f.pool(x), 3
    x = f.conv(x, ch, 16, act="silu")
    a, b = f.conv(x, 16, 8, k=1, act="silu"), f.conv(x, 16, 8, k=1, act="silu")
    pools = [a]
    for k in (3, 5):
        pools.append(f.pool(a, k, 1, k // 2))
    x = f.conv(c.node("Concat", *pools, b, axis=1), 32, 16, k=1, stride=2, act="leaky")
    gh, gw, anchors, width = h // 4, w // 4, 2, 6
    y = f.conv(x, 16, anchors * width, k=1, norm=False)
    y = c.node("Reshape", y, f.concat_shape(f.extent(y, 0), anchors, width, f.extent(y, 2), f.extent(y, 3)))
    y = c.node("Sigmoid", c.node("Transpose", y, perm=[0, 1, 3, 4, 2]))
    xy, wh, rest = f.split(y, [2, 2, 2], 4)
    grid = np.stack(np.meshgrid(np.arange(gw), np.arange(gh)), -1).reshape(1, 1, gh, gw, 2).astype(c.float)
    xy = c.node(
        "Mul", c.node("Add", c.node("Sub", c.node("Mul", xy, f.scalar(2)), f.scalar(0.5)), c.const(grid)), f.scalar(4)
    )
    wh = c.node("Mul", c.node("Pow", c.node("Mul", wh, f.scalar(2)), f.scalar(2)), f.between(1, 3, 1, anchors, 1, 1, 2))
    y = c.node("Concat", xy, wh, rest, axis=-1 if c.opset >= 11 else 4)
    c.output(c.node("Reshape", y, f.concat_shape(f.extent(y, 0), -1, width)))
