package cpu

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
	"github.com/nacre-ml/nacre/runtime/internal/ops/attention"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var flexRows = []row{
	rowFor("flex", bindFlexAttention),
}

// flexing is a run of FlexAttention; it implements attention.FlexKernels.
type flexing struct{ *calls }

// bindFlexAttention makes a step in Go, because the node's graphs run between the commands.
func bindFlexAttention(o *attention.FlexAttention, b *binder) error {
	dev := b.dev
	b.step.Call = func(c *op.Run) error { return o.Compute(c, flexing{dev.calls(c)}) }
	return nil
}

// Scores multiplies the heads of a by those of b, transposed.
func (f flexing) Scores(a, b *tensor.Tensor, scale float32, y *tensor.Tensor) error {
	if err := f.product(a, b, true, y); err != nil {
		return err
	}
	if scale == 1 || y.Len() == 0 {
		return f.runAll()
	}
	d := y.DType()
	k := f.function(d, "mul")
	by := constant(scale)
	if d == tensor.F64 {
		by = constant(float64(scale))
	}
	l, dims, at := storage{bytes: d.Bytes(1)}, graph.DimsOf(y.Shape()), f.of(y)
	if err := f.pairs(k, l, l, l, at, by, at, dims, dims, graph.Dims{}); err != nil {
		return err
	}
	return f.runAll()
}

// Product multiplies the heads of a by those of b.
func (f flexing) Product(a, b, y *tensor.Tensor) error {
	if err := f.product(a, b, false, y); err != nil {
		return err
	}
	return f.runAll()
}

func (f flexing) product(a, b *tensor.Tensor, transposed bool, y *tensor.Tensor) error {
	if y.Len() == 0 {
		return nil
	}
	s, t, one := graph.DimsOf(a.Shape()), graph.DimsOf(b.Shape()), graph.Known(1)
	p := &lower.Product{M: s[2], N: t[3], K: s[3], ARow: s[3], ACol: one, BRow: t[3], BCol: one}
	if transposed {
		p.N, p.BRow, p.BCol = t[2], one, t[3]
	}
	group := graph.Known(a.Shape()[1] / b.Shape()[1])
	head, other := s[2].Mul(s[3]), t[2].Mul(t[3])
	p.Batch = []lower.BatchAxis{
		{N: s[0], A: s[1].Mul(head), B: t[1].Mul(other)},
		{N: t[1], A: group.Mul(head), B: other},
		{N: group, A: head},
	}
	return f.multiply(a.DType(), p, f.of(a), f.of(b), f.of(y))
}

// Softmax computes the softmax of rows.
func (f flexing) Softmax(x, y *tensor.Tensor) error {
	half := f.halfOfAll(x.DType())
	d := graph.DimsOf(x.Shape())
	w := softmaxWords(d[:3].Len(), d[3], graph.Known(1), false, x.DType(), half)
	if err := f.float32("f32_softmax", w, half, f.of(x), f.of(y)); err != nil {
		return err
	}
	return f.runAll()
}
