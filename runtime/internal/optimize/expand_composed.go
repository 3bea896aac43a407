package optimize

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// expandComposed replaces operators without CPU kernels by operators with kernels, if the results
// are float32 or integers. Each new node rounds its results. If nodes go to an accelerator, it
// changes nothing.
func expandComposed(s *Scope) (*Edit, error) {
	if s.Accelerated {
		return nil, nil
	}
	m := newMatcher(s)
	for _, n := range m.live {
		expand := composed[n.Domain][n.Op]
		if d := m.dtype(n.Outputs[0]); expand == nil || d != tensor.F32 && !d.IsInteger() {
			continue
		}
		if b := (&builder{matcher: m}); expand(b, n) {
			m.replace(n, b.nodes...)
		}
	}
	return m.result()
}

// composed has, by operator, a function that adds the nodes that replace a node, or returns false.
var composed = map[string]map[string]func(b *builder, n *graph.Node) bool{
	"": {
		"Affine":                    expandAffine,
		"Hardmax":                   expandHardmax,
		"ImageScaler":               expandImageScaler,
		"MeanVarianceNormalization": expandMeanVariance,
		"ParametricSoftplus":        expandScaled("Softplus"),
		"Scale": func(b *builder, n *graph.Node) bool {
			b.replaceRoot(n, "", "Mul", 14, []string{n.Inputs[0], b.float(floatOr(n, "scale", 1))})
			return true
		},
		"ScaledTanh":              expandScaled("Tanh"),
		"SoftmaxCrossEntropyLoss": expandCrossEntropy,
	},
	kit.Microsoft: {
		"EngramGate":          expandEngramGate,
		"LinearAttentionGate": expandLinearGate,
		"MatMulFpQ4":          expandFpQ4,
		"MatMulInteger16":     expandInteger16,
		"ScaledSiLU":          expandScaledSiLU,
		"WordConvEmbedding":   expandWordConv,
	},
}

// float adds a float32 scalar.
func (b *builder) float(v float64) string {
	t := tensor.New(tensor.F32)
	kit.SetNumbers(t, []float64{v})
	return b.add("number", t)
}

// affineChannels and affineRun limit the Affine nodes that become a normalization: at most
// affineChannels channels, and at least affineRun elements in each channel, or affineRun channels
// of one element.
const affineChannels, affineRun = 1 << 12, 64

// expandAffine computes alpha·x + beta. A normalization reads x only once.
func expandAffine(b *builder, n *graph.Node) bool {
	alpha, beta := floatOr(n, "alpha", 1), floatOr(n, "beta", 0)
	if dims := b.dims(n.Inputs[0]); len(dims) > 1 {
		channels, known := dims[1].Value()
		run, bound := dims[2:].Len().Value()
		long := run >= affineRun || run == 1 && channels >= affineRun
		if known && bound && 0 < channels && channels <= affineChannels && long {
			repeat := func(v float64) []float32 { return slices.Repeat([]float32{float32(v)}, channels) }
			b.normalize(n, repeat(alpha), repeat(beta))
			return true
		}
	}
	y := b.apply("Mul", 14, []string{n.Inputs[0], b.float(alpha)})
	b.replaceRoot(n, "", "Add", 14, []string{y, b.float(beta)})
	return true
}

// normalize replaces n by a BatchNormalization with mean 0 and variance 1. It multiplies each
// channel by its scale and adds its bias.
func (b *builder) normalize(n *graph.Node, scale, bias []float32) {
	inputs := []string{n.Inputs[0]}
	zeros, ones := make([]float32, len(scale)), slices.Repeat([]float32{1}, len(scale))
	for i, list := range [][]float32{scale, bias, zeros, ones} {
		t := tensor.New(tensor.F32, len(list))
		copy(tensor.View[float32](t), list)
		inputs = append(inputs, b.add([]string{"scale", "bias", "mean", "variance"}[i], t))
	}
	b.replaceRoot(n, "", "BatchNormalization", 15, inputs, floatAttr("epsilon", 0))
}

// expandScaled expands alpha·f(beta·x).
func expandScaled(f string) func(b *builder, n *graph.Node) bool {
	return func(b *builder, n *graph.Node) bool {
		y := b.apply("Mul", 14, []string{n.Inputs[0], b.float(floatOr(n, "beta", 1))})
		y = b.apply(f, 13, []string{y})
		b.replaceRoot(n, "", "Mul", 14, []string{y, b.float(floatOr(n, "alpha", 1))})
		return true
	}
}

// expandImageScaler multiplies by a number and adds a bias to each channel.
func expandImageScaler(b *builder, n *graph.Node) bool {
	bias := attrs(n).Floats("bias")
	b.normalize(n, slices.Repeat([]float32{float32(floatOr(n, "scale", 1))}, len(bias)), bias)
	return true
}

// expandMeanVariance subtracts means and divides by standard deviations plus 1e-9, as the operator
// is defined. If the node names no axes, they depend on the rank.
func expandMeanVariance(b *builder, n *graph.Node) bool {
	var axes []int64
	if a := n.Attr("axes"); a != nil {
		axes = a.Ints
	} else if rank, known := b.rank(n.Inputs[0]); known {
		axes = slices.DeleteFunc([]int64{0, 2, 3}, func(axis int64) bool { return axis >= int64(rank) })
	}
	if len(axes) == 0 {
		return false
	}
	means := func(x string) string { return b.apply("ReduceMean", 13, []string{x}, intsAttr("axes", axes...)) }
	d := b.apply("Sub", 14, []string{n.Inputs[0], means(n.Inputs[0])})
	v := b.apply("Sqrt", 13, []string{means(b.apply("Mul", 14, []string{d, d}))})
	b.replaceRoot(n, "", "Div", 14, []string{d, b.apply("Add", 14, []string{v, b.float(1e-9)})})
	return true
}

// expandHardmax sets the first of the largest elements to 1.
func expandHardmax(b *builder, n *graph.Node) bool {
	rank, known := b.rank(n.Inputs[0])
	axis := int(intOr(n, "axis", -1))
	if n.Version < 13 {
		if axis = int(intOr(n, "axis", 1)); known && axis != rank-1 && axis != -1 {
			return false // the operator joins several axes
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
	inputs := []string{at, b.add("depth", depth), b.add("values", values)}
	b.replaceRoot(n, "", "OneHot", 11, inputs, intAttr("axis", int64(axis)))
	return true
}

// expandLinearGate computes the decay, and the update rate if it is an output.
func expandLinearGate(b *builder, n *graph.Node) bool {
	decay := b.apply("Softplus", 1, []string{b.apply("Add", 14, []string{n.Inputs[0], n.Inputs[1]})})
	if len(n.Outputs) > 1 && n.Outputs[1] != "" {
		rate := instead(n, "", "Sigmoid", 13, n.Inputs[3:4])
		rate.Name, rate.Outputs = b.fresh("Sigmoid"), n.Outputs[1:2]
		b.nodes = append(b.nodes, rate)
	}
	b.replaceRoot(n, "", "Mul", 14, []string{decay, n.Inputs[2]})
	return true
}

// maxTaps bounds the characters of a window of expandWordConv.
const maxTaps = 8

// expandWordConv embeds words by a convolution over their characters, a maximum over its windows,
// and tanh. Each position of a window has a table with a row per character. A window sums the rows
// of its characters. Windows end within the word; if it is shorter than a window, there is one, at
// its first character. Windows that would end beyond the word repeat its last one, which leaves the
// maximum as it is. All characters are looked up among the table's indices, so that none outside
// the table goes unseen. Characters below 0 become too large for it, because Gather would count
// them from the end.
func expandWordConv(b *builder, n *graph.Node) bool {
	ids, weights, bias, table := n.Inputs[0], n.Inputs[1], n.Inputs[2], n.Inputs[3]
	words, w := b.dims(ids), b.dims(weights)
	shape, known := w.Concrete()
	if !known || len(shape) != 4 || len(words) != 2 || len(b.dims(table)) != 2 || !b.hasDims(bias, w[:1]) {
		return false
	}
	length, known := words[1].Value()
	window := shape[2]
	if !known || shape[1] != 1 || window < 1 || window > min(length, maxTaps) {
		return false
	}
	begins := make([]int32, length-window+1)
	for i := range begins {
		begins[i] = int32(i)
	}
	count := b.cast(b.apply("Greater", 13, []string{ids, b.int32s(0)}), tensor.I32)
	count = b.apply("ReduceSum", 13, []string{count, b.vector(1)})
	last := b.apply("Max", 13, []string{b.apply("Sub", 14, []string{count, b.int32s(int32(window))}), b.int32s(0)})
	places := b.apply("Min", 13, []string{b.int32s(begins...), last}) // [words,begins]
	codes, y := b.apply("Gather", 13, []string{b.indices(table), b.cast(b.cast(ids, tensor.U32), tensor.I64)}), ""
	for k := range window {
		filters := b.apply("Gather", 13, []string{weights, b.index(k)}, intAttr("axis", 2)) // [filters,1,size]
		filters = b.apply("Squeeze", 13, []string{filters, b.vector(1)})
		filters = b.apply("Transpose", 13, []string{filters})    // [size,filters]
		given := b.apply("MatMul", 13, []string{table, filters}) // [characters,filters]
		if k == 0 {
			given = b.apply("Add", 14, []string{given, bias})
		}
		at := b.apply("Add", 14, []string{places, b.int32s(int32(k))})
		at = b.apply("GatherElements", 13, []string{codes, at}, intAttr("axis", 1))
		if given = b.apply("Gather", 13, []string{given, at}); k == 0 { // [words,begins,filters]
			y = given
		} else {
			y = b.apply("Add", 14, []string{y, given})
		}
	}
	y = b.apply("ReduceMax", 13, []string{y}, intsAttr("axes", 1), intAttr("keepdims", 0))
	first := b.apply("Slice", 13, []string{ids, b.vector(0), b.vector(1), b.vector(1)})
	empty := b.apply("Equal", 13, []string{first, b.int32s(0)})
	b.replaceRoot(n, "", "Where", 16, []string{empty, b.float(0), b.apply("Tanh", 13, []string{y})})
	return true
}

// expandScaledSiLU computes x·sigmoid(x) of elements times a number.
func expandScaledSiLU(b *builder, n *graph.Node) bool {
	x, scale := n.Inputs[0], ""
	if len(n.Inputs) > 1 && n.Inputs[1] != "" {
		rank, known := b.rank(n.Inputs[1])
		if most, all := b.rank(x); !known || !all || rank > most {
			return false
		}
		if scale = n.Inputs[1]; b.dtype(scale) != tensor.F32 {
			scale = b.cast(scale, tensor.F32)
		}
	} else if alpha := floatOr(n, "alpha", 1); alpha != 1 {
		scale = b.float(alpha)
	}
	if scale != "" {
		x = b.apply("Mul", 14, []string{x, scale})
	}
	b.replaceRoot(n, "", "Swish", 24, []string{x})
	return true
}

// expandEngramGate computes the gates from the sums of squares of keys and queries and their dot
// product, for each stream of each token.
func expandEngramGate(b *builder, n *graph.Node) bool {
	key, query, value := n.Inputs[0], n.Inputs[1], n.Inputs[2]
	d := b.dims(key)
	if len(d) != 4 || !d[3].IsKnown() || d[3].Is(0) {
		return false
	}
	size, _ := d[3].Value()
	epsilon := b.float(floatOr(n, "epsilon", 1e-5))
	binary := func(op, x, y string) string { return b.apply(op, 14, []string{x, y}) }
	unary := func(op, x string) string { return b.apply(op, 13, []string{x}) }
	sum := func(op, x string) string { return b.apply(op, 13, []string{x, b.vector(-1)}) }
	root := func(x string) string { // of the mean of squares
		squares := b.apply("ReduceSumSquare", 18, []string{x, b.vector(-1)})
		return unary("Sqrt", binary("Add", binary("Mul", squares, b.float(1/float64(size))), epsilon))
	}
	scaled := binary("Mul", binary("Mul", key, query), binary("Mul", n.Inputs[3], n.Inputs[4]))
	dot := binary("Div", binary("Div", sum("ReduceSum", scaled), root(key)), root(query))
	dot = binary("Mul", dot, b.float(1/math.Sqrt(float64(size))))
	size1 := unary("Sqrt", b.apply("Max", 13, []string{unary("Abs", dot), b.float(1e-6)}))
	gate := unary("Sigmoid", binary("Mul", size1, unary("Sign", dot)))
	if value = b.apply("Unsqueeze", 13, []string{value, b.vector(2)}); len(n.Outputs) < 2 || n.Outputs[1] == "" {
		b.replaceRoot(n, "", "Mul", 14, []string{value, gate})
		return true
	}
	out := instead(n, "", "Mul", 14, []string{value, gate})
	out.Name = b.fresh("Mul")
	b.nodes = append(b.nodes, out)
	normed := instead(n, "", "Mul", 14, []string{binary("Div", out.Outputs[0], root(out.Outputs[0])), n.Inputs[5]})
	normed.Outputs = n.Outputs[1:2:2]
	b.nodes = append(b.nodes, normed)
	return true
}

// indices returns the indices of the first axis of x, int64.
func (b *builder) indices(x string) string {
	n := b.apply("Shape", 15, []string{x}, intAttr("start", 0), intAttr("end", 1))
	n = b.apply("Squeeze", 13, []string{n, b.vector(0)})
	return b.apply("Range", 11, []string{b.index(0), n, b.index(1)})
}

// int32s adds a vector of int32.
func (b *builder) int32s(v ...int32) string {
	t := tensor.New(tensor.I32, len(v))
	copy(tensor.View[int32](t), v)
	return b.add("ints", t)
}

// index adds a scalar index.
func (b *builder) index(v int) string {
	t := tensor.New(tensor.I64)
	tensor.View[int64](t)[0] = int64(v)
	return b.add("index", t)
}

// expandInteger16 multiplies in float64 and keeps the low 32 bits. Sums of at most most products
// are exact there.
func expandInteger16(b *builder, n *graph.Node) bool {
	const most = 1 << 21 // products of 31 bits in sums of 52
	d := b.dims(n.Inputs[0])
	if len(d) == 0 || len(b.dims(n.Inputs[1])) == 0 {
		return false
	}
	if k, known := d[len(d)-1].Value(); !known || k > most {
		return false
	}
	y := b.apply("MatMul", 13, []string{b.cast(n.Inputs[0], tensor.F64), b.cast(n.Inputs[1], tensor.F64)})
	b.replaceRoot(n, "", "Cast", 13, []string{b.cast(y, tensor.I64)}, typeAttr("to", b.dtype(n.Outputs[0])))
	return true
}

// expandFpQ4 rearranges constant weights for MatMulNBits.
func expandFpQ4(b *builder, n *graph.Node) bool {
	const block, codes = 32, 16 // numbers of a block and bytes of their codes; a block begins with its scale
	data, extents := b.constant(n.Inputs[1]), b.constant(n.Inputs[2])
	if data == nil || extents == nil || intOr(n, "blk_quant_type", 1) != 0 {
		return false
	}
	list, err := op.Ints(extents)
	if err != nil || len(list) != 2 || list[0] < 1 || list[1] < 1 || list[0] > kit.MaxElements {
		return false
	}
	blocks := (list[0] + block - 1) / block
	from := data.Bytes()
	if len(from)%(4+codes) != 0 || len(from)/(4+codes)%blocks != 0 || len(from)/(4+codes)/blocks != list[1] {
		return false
	}
	w, scales := tensor.New(tensor.U8, list[1], blocks, codes), tensor.New(tensor.F32, list[1]*blocks)
	for i, to := 0, w.Bytes(); len(from) > 0; i, from, to = i+1, from[4+codes:], to[codes:] {
		copy(scales.Bytes()[4*i:][:4], from)
		for j := range codes / 2 {
			p, q := from[4+2*j], from[4+2*j+1]
			to[j], to[codes/2+j] = p&15|q<<4, p>>4|q&0xf0
		}
	}
	b.replaceRoot(n, kit.Microsoft, "MatMulNBits", 1,
		[]string{n.Inputs[0], b.add(n.Inputs[1], w), b.add("scales", scales)},
		intAttr("K", int64(list[0])), intAttr("N", int64(list[1])), intAttr("bits", 4), intAttr("block_size", block))
	return true
}

// expandCrossEntropy computes the logarithms by a LogSoftmax, and the loss from them.
func expandCrossEntropy(b *builder, n *graph.Node) bool {
	logs := &graph.Node{
		Name: b.fresh("LogSoftmax"), Op: "LogSoftmax", Version: 13, Inputs: n.Inputs[:1:1],
		Attrs: []*graph.Attr{intAttr("axis", 1)},
	}
	if logs.Outputs = []string{logs.Name}; len(n.Outputs) > 1 && n.Outputs[1] != "" {
		logs.Outputs = n.Outputs[1:2:2]
	}
	b.nodes = append(b.nodes, logs)
	b.replaceRoot(n, "", "NegativeLogLikelihoodLoss", 13, append(slices.Clone(logs.Outputs), n.Inputs[1:]...), n.Attrs...)
	return true
}
