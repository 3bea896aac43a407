package array

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// EyeLike makes a matrix of the input's shape with ones on the diagonal k.
type EyeLike struct {
	to tensor.DType // Invalid for the type of the input
	k  int
}

func newEyeLike(n *op.Node) (op.Op, error) {
	to, err := n.ElementType("dtype", tensor.Invalid, nil)
	if err != nil {
		return nil, err
	}
	return &EyeLike{to: to, k: n.Int("k", 0)}, nil
}

func (o *EyeLike) dtype(in tensor.DType) tensor.DType {
	if o.to != tensor.Invalid {
		return o.to
	}
	return in
}

func (o *EyeLike) Infer(c *op.Infer) error {
	in := c.In[0]
	if rank, ok := in.Rank(); ok && rank != 2 {
		return graph.Errorf(graph.ErrShape, "input is %v; it needs 2 axes", in.Type)
	}
	d := o.dtype(in.DType)
	if kit.One(d) == nil {
		return graph.Errorf(graph.ErrUnsupported, "a diagonal of elements of type %v", d)
	}
	c.Set(0, d, in.Dims)
	return nil
}

// Copies writes zeros around the diagonal, and ones on it.
func (o *EyeLike) Copies(c *op.Infer) ([]Copy, error) {
	d := c.Out[0].DType
	shape, ok := c.Out[0].Dims.Concrete()
	if !ok {
		return nil, ErrSymbolic
	}
	list := []Copy{}
	rows, cols, total := shape[0], shape[1], shape.Len()
	k := min(max(o.k, -rows), cols)
	r, q := max(-k, 0), max(k, 0)
	n := max(min(rows-r, cols-q), 0)
	// The elements before the diagonal, between two of its ones, and after it are zeros.
	first, zero := r*cols+q, tensor.New(d, 1)
	fill := func(at, groups, length int) {
		list = append(list, Copy{Value: zero, To: graph.Known(at), Axes: []CopyAxis{
			{N: graph.Known(groups), To: graph.Known(cols + 1)}, {N: graph.Known(length), To: graph.Known(1)}}})
	}
	if n == 0 {
		fill(0, 1, total)
		return list, nil
	}
	behind := first + (n-1)*(cols+1) + 1
	fill(0, 1, first)
	fill(first+1, n-1, cols)
	fill(behind, 1, total-behind)
	return append(list, Copy{Value: kit.One(d), To: graph.Known(first),
		Axes: []CopyAxis{{N: graph.Known(n), To: graph.Known(cols + 1)}}}), nil
}

// Run computes the output in Go.
func (o *EyeLike) Run(c *op.Run) error { return runCopies(o, c) }

var eyeLikeRows = []op.Row{
	{Name: "EyeLike", Since: []int{9, 22}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: numericOrBool, Flat: true, New: newEyeLike},
}

var numericOrBool = slices.Concat(op.Numeric, op.Boolean)
