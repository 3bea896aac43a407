package cpu

import (
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/array"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var randomRows = []row{
	rowFor("random", bindRandomFill),
	rowFor("random", bindBernoulli),
}

// randomStorage holds the conversions between elements of type d and float64. The zero Kernel is no
// conversion.
type randomStorage struct {
	bytes        int
	first, later bindings.Kernel
}

func (w *words) randomStorage(l randomStorage) {
	w.int(l.bytes)
	w.part(l.first, l.later)
}

// fromDoubles returns the storage of an output. Float64 is rounded to float32 before it is rounded
// to 16 bits, as in Go and in the shader, so that all devices draw the same numbers from a seed.
func (b *binder) fromDoubles(d tensor.DType) randomStorage {
	l := randomStorage{bytes: d.Bits() / 8}
	switch {
	case d == tensor.F64:
	case d == tensor.F16, d == tensor.BF16:
		l.first, l.later = b.kernel("f64_to_f32"), b.kernel("f32_to_"+d.Short())
	case d.Short() == "":
		b.Note(device.Refuse("%v elements are drawn in Go", d))
	default:
		l.first = b.kernel("f64_to_" + d.Short())
	}
	return l
}

// toDoubles returns the storage of an input of floats.
func (b *binder) toDoubles(d tensor.DType) randomStorage {
	l := randomStorage{bytes: d.Bits() / 8}
	switch d {
	case tensor.F64:
	case tensor.F16, tensor.BF16:
		l.first, l.later = b.kernel(d.Short()+"_to_f32"), b.kernel("f32_to_f64")
	default:
		l.first = b.kernel(d.Short() + "_to_f64")
	}
	return l
}

// randomFillWords is nacre_random_fill_words of csrc/random/random.h.
func randomFillWords(n graph.Dim, key uint64, o *array.RandomFill, y randomStorage) (w words) {
	w.dim(n)
	w.int(int(key))
	w.bool(o.Normal)
	w.float(o.A, o.B)
	w.randomStorage(y)
	return w
}

// bernoulliWords is nacre_random_bernoulli_words of csrc/random/random.h.
func bernoulliWords(n graph.Dim, key uint64, x, y randomStorage) (w words) {
	w.dim(n)
	w.int(int(key))
	w.randomStorage(x)
	w.randomStorage(y)
	return w
}

func bindRandomFill(o *array.RandomFill, b *binder) error {
	y := b.fromDoubles(b.Out[0].DType)
	wordsOf := func(n graph.Dim, key uint64) words { return randomFillWords(n, key, o, y) }
	return b.drawn(o.RandomSource, "random_fill", wordsOf, y)
}

func bindBernoulli(o *array.Bernoulli, b *binder) error {
	x, y := b.toDoubles(b.DType(0)), b.fromDoubles(b.Out[0].DType)
	wordsOf := func(n graph.Dim, key uint64) words { return bernoulliWords(n, key, x, y) }
	return b.drawn(o.RandomSource, "random_bernoulli", wordsOf, x, y)
}

// drawn adds a command of an op if the node has a seed. Without a seed, every run makes the command
// with a key of its own. The operands are
// len(all)-1 inputs and output 0.
func (b *binder) drawn(s array.RandomSource, name string, wordsOf func(n graph.Dim, key uint64) words,
	all ...randomStorage) error {
	var parts []bindings.Kernel
	for _, l := range all {
		parts = append(parts, l.first, l.later)
	}
	inputs := len(all) - 1
	if s.Seeded {
		var operands []device.Operand
		for i := range inputs {
			operands = append(operands, b.in(i))
		}
		return b.runWith(name, parts, wordsOf(b.Out[0].Dims.Len(), s.Seed), append(operands, b.out(0))...)
	}
	dev := b.dev
	b.step.Call = func(c *op.Run) error {
		calls := dev.calls(c)
		var operands []device.Operand
		for i := range inputs {
			operands = append(operands, calls.of(c.In[i].Aligned()))
		}
		operands = append(operands, calls.of(c.Out[0]))
		if err := calls.runWith(name, parts, wordsOf(graph.Known(c.Out[0].Len()), s.Key(c.Ctx)), operands...); err != nil {
			return err
		}
		return calls.runAll()
	}
	return nil
}
