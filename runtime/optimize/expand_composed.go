package optimize

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// expandComposed replaces operators of float32 that no device has kernels of by the operators that they
// are composed of. Results are rounded at each of these.
func expandComposed(s *Scope) (*Edit, error) {
	m := newMatcher(s)
	for _, n := range m.live {
		expand := composed[n.Domain][n.Op]
		if expand == nil || m.dtype(n.Outputs[0]) != tensor.F32 {
			continue
		}
		if b := (&builder{matcher: m}); expand(b, n) {
			m.replace(n, b.nodes...)
		}
	}
	return m.result()
}

// composed has functions that add the nodes that compute what a node does, or return false.
var composed = map[string]map[string]func(b *builder, n *graph.Node) bool{
	"": {
		"Affine":                    expandAffine,
		"Hardmax":                   expandHardmax,
		"ImageScaler":               expandImageScaler,
		"MeanVarianceNormalization": expandMeanVariance,
		"ParametricSoftplus":        expandScaled("Softplus"),
		"Scale": func(b *builder, n *graph.Node) bool {
			b.finish(n, "", "Mul", 14, []string{n.Inputs[0], b.float(floatOr(n, "scale", 1))})
			return true
		},
		"ScaledTanh":              expandScaled("Tanh"),
		"SoftmaxCrossEntropyLoss": expandCrossEntropy,
	},
	op.Microsoft: {
		"GatedAdd": func(b *builder, n *graph.Node) bool {
			b.finish(n, "", "Add", 14, []string{n.Inputs[0], b.apply("Mul", 14, []string{n.Inputs[1], n.Inputs[2]})})
			return true
		},
		"LinearAttentionGate": expandLinearGate,
		"WordConvEmbedding":   expandWordConv,
	},
}

// float adds a float32 scalar.
func (b *builder) float(v float64) string {
	t := tensor.New(tensor.F32)
	op.SetNumbers(t, []float64{v})
	return b.add("number", t)
}

func expandAffine(b *builder, n *graph.Node) bool {
	y := b.apply("Mul", 14, []string{n.Inputs[0], b.float(floatOr(n, "alpha", 1))})
	b.finish(n, "", "Add", 14, []string{y, b.float(floatOr(n, "beta", 0))})
	return true
}

// expandScaled expands alpha·f(beta·x).
func expandScaled(f string) func(b *builder, n *graph.Node) bool {
	return func(b *builder, n *graph.Node) bool {
		y := b.apply("Mul", 14, []string{n.Inputs[0], b.float(floatOr(n, "beta", 1))})
		y = b.apply(f, 13, []string{y})
		b.finish(n, "", "Mul", 14, []string{y, b.float(floatOr(n, "alpha", 1))})
		return true
	}
}

// expandImageScaler multiplies by a number and adds one for each channel.
func expandImageScaler(b *builder, n *graph.Node) bool {
	bias := attrs(n).Floats("bias")
	t := tensor.New(tensor.F32, len(bias), 1, 1)
	copy(tensor.View[float32](t), bias)
	y := b.apply("Mul", 14, []string{n.Inputs[0], b.float(floatOr(n, "scale", 1))})
	b.finish(n, "", "Add", 14, []string{y, b.add("bias", t)})
	return true
}

// expandMeanVariance subtracts means and divides by the roots of the means of squares, to which the
// definition adds 1e-9.
func expandMeanVariance(b *builder, n *graph.Node) bool {
	axes := []int64{0, 2, 3}
	if a := n.Attr("axes"); a != nil {
		axes = a.Ints
	}
	means := func(x string) string { return b.apply("ReduceMean", 13, []string{x}, intsAttr("axes", axes...)) }
	d := b.apply("Sub", 14, []string{n.Inputs[0], means(n.Inputs[0])})
	v := b.apply("Sqrt", 13, []string{means(b.apply("Mul", 14, []string{d, d}))})
	b.finish(n, "", "Div", 14, []string{d, b.apply("Add", 14, []string{v, b.float(1e-9)})})
	return true
}

// expandHardmax sets the first of the largest elements to 1.
func expandHardmax(b *builder, n *graph.Node) bool {
	rank, known := b.rank(n.Inputs[0])
	axis := int(intOr(n, "axis", -1))
	if n.Version < 13 {
		if axis = int(intOr(n, "axis", 1)); known && axis != rank-1 && axis != -1 {
			return false // several axes are one
		}
	}
	axis, err := op.NormAxis(axis, rank)
	if !known || err != nil {
		return false
	}
	size, known := b.dims(n.Inputs[0])[axis].Value()
	if !known || size == 0 {
		return false
	}
	depth, values := tensor.New(tensor.I64), tensor.New(tensor.F32, 2)
	tensor.View[int64](depth)[0], tensor.View[float32](values)[1] = int64(size), 1
	at := b.apply("ArgMax", 13, []string{n.Inputs[0]}, intAttr("axis", int64(axis)), intAttr("keepdims", 0))
	b.finish(n, "", "OneHot", 11, []string{at, b.add("depth", depth), b.add("values", values)}, intAttr("axis", int64(axis)))
	return true
}

// expandLinearGate computes the decay, and the rate of update if it is wanted.
func expandLinearGate(b *builder, n *graph.Node) bool {
	decay := b.apply("Softplus", 1, []string{b.apply("Add", 14, []string{n.Inputs[0], n.Inputs[1]})})
	if len(n.Outputs) > 1 && n.Outputs[1] != "" {
		rate := instead(n, "", "Sigmoid", 13, n.Inputs[3:4])
		rate.Name, rate.Outputs = b.fresh("Sigmoid"), n.Outputs[1:2]
		b.nodes = append(b.nodes, rate)
	}
	b.finish(n, "", "Mul", 14, []string{decay, n.Inputs[2]})
	return true
}

// expandWordConv embeds words by a convolution over the embeddings of their characters, whose windows begin no later
// than the last that lies in the word, or at the first character.
func expandWordConv(b *builder, n *graph.Node) bool {
	ids, weights, bias, table := n.Inputs[0], n.Inputs[1], n.Inputs[2], n.Inputs[3]
	words, w := b.dims(ids), b.dims(weights)
	shape, known := w.Concrete()
	if !known || len(shape) != 4 || len(words) != 2 || !b.hasDims(bias, w[:1]) {
		return false
	}
	length, known := words[1].Value()
	window, size := shape[2], shape[3]
	if !known || shape[1] != 1 || window < 1 || window > length || size < 1 {
		return false
	}
	ints := func(v ...int32) string {
		t := tensor.New(tensor.I32, len(v))
		copy(tensor.View[int32](t), v)
		return b.add("ints", t)
	}
	begins := make([]int32, length-window+1)
	for i := range begins {
		begins[i] = int32(i)
	}
	turn := intsAttr("perm", 0, 2, 1)
	x := b.apply("Transpose", 13, []string{b.apply("Gather", 13, []string{table, ids})}, turn)
	filters := b.apply("Transpose", 13, []string{b.apply("Reshape", 13, []string{weights, b.vector(shape[0], window, size)})}, turn)
	y := b.apply("Conv", 11, []string{x, filters, bias})
	count := b.apply("Cast", 13, []string{b.apply("Greater", 13, []string{ids, ints(0)})}, intAttr("to", 6))
	count = b.apply("ReduceSum", 13, []string{count, b.vector(1)})
	last := b.apply("Max", 13, []string{b.apply("Sub", 14, []string{count, ints(int32(window))}), ints(0)})
	begun := b.apply("LessOrEqual", 16, []string{ints(begins...), last})
	y = b.apply("Where", 16, []string{b.apply("Unsqueeze", 13, []string{begun, b.vector(1)}), y, b.float(math.Inf(-1))})
	y = b.apply("Tanh", 13, []string{b.apply("ReduceMax", 13, []string{y}, intsAttr("axes", 2), intAttr("keepdims", 0))})
	empty := b.apply("Equal", 13, []string{b.apply("Slice", 13, []string{ids, b.vector(0), b.vector(1), b.vector(1)}), ints(0)})
	b.finish(n, "", "Where", 16, []string{empty, b.float(0), y})
	return true
}

// expandCrossEntropy takes the loss of logarithms that a node of their own computes.
func expandCrossEntropy(b *builder, n *graph.Node) bool {
	logs := &graph.Node{Name: b.fresh("LogSoftmax"), Op: "LogSoftmax", Version: 13, Inputs: n.Inputs[:1:1], Attrs: []*graph.Attr{intAttr("axis", 1)}}
	if logs.Outputs = []string{logs.Name}; len(n.Outputs) > 1 && n.Outputs[1] != "" {
		logs.Outputs = n.Outputs[1:2:2]
	}
	b.nodes = append(b.nodes, logs)
	b.finish(n, "", "NegativeLogLikelihoodLoss", 13, append(slices.Clone(logs.Outputs), n.Inputs[1:]...), n.Attrs...)
	return true
}
