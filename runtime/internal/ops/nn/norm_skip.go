package nn

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// SkipNorm normalises the sum of two values and a bias (SkipLayerNormalization), or divides it by
// its root mean square (SkipSimplifiedLayerNormalization). Its outputs are the result, the mean and
// the inverse deviation of each row, and the sum.
type SkipNorm struct {
	Epsilon float32
	Centred bool
}

func newSkipNorm(centred bool) func(n *op.Node) (op.Op, error) {
	return func(n *op.Node) (op.Op, error) {
		return &SkipNorm{Epsilon: n.Float("epsilon", 1e-12), Centred: centred}, nil
	}
}

// Inputs returns the indices of the inputs beta, -1 for none, and bias.
func (o *SkipNorm) Inputs() (beta, bias int) {
	if o.Centred {
		return 3, 4
	}
	return -1, 3
}

// Infer keeps type and shape. The statistics have extent 1 along the last axis.
func (o *SkipNorm) Infer(c *op.Infer) error {
	if err := kit.SameTypes(c.In); err != nil {
		return err
	}
	x := c.In[0]
	stats := slices.Clone(x.Dims)
	if rank, ok := x.Rank(); ok {
		if rank < 2 {
			return graph.Errorf(graph.ErrShape, "input %v has fewer than two axes", x.Type)
		}
		if err := o.check(c, x.Dims); err != nil {
			return err
		}
		stats[rank-1] = graph.Known(1)
	}
	c.Set(0, x.DType, x.Dims)
	c.Set(1, tensor.F32, stats)
	c.Set(2, tensor.F32, stats)
	c.Set(3, x.DType, x.Dims)
	return nil
}

// check returns an error if an operand does not match x.
func (o *SkipNorm) check(c *op.Infer, x graph.Dims) error {
	n := x[len(x)-1]
	if n.Is(0) {
		return graph.Errorf(graph.ErrShape, "input %v has no elements to normalise", x)
	}
	if skip := c.In[1].Dims; skip != nil && !endsIn(x, skip) {
		return graph.Errorf(graph.ErrShape, "input %v and skip %v, which is added to it, do not go together", x, skip)
	}
	for _, v := range c.In[2:] {
		if v == nil || v.Dims == nil {
			continue
		}
		ok := len(v.Dims) == 1
		if ok {
			_, ok = kit.JoinDim(v.Dims[0], n)
		}
		if !ok {
			return graph.Errorf(graph.ErrShape, "parameter %v is not of [%v]", v.Type, n)
		}
	}
	return nil
}

// endsIn reports whether skip can equal the last axes of x, at least two. Leading axes of extent 1
// of skip do not count.
func endsIn(x, skip graph.Dims) bool {
	for len(skip) > 2 && skip[0].Is(1) {
		skip = skip[1:]
	}
	if len(skip) < 2 || len(skip) > len(x) {
		return false
	}
	for i, d := range x[len(x)-len(skip):] {
		if _, ok := kit.JoinDim(d, skip[i]); !ok {
			return false
		}
	}
	return true
}

// SimplifiedNorm is RMSNormalization under ONNX Runtime's name and with its second output.
type SimplifiedNorm struct{ LayerNorm }

func newSimplifiedNorm(n *op.Node) (op.Op, error) {
	o, err := newRowNorm(n, false)
	if err != nil {
		return nil, err
	}
	return &SimplifiedNorm{*o.(*LayerNorm)}, nil
}

// Infer keeps the shape. The statistics have extent 1 along the normalised axes.
func (o *SimplifiedNorm) Infer(c *op.Infer) error {
	all := &op.Infer{In: c.In, Out: []*op.Value{{}, {}, {}}}
	if err := o.LayerNorm.Infer(all); err != nil {
		return err
	}
	*c.Out[0] = *all.Out[0]
	if len(c.Out) > 1 {
		*c.Out[1] = *all.Out[2]
	}
	return nil
}

// Run computes the outputs. The first may share the memory of the input.
func (o *SimplifiedNorm) Run(c *op.Run) error {
	all := *c
	all.Out = []*tensor.Tensor{c.Out[0], nil, nil}
	if len(c.Out) > 1 {
		all.Out[2] = c.Out[1]
	}
	return o.LayerNorm.Run(&all)
}

var skipNormRows = []op.Row{
	{Domain: kit.Microsoft, Name: "SkipLayerNormalization", Since: []int{1}, In: [2]int{3, 5}, Out: [2]int{1, 4}, Types: kit.ComputedInF32, InPlace: []int{0}, Rowwise: kit.RowsOf(0, 1), Items: itemsOfSkipNorm, New: newSkipNorm(true)},
	{Domain: kit.Microsoft, Name: "SkipSimplifiedLayerNormalization", Since: []int{1}, In: [2]int{3, 4}, Out: [2]int{1, 4}, Types: kit.ComputedInF32, InPlace: []int{0}, Rowwise: kit.RowsOf(0, 1), Items: itemsOfSkipNorm, New: newSkipNorm(false)},
	// ONNX Runtime has this operator in the standard's domain.
	{Name: "SimplifiedLayerNormalization", Since: []int{1}, In: [2]int{2, 2}, Out: [2]int{1, 2}, Types: op.Floats, Heap: 16, Rowwise: rowsOfNorm, Items: itemsBefore(-1), New: newSimplifiedNorm},
	{Domain: kit.Microsoft, Name: "SimplifiedLayerNormalization", Since: []int{1}, In: [2]int{2, 2}, Out: [2]int{1, 2}, Types: op.Floats, Heap: 16, Rowwise: rowsOfNorm, Items: itemsBefore(-1), New: newSimplifiedNorm},
}
