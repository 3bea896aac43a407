package arith

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Equal compares pairs of elements, numbers or strings.
type Equal struct{ Binary }

func newEqual(n *op.Node) (op.Op, error) {
	return &Equal{Binary{Func: "eq", Result: tensor.Bool, align: readAlignment(n)}}, nil
}

// Infer broadcasts the extents.
func (o *Equal) Infer(c *op.Infer) error {
	if err := o.Binary.Infer(c); err != nil {
		return err
	}
	inferEqual(c)
	return nil
}

// Run compares strings.
func (o *Equal) Run(c *op.Run) error {
	a, b, y := c.In[0], c.In[1], tensor.View[bool](c.Out[0])
	w, err := kit.NewWalker(c.Out[0].Shape(), a.Shape(), b.Shape())
	if err != nil {
		return err
	}
	pace := c.Pace()
	for i := range y {
		pace.Work(32 + len(a.Strings()[w.At[0]])/8)
		y[i] = a.Strings()[w.At[0]] == b.Strings()[w.At[1]]
		w.Next()
	}
	return nil
}

func newNot(*op.Node) (op.Op, error) { return &Unary{Func: "not", Result: tensor.Bool}, nil }

func logicRow(name string, since []int, types op.Types, function string, swap bool) op.Row {
	return flat(binaryRow(name, since, types, Binary{Func: function, Swap: swap, Result: tensor.Bool}))
}

var (
	since17    = []int{1, 7}
	since17913 = []int{1, 7, 9, 13}
	since1216  = []int{12, 16}
)

var compareRows = []op.Row{
	{Name: "Equal", Since: []int{1, 7, 11, 13, 19}, In: [2]int{2, 2}, Out: [2]int{1, 1}, Types: slices.Concat(op.Numeric, op.Boolean, op.Types{tensor.String}),
		InPlace: []int{0, 1}, Elementwise: true, Flat: true, New: newEqual},
	logicRow("Greater", since17913, op.Numeric, "gt", false),
	logicRow("Less", since17913, op.Numeric, "gt", true),
	logicRow("GreaterOrEqual", since1216, op.Numeric, "ge", false),
	logicRow("LessOrEqual", since1216, op.Numeric, "ge", true),
	logicRow("And", since17, op.Boolean, "and", false),
	logicRow("Or", since17, op.Boolean, "or", false),
	logicRow("Xor", since17, op.Boolean, "xor", false),
	{Name: "Not", Since: []int{1}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: op.Boolean, InPlace: []int{0}, Elementwise: true, Flat: true, New: newNot},
}

// inferEqual sets elements of the output to 0 or 1 if the elements of both inputs decide them, so
// that shapes chosen by Where stay known.
func inferEqual(c *op.Infer) {
	out := c.Out[0]
	if out.Dims == nil || len(out.Dims) > 1 {
		return
	}
	n, ok := out.Dims.Len().Value()
	a, known := c.In[0].IntVec()
	b, too := c.In[1].IntVec()
	if !ok || !known || !too || n > op.MaxInts || n < 0 {
		return
	}
	if len(a) != n && len(a) != 1 || len(b) != n && len(b) != 1 {
		return
	}
	out.Ints = make([]graph.Dim, n)
	for i := range out.Ints {
		out.Ints[i] = equalDims(a[min(i, len(a)-1)], b[min(i, len(b)-1)])
	}
}

// equalDims returns 1 if a and b are equal and 0 if they differ. They differ if one exceeds the
// other, or if one is negative and the other is not.
func equalDims(a, b graph.Dim) graph.Dim {
	x, known := a.Value()
	y, ok := b.Value()
	switch {
	case a.Same(b):
		return graph.Known(1)
	case a.Exceeds(b), b.Exceeds(a), kit.IsSymbol(a) && ok && y < 0, kit.IsSymbol(b) && known && x < 0:
		return graph.Known(0)
	}
	return graph.Unknown()
}
