// Package topologies builds networks of published topologies with random weights, for measurements
// and for tests: speed does not depend on the values of weights.
package topologies

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Topology is a network that can be generated.
type Topology struct {
	Name  string
	Build func() *graph.Model
	// Share is how far answers of two runtimes may be apart, as a part of the largest. 0 allows for
	// sums in another order only.
	Share float64
	Kind  Kind
}

// Kind is a kind of networks.
type Kind int

// The kinds: whole networks, single recurrent layers, networks with short runs, and single
// operators.
const (
	Whole Kind = iota
	Layer
	Short
	Operator
)

// All is the table of networks.
var All = slices.Concat([]Topology{
	{Name: "resnet50", Build: ResNet50},
	{Name: "mobilenetv2", Build: MobileNetV2},
	{Name: "mobilenetv3", Build: MobileNetV3},
	{Name: "convnext", Build: ConvNeXt},
	{Name: "bert_base_128", Build: func() *graph.Model { return BERT(12, 768, 12, 128) }},
}, sight(), sound(), recurrent(), small(), operators())

// builder collects nodes. Every method returns the name of a new value.
type builder struct {
	g    *graph.Graph
	rand *rand.Rand
	next int
}

const opset = 17

func newBuilder(name string) *builder {
	return &builder{g: &graph.Graph{Name: name}, rand: rand.New(rand.NewPCG(1, 2))}
}

func (b *builder) model() *graph.Model {
	return &graph.Model{Producer: "nacre bench", IR: 8, Opsets: []graph.Opset{{Version: opset}}, Graph: b.g}
}

func (b *builder) input(name string, d tensor.DType, shape ...int) string {
	b.g.Inputs = append(b.g.Inputs, &graph.Value{Name: name, Type: graph.TensorOf(d, graph.DimsOf(shape))})
	return name
}

func (b *builder) output(value string, shape ...int) {
	b.g.Outputs = append(b.g.Outputs, &graph.Value{Name: value, Type: graph.TensorOf(tensor.F32, graph.DimsOf(shape))})
}

func (b *builder) name(kind string) string {
	b.next++
	return fmt.Sprintf("%s_%d", kind, b.next)
}

// weight adds a constant of normal numbers, scaled to keep activations near one.
func (b *builder) weight(fanIn int, shape ...int) string {
	t := tensor.New(tensor.F32, shape...)
	scale := 1 / math.Sqrt(float64(max(fanIn, 1)))
	for i := range tensor.View[float32](t) {
		tensor.View[float32](t)[i] = float32(b.rand.NormFloat64() * scale)
	}
	return b.constant(t)
}

func (b *builder) constant(t *tensor.Tensor) string {
	name := b.name("w")
	b.g.Initializers = append(b.g.Initializers, &graph.Initializer{Name: name, Tensor: t})
	return name
}

func (b *builder) scalar(v float32) string {
	t, err := tensor.From([]float32{v})
	if err != nil {
		panic(err)
	}
	return b.constant(t)
}

func (b *builder) ints(v ...int64) string {
	t, err := tensor.From(v, len(v))
	if err != nil {
		panic(err)
	}
	return b.constant(t)
}

func (b *builder) node(op string, attrs []*graph.Attr, inputs ...string) string {
	out := b.name(op)
	b.g.Nodes = append(b.g.Nodes, &graph.Node{
		Name: out, Op: op, Version: opset, Inputs: inputs, Outputs: []string{out}, Attrs: attrs,
	})
	return out
}

func ints(name string, v ...int64) *graph.Attr {
	return &graph.Attr{Name: name, Kind: graph.AttrInts, Ints: v}
}

func integer(name string, v int64) *graph.Attr {
	return &graph.Attr{Name: name, Kind: graph.AttrInt, Int: v}
}

// conv returns a convolution with a bias, by a square kernel padded to keep extents.
func (b *builder) conv(x string, in, out, kernel, stride, groups int) string {
	k, s, p := int64(kernel), int64(stride), int64(kernel/2)
	return b.node("Conv", []*graph.Attr{
		ints("kernel_shape", k, k), ints("strides", s, s), ints("pads", p, p, p, p), integer("group", int64(groups)),
	}, x, b.weight(in/groups*kernel*kernel, out, in/groups, kernel, kernel), b.weight(100, out))
}

// classifier adds global pooling, a fully connected layer and a softmax.
func (b *builder) classifier(x string, channels int) {
	x = b.node("GlobalAveragePool", nil, x)
	x = b.node("Flatten", []*graph.Attr{integer("axis", 1)}, x)
	x = b.node("Gemm", []*graph.Attr{integer("transB", 1)}, x, b.weight(channels, 1000, channels), b.weight(100, 1000))
	b.output(b.node("Softmax", []*graph.Attr{integer("axis", -1)}, x), 1, 1000)
}

// ResNet50 returns the network of He et al., "Deep Residual Learning for Image Recognition" (2015),
// with the stride in the 3x3 convolution and batch normalisation folded into the convolutions.
func ResNet50() *graph.Model {
	b := newBuilder("resnet50")
	x := b.input("x", tensor.F32, 1, 3, 224, 224)
	x = b.node("Relu", nil, b.conv(x, 3, 64, 7, 2, 1))
	x = b.node("MaxPool", []*graph.Attr{ints("kernel_shape", 3, 3), ints("strides", 2, 2), ints("pads", 1, 1, 1, 1)}, x)
	in := 64
	for stage, blocks := range []int{3, 4, 6, 3} {
		width := 64 << stage
		for block := range blocks {
			stride := 1
			if block == 0 && stage > 0 {
				stride = 2
			}
			skip := x
			if block == 0 {
				skip = b.conv(x, in, 4*width, 1, stride, 1)
			}
			y := b.node("Relu", nil, b.conv(x, in, width, 1, 1, 1))
			y = b.node("Relu", nil, b.conv(y, width, width, 3, stride, 1))
			y = b.conv(y, width, 4*width, 1, 1, 1)
			x = b.node("Relu", nil, b.node("Add", nil, y, skip))
			in = 4 * width
		}
	}
	b.classifier(x, in)
	return b.model()
}

// MobileNetV2 returns the network of Sandler et al., "MobileNetV2: Inverted Residuals and Linear
// Bottlenecks" (2018), width 1, with batch normalisation folded in.
func MobileNetV2() *graph.Model {
	b := newBuilder("mobilenetv2")
	zero, six := b.scalar(0), b.scalar(6)
	relu6 := func(x string) string { return b.node("Clip", nil, x, zero, six) }
	x := b.input("x", tensor.F32, 1, 3, 224, 224)
	x = relu6(b.conv(x, 3, 32, 3, 2, 1))
	in := 32
	for _, row := range []struct{ expand, out, blocks, stride int }{
		{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1},
	} {
		for block := range row.blocks {
			stride := 1
			if block == 0 {
				stride = row.stride
			}
			y, hidden := x, in*row.expand
			if row.expand != 1 {
				y = relu6(b.conv(y, in, hidden, 1, 1, 1))
			}
			y = relu6(b.conv(y, hidden, hidden, 3, stride, hidden))
			y = b.conv(y, hidden, row.out, 1, 1, 1)
			if stride == 1 && in == row.out {
				y = b.node("Add", nil, x, y)
			}
			x, in = y, row.out
		}
	}
	x = relu6(b.conv(x, in, 1280, 1, 1, 1))
	b.classifier(x, 1280)
	return b.model()
}

// BERT returns the encoder of Devlin et al., "BERT" (2018), on embedded tokens, as exporters write
// it: layer normalisation and GELU from primitive operators.
func BERT(layers, width, heads, tokens int) *graph.Model {
	b := newBuilder("bert")
	x := b.input("x", tensor.F32, 1, tokens, width)
	dense := func(x string, in, out int) string {
		return b.node("Add", nil, b.node("MatMul", nil, x, b.weight(in, in, out)), b.weight(100, out))
	}
	split := b.ints(1, int64(tokens), int64(heads), int64(width/heads))
	merge := b.ints(1, int64(tokens), int64(width))
	perHead := func(x string, perm ...int64) string {
		return b.node("Transpose", []*graph.Attr{ints("perm", perm...)}, b.node("Reshape", nil, x, split))
	}
	scale := b.scalar(float32(1 / math.Sqrt(float64(width/heads))))
	for range layers {
		q := perHead(dense(x, width, width), 0, 2, 1, 3)
		k := perHead(dense(x, width, width), 0, 2, 3, 1)
		v := perHead(dense(x, width, width), 0, 2, 1, 3)
		a := b.node("Mul", nil, b.node("MatMul", nil, q, k), scale)
		a = b.node("Softmax", []*graph.Attr{integer("axis", -1)}, a)
		a = b.node("Transpose", []*graph.Attr{ints("perm", 0, 2, 1, 3)}, b.node("MatMul", nil, a, v))
		a = dense(b.node("Reshape", nil, a, merge), width, width)
		x = b.layerNorm(b.node("Add", nil, x, a), width)
		h := b.gelu(dense(x, width, 4*width))
		x = b.layerNorm(b.node("Add", nil, x, dense(h, 4*width, width)), width)
	}
	b.output(x, 1, tokens, width)
	return b.model()
}

func (b *builder) layerNorm(x string, width int) string {
	axes := []*graph.Attr{ints("axes", -1)}
	d := b.node("Sub", nil, x, b.node("ReduceMean", axes, x))
	v := b.node("ReduceMean", axes, b.node("Pow", nil, d, b.scalar(2)))
	n := b.node("Div", nil, d, b.node("Sqrt", nil, b.node("Add", nil, v, b.scalar(1e-12))))
	return b.node("Add", nil, b.node("Mul", nil, n, b.weight(1, width)), b.weight(100, width))
}

func (b *builder) gelu(x string) string {
	e := b.node("Erf", nil, b.node("Div", nil, x, b.scalar(math.Sqrt2)))
	y := b.node("Mul", nil, x, b.node("Add", nil, e, b.scalar(1)))
	return b.node("Mul", nil, y, b.scalar(0.5))
}
