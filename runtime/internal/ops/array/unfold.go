package array

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
)

// unfold is UnfoldTensor. It returns all windows of an axis; their elements are a new last axis.
type unfold struct{ axis, size, step int }

func newUnfold(n *op.Node) (op.Op, error) {
	o := &unfold{axis: n.Int("dim", -1), size: n.Int("size", 0), step: n.Int("step", 1)}
	if o.size < 1 || o.step < 1 {
		return nil, graph.Errorf(graph.ErrFormat, "size is %d and step %d; both must be positive", o.size, o.step)
	}
	return o, nil
}

// Infer counts the windows.
func (o *unfold) Infer(c *op.Infer) error {
	in := c.In[0]
	rank, ok := in.Rank()
	c.Set(0, in.DType, nil)
	if !ok {
		return nil
	}
	axis, err := op.NormAxis(o.axis, rank)
	if err != nil {
		return err
	}
	out := append(slices.Clone(in.Dims), graph.Known(o.size))
	if n, ok := out[axis].Value(); ok && n < o.size {
		return graph.Errorf(graph.ErrShape, "axis %d of %v is shorter than a window of %d", axis, in.Type, o.size)
	}
	out[axis] = out[axis].Sub(graph.Known(o.size)).Div(graph.Known(o.step)).Add(graph.Known(1))
	c.Set(0, in.DType, out)
	return nil
}

// Copies lets the windows overlap in the input.
func (o *unfold) Copies(c *op.Infer) ([]Copy, error) {
	in, ok := c.In[0].Dims.Concrete()
	if !ok {
		return nil, ErrSymbolic
	}
	axis, err := op.NormAxis(o.axis, len(in))
	if err != nil {
		return nil, err
	}
	shape := append(slices.Clone(in), o.size)
	shape[axis] = (in[axis]-o.size)/o.step + 1
	if err := wantDims(c, 0, graph.DimsOf(shape)); err != nil {
		return nil, err
	}
	from, to := in.Strides(), shape.Strides()
	known := graph.Known
	axes := make([]CopyAxis, len(shape))
	for a := range in {
		axes[a] = CopyAxis{known(shape[a]), known(from[a]), known(to[a])}
	}
	axes[axis].From = known(from[axis] * o.step)
	axes[len(in)] = CopyAxis{known(o.size), known(from[axis]), known(1)}
	return []Copy{{Axes: axes}}, nil
}

// Run computes the output in Go.
func (o *unfold) Run(c *op.Run) error { return runCopies(o, c) }

var unfoldRows = []op.Row{
	{Domain: kit.Microsoft, Name: "UnfoldTensor", Since: []int{1}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Selects: true, New: newUnfold},
}
