package topologies

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func float(name string, v float32) *graph.Attr {
	return &graph.Attr{Name: name, Kind: graph.AttrFloat, Float: v}
}

// MobileNetV3 returns the large network of Howard et al., "Searching for MobileNetV3" (2019), with
// batch normalisation folded in.
func MobileNetV3() *graph.Model {
	b := newBuilder("mobilenetv3")
	squeeze := func(x string, n int) string {
		less := (n/4 + 7) / 8 * 8
		s := b.node("GlobalAveragePool", nil, x)
		s = b.node("Relu", nil, b.conv(s, n, less, 1, 1, 1))
		s = b.node("HardSigmoid", []*graph.Attr{float("alpha", 1.0/6), float("beta", 0.5)}, b.conv(s, less, n, 1, 1, 1))
		return b.node("Mul", nil, x, s)
	}
	x := b.input("x", tensor.F32, 1, 3, 224, 224)
	x = b.node("HardSwish", nil, b.conv(x, 3, 16, 3, 2, 1))
	in := 16
	for _, row := range []struct {
		kernel, hidden, out, stride int
		squeezed                    bool
		act                         string
	}{
		{3, 16, 16, 1, false, "Relu"}, {3, 64, 24, 2, false, "Relu"}, {3, 72, 24, 1, false, "Relu"},
		{5, 72, 40, 2, true, "Relu"}, {5, 120, 40, 1, true, "Relu"}, {5, 120, 40, 1, true, "Relu"},
		{3, 240, 80, 2, false, "HardSwish"}, {3, 200, 80, 1, false, "HardSwish"},
		{3, 184, 80, 1, false, "HardSwish"}, {3, 184, 80, 1, false, "HardSwish"},
		{3, 480, 112, 1, true, "HardSwish"}, {3, 672, 112, 1, true, "HardSwish"},
		{5, 672, 160, 2, true, "HardSwish"}, {5, 960, 160, 1, true, "HardSwish"}, {5, 960, 160, 1, true, "HardSwish"},
	} {
		y := x
		if row.hidden != in {
			y = b.node(row.act, nil, b.conv(y, in, row.hidden, 1, 1, 1))
		}
		y = b.node(row.act, nil, b.conv(y, row.hidden, row.hidden, row.kernel, row.stride, row.hidden))
		if row.squeezed {
			y = squeeze(y, row.hidden)
		}
		y = b.conv(y, row.hidden, row.out, 1, 1, 1)
		if row.stride == 1 && in == row.out {
			y = b.node("Add", nil, x, y)
		}
		x, in = y, row.out
	}
	x = b.node("HardSwish", nil, b.conv(x, in, 960, 1, 1, 1))
	x = b.node("GlobalAveragePool", nil, x)
	x = b.node("HardSwish", nil, b.conv(x, 960, 1280, 1, 1, 1))
	b.classifier(x, 1280)
	return b.model()
}

// ConvNeXt returns the tiny network of Liu et al., "A ConvNet for the 2020s" (2022), as exporters
// write it: channels last between its transpositions.
func ConvNeXt() *graph.Model {
	b := newBuilder("convnext")
	turn := func(x string, perm ...int64) string {
		return b.node("Transpose", []*graph.Attr{ints("perm", perm...)}, x)
	}
	norm := func(x string, n int) string {
		return b.node("LayerNormalization", []*graph.Attr{integer("axis", -1), float("epsilon", 1e-6)}, x, b.weight(1, n),
			b.weight(100, n))
	}
	dense := func(x string, in, out int) string {
		return b.node("Add", nil, b.node("MatMul", nil, x, b.weight(in, in, out)), b.weight(100, out))
	}
	patches := func(x string, in, out, size int) string {
		s := int64(size)
		return b.node("Conv", []*graph.Attr{ints("kernel_shape", s, s), ints("strides", s, s)}, x,
			b.weight(in*size*size, out, in, size, size), b.weight(100, out))
	}
	firstNorm := func(x string, n int) string { return turn(norm(turn(x, 0, 2, 3, 1), n), 0, 3, 1, 2) }
	x := b.input("x", tensor.F32, 1, 3, 224, 224)
	x = firstNorm(patches(x, 3, 96, 4), 96)
	for stage, blocks := range []int{3, 3, 9, 3} {
		n := 96 << stage
		if stage > 0 {
			x = patches(firstNorm(x, n/2), n/2, n, 2)
		}
		for range blocks {
			y := norm(turn(b.conv(x, n, n, 7, 1, n), 0, 2, 3, 1), n)
			y = b.node("Mul", nil, dense(b.gelu(dense(y, n, 4*n)), 4*n, n), b.weight(100, n))
			x = b.node("Add", nil, x, turn(y, 0, 3, 1, 2))
		}
	}
	b.classifier(x, 768)
	return b.model()
}
