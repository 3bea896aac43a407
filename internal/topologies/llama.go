package topologies

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// LlamaSize is the extents of a decoder. With FourBits, its products take weights of 4 bits, in
// blocks of 32 with a scale each, else of float32.
type LlamaSize struct {
	Layers, Width, Heads, KVHeads, Hidden, Words int
	FourBits                                     bool
}

// Llama returns the decoder of Touvron et al., "LLaMA" (2023), as converters write it: with the
// input input_ids, the output logits and a cache of keys and values.
func Llama(size LlamaSize) *graph.Model {
	l := &llama{Builder: graph.NewBuilder("llama"), LlamaSize: size, rand: rand.New(rand.NewPCG(1, 2))}
	l.build()
	return l.Model(&graph.Model{Producer: "nacre bench", IR: 10})
}

type llama struct {
	*graph.Builder
	LlamaSize
	rand *rand.Rand
	made int

	extents, last, total string
	cosines, sines       string
}

func (l *llama) head() int { return l.Width / l.Heads }

// weight adds a constant of normal numbers.
func (l *llama) weight(scale float64, shape ...int) string {
	t := tensor.New(tensor.F32, shape...)
	for i := range tensor.View[float32](t) {
		tensor.View[float32](t)[i] = float32(l.rand.NormFloat64() * scale)
	}
	l.made++
	return l.Weight(&graph.Initializer{Name: fmt.Sprint("weight_", l.made), Tensor: t})
}

func (l *llama) linear(x string, in, out int) string {
	if l.FourBits {
		return l.fourBits(x, in, out)
	}
	return l.Op("MatMul", []string{x, l.weight(1/math.Sqrt(float64(in)), in, out)})
}

// fourBits is linear with random codes as weights.
func (l *llama) fourBits(x string, in, out int) string {
	const block = 32
	codes, scales := tensor.New(tensor.U8, out, in/block, block/2), tensor.New(tensor.F32, out*in/block)
	for i := range codes.Bytes() {
		codes.Bytes()[i] = byte(l.rand.Uint32())
	}
	for i := range tensor.View[float32](scales) {
		tensor.View[float32](scales)[i] = float32(l.rand.Float64() / (4 * math.Sqrt(float64(in))))
	}
	l.made++
	name := fmt.Sprint("weight_", l.made)
	return l.Node("com.microsoft", "MatMulNBits", []string{x, l.Weight(&graph.Initializer{Name: name, Tensor: codes}),
		l.Weight(&graph.Initializer{Name: name + "_scales", Tensor: scales})}, 1,
		graph.IntAttr("K", int64(in)), graph.IntAttr("N", int64(out)), graph.IntAttr("bits", 4), graph.IntAttr("block_size", block))[0]
}

func (l *llama) norm(x string) string {
	return l.Op("RMSNormalization", []string{x, l.weight(1, l.Width)}, graph.FloatAttr("epsilon", 1e-5))
}

func (l *llama) build() {
	l.Opset("com.microsoft", 1)
	extents := func(dims ...string) graph.Dims {
		d := graph.Dims{}
		for _, x := range dims {
			d = append(d, graph.ParseDim(x))
		}
		return d
	}
	ids := l.Input("input_ids", graph.TensorOf(tensor.I64, extents("batch", "sequence")))
	kv, head := fmt.Sprint(l.KVHeads), fmt.Sprint(l.head())
	var pasts, presents []string
	for i := range 2 * l.Layers {
		what := []string{"key", "value"}[i%2]
		pasts = append(pasts, l.State(fmt.Sprintf("past_key_values.%d.%s", i/2, what),
			fmt.Sprintf("present.%d.%s", i/2, what), 2, graph.TensorOf(tensor.F32, extents("batch", kv, "past_sequence", head))))
	}
	l.positions(ids, pasts[0])
	x := l.Op("Gather", []string{l.weight(1, l.Words, l.Width), ids})
	for i := range l.Layers {
		y, present := l.attention(l.norm(x), pasts[2*i:])
		presents = append(presents, present...)
		x = l.Op("Add", []string{x, y})
		y = l.norm(x)
		gate := l.linear(y, l.Width, l.Hidden)
		gate = l.Op("Mul", []string{gate, l.Op("Sigmoid", []string{gate})})
		x = l.Op("Add", []string{x, l.linear(l.Op("Mul", []string{gate, l.linear(y, l.Width, l.Hidden)}), l.Hidden, l.Width)})
	}
	l.Output(l.linear(l.norm(x), l.Width, l.Words), "logits",
		graph.TensorOf(tensor.F32, extents("batch", "sequence", fmt.Sprint(l.Words))))
	for i, p := range presents {
		l.Output(p, fmt.Sprintf("present.%d.%s", i/2, []string{"key", "value"}[i%2]),
			graph.TensorOf(tensor.F32, extents("batch", kv, "past_sequence + sequence", head)))
	}
}

// positions adds the counts of rows, and the angles of the new ones.
func (l *llama) positions(ids, past string) {
	scalar := func(v string) string { return l.Op("Squeeze", []string{v, l.Ints(0)}) }
	l.extents = l.Op("Shape", []string{ids})
	before := l.Op("Shape", []string{past}, graph.IntAttr("start", 2), graph.IntAttr("end", 3))
	total := l.Op("Add", []string{before, l.Op("Shape", []string{ids}, graph.IntAttr("start", 1))})
	l.total = l.Op("Cast", []string{scalar(total)}, graph.IntAttr("to", 6))
	batch := l.Op("Shape", []string{ids}, graph.IntAttr("end", 1))
	l.last = l.Op("Cast", []string{l.Op("Expand", []string{l.Op("Sub", []string{total, l.Ints(1)}), batch})},
		graph.IntAttr("to", 6))
	frequencies := tensor.New(tensor.F32, l.head()/2)
	for i := range frequencies.Len() {
		tensor.View[float32](frequencies)[i] = float32(math.Pow(10000, -2*float64(i)/float64(l.head())))
	}
	angles := l.Op("Cast", []string{l.Op("Range", []string{scalar(before), scalar(total), l.Int(1)})},
		graph.IntAttr("to", 1))
	angles = l.Op("Mul", []string{l.Op("Unsqueeze", []string{angles, l.Ints(1)}), l.Constant(frequencies)})
	shape := l.Op("Concat", []string{l.extents, l.Ints(int64(l.head() / 2))}, graph.IntAttr("axis", 0))
	l.cosines = l.Op("Expand", []string{l.Op("Cos", []string{angles}), shape})
	l.sines = l.Op("Expand", []string{l.Op("Sin", []string{angles}), shape})
}

// attention returns the attended values and the next states.
func (l *llama) attention(x string, past []string) (y string, present []string) {
	narrow := l.KVHeads * l.head()
	rotated := func(x string, heads int) string {
		return l.Op("RotaryEmbedding", []string{x, l.cosines, l.sines}, graph.IntAttr("num_heads", int64(heads)))
	}
	q, k, v := rotated(l.linear(x, l.Width, l.Width), l.Heads), rotated(l.linear(x, l.Width, narrow), l.KVHeads),
		l.linear(x, l.Width, narrow)
	out := l.Node("com.microsoft", "GroupQueryAttention", []string{q, k, v, past[0], past[1], l.last, l.total}, 3,
		graph.IntAttr("num_heads", int64(l.Heads)), graph.IntAttr("kv_num_heads", int64(l.KVHeads)))
	return l.linear(out[0], l.Width, l.Width), out[1:]
}
