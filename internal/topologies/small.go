package topologies

import (
	"fmt"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// small lists networks with short runs.
func small() []Topology {
	return []Topology{
		{Name: "perceptron", Kind: Short, Build: func() *graph.Model { return Perceptron(4, 16, 16, 3) }},
		{Name: "perceptron_64", Kind: Short, Build: func() *graph.Model { return Perceptron(32, 64, 64, 10) }},
		{Name: "trees_1", Kind: Short, Build: func() *graph.Model { return Trees(100, 6, 32, 1) }},
		{Name: "trees_1000", Kind: Short, Build: func() *graph.Model { return Trees(100, 6, 32, 1000) }},
		{Name: "voice", Kind: Short, Build: Voice},
		{Name: "listener", Kind: Short, Build: Listener},
	}
}

// Perceptron returns dense layers of the given widths with a Relu between them and a Softmax.
func Perceptron(widths ...int) *graph.Model {
	b := newBuilder("perceptron")
	x := b.input("x", tensor.F32, 1, widths[0])
	last := len(widths) - 2
	for i, in := range widths[:last+1] {
		x = b.node("Gemm", nil, x, b.weight(in, in, widths[i+1]), b.weight(100, widths[i+1]))
		if i < last {
			x = b.node("Relu", nil, x)
		}
	}
	b.output(b.node("Softmax", []*graph.Attr{integer("axis", -1)}, x), 1, widths[last+1])
	return b.model()
}

// Voice returns a network that detects speech in 32 ms of sound at 16 kHz, as Silero VAD does:
// magnitudes of a short-time Fourier transform by convolution, four convolutions, and an LSTM with
// its state as input and output.
func Voice() *graph.Model {
	const window, context, hop, bins, hidden = 512, 64, 128, 129, 128
	b := newBuilder("voice")
	x := b.input("x", tensor.F32, 1, context+window)
	state := b.input("state", tensor.F32, 2, 1, hidden)
	x = b.node("Pad", []*graph.Attr{{Name: "mode", Kind: graph.AttrString, Str: []byte("reflect")}}, x,
		b.ints(0, 0, 0, context))
	x = b.node("Unsqueeze", nil, x, b.ints(1))
	x = b.conv1(x, 1, 2*bins, 2*hop, hop, 0)
	re := b.node("Slice", nil, x, b.ints(0), b.ints(bins), b.ints(1))
	im := b.node("Slice", nil, x, b.ints(bins), b.ints(2*bins), b.ints(1))
	two := b.scalar(2)
	x = b.node("Sqrt", nil, b.node("Add", nil, b.node("Pow", nil, re, two), b.node("Pow", nil, im, two)))
	in := bins
	for _, layer := range []struct{ out, stride int }{{128, 1}, {64, 2}, {64, 2}, {hidden, 1}} {
		x = b.node("Relu", nil, b.conv1(x, in, layer.out, 3, layer.stride, 1))
		in = layer.out
	}
	x = b.node("Transpose", []*graph.Attr{ints("perm", 2, 0, 1)}, x)
	h := b.node("Slice", nil, state, b.ints(0), b.ints(1), b.ints(0))
	c := b.node("Slice", nil, state, b.ints(1), b.ints(2), b.ints(0))
	y := b.node("LSTM", []*graph.Attr{integer("hidden_size", hidden)}, x,
		b.weight(hidden, 1, 4*hidden, hidden), b.weight(hidden, 1, 4*hidden, hidden), b.weight(100, 1, 8*hidden), "", h, c)
	lstm := b.g.Nodes[len(b.g.Nodes)-1]
	lstm.Outputs = append(lstm.Outputs, b.name("h"), b.name("c"))
	y = b.node("Relu", nil, b.node("Squeeze", nil, y, b.ints(1)))
	y = b.conv1(b.node("Transpose", []*graph.Attr{ints("perm", 1, 2, 0)}, y), hidden, 1, 1, 1, 0)
	y = b.node("ReduceMean", []*graph.Attr{ints("axes", 2), integer("keepdims", 0)}, b.node("Sigmoid", nil, y))
	b.output(y, 1, 1)
	b.output(b.node("Concat", []*graph.Attr{integer("axis", 0)}, lstm.Outputs[1], lstm.Outputs[2]), 2, 1, hidden)
	return b.model()
}

// conv1 returns a convolution along one axis, with a bias.
func (b *builder) conv1(x string, in, out, kernel, stride, pad int) string {
	return b.node("Conv", []*graph.Attr{
		ints("kernel_shape", int64(kernel)), ints("strides", int64(stride)), ints("pads", int64(pad), int64(pad)),
	}, x, b.weight(in*kernel, out, in, kernel), b.weight(100, out))
}

// Decoder returns a transformer that takes one token and, for every layer, the keys and values of
// the tokens before it. It returns them with the token's own keys and values added.
func Decoder(layers, width, heads, words int) *graph.Model {
	b := newBuilder("decoder")
	x := b.node("Gather", nil, b.weight(1, words, width), b.input("token", tensor.I64, 1, 1))
	axis := []*graph.Attr{integer("axis", -1)}
	norm := func(x string) string {
		return b.node("LayerNormalization", axis, x, b.weight(1, width), b.weight(100, width))
	}
	dense := func(x string, in, out int) string {
		return b.node("Add", nil, b.node("MatMul", nil, x, b.weight(in, in, out)), b.weight(100, out))
	}
	perHead, merged := b.ints(1, 1, int64(heads), int64(width/heads)), b.ints(1, 1, int64(width))
	split := func(x string) string {
		return b.node("Transpose", []*graph.Attr{ints("perm", 0, 2, 1, 3)},
			b.node("Reshape", nil, dense(x, width, width), perHead))
	}
	scale := b.scalar(1 / float32(4))
	for i := range layers {
		y := norm(x)
		q, k, v := split(y), b.cached(i, "key", split(y), heads, width), b.cached(i, "value", split(y), heads, width)
		a := b.node("MatMul", nil, q, b.node("Transpose", []*graph.Attr{ints("perm", 0, 1, 3, 2)}, k))
		a = b.node("MatMul", nil, b.node("Softmax", axis, b.node("Mul", nil, a, scale)), v)
		a = b.node("Reshape", nil, b.node("Transpose", []*graph.Attr{ints("perm", 0, 2, 1, 3)}, a), merged)
		x = b.node("Add", nil, x, dense(a, width, width))
		x = b.node("Add", nil, x, dense(b.gelu(dense(norm(x), width, 4*width)), 4*width, width))
	}
	b.output(dense(norm(x), width, words), 1, 1, words)
	return b.model()
}

// cached appends new rows to the rows of the past, which is an input and grows.
func (b *builder) cached(layer int, what, rows string, heads, width int) string {
	extents := func(symbol string) graph.Type {
		return graph.TensorOf(tensor.F32,
			graph.Dims{graph.Known(1), graph.Known(heads), graph.Symbol(symbol), graph.Known(width / heads)})
	}
	past, present := fmt.Sprintf("past_key_values.%d.%s", layer, what), fmt.Sprintf("present.%d.%s", layer, what)
	b.g.Inputs = append(b.g.Inputs, &graph.Value{Name: past, Type: extents("past")})
	b.g.Outputs = append(b.g.Outputs, &graph.Value{Name: present, Type: extents("total")})
	b.g.Nodes = append(b.g.Nodes, &graph.Node{
		Name: present, Op: "Concat", Version: opset, Inputs: []string{past, rows}, Outputs: []string{present},
		Attrs: []*graph.Attr{integer("axis", 2)},
	})
	return present
}

// Chain returns a chain of operators of elements. Each takes the result of the one before.
func Chain(nodes int) *graph.Model {
	b := newBuilder("chain")
	x := b.input("x", tensor.F32, 1, 16)
	for i := range nodes {
		switch i % 4 {
		case 0:
			x = b.node("Mul", nil, x, b.scalar(0.5))
		case 1:
			x = b.node("Sigmoid", nil, x)
		case 2:
			x = b.node("Add", nil, x, b.weight(1, 16))
		case 3:
			x = b.node("Relu", nil, x)
		}
	}
	b.output(x, 1, 16)
	return b.model()
}

// Stack returns dense layers of one width, each with a bias and a Relu.
func Stack(layers, width int) *graph.Model {
	b := newBuilder("stack")
	x := b.input("x", tensor.F32, 1, width)
	for range layers {
		x = b.node("Relu", nil, b.node("Add", nil, b.node("MatMul", nil, x, b.weight(width, width, width)),
			b.weight(100, width)))
	}
	b.output(x, 1, width)
	return b.model()
}
