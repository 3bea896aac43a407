package array

import (
	"errors"
	"fmt"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Copy is a strided copy from an input, or from a constant, to an output: for every index i below
// the extents, element To + Σ i·To of the output becomes element From + Σ i·From of the source.
// Extents, steps and offsets are in elements and may be expressions over lengths.
type Copy struct {
	In       int            // the input; ignored if Value is set
	Value    *tensor.Tensor // a constant source; nil for input In
	Out      int
	From, To graph.Dim
	Axes     []CopyAxis // outermost first in the output
}

// CopyAxis is one axis of a Copy: its extent, and the steps to the next index in the source and in
// the output. A step From of 0 repeats elements.
type CopyAxis struct{ N, From, To graph.Dim }

// Copier is an operator that copies elements of inputs or constants to its outputs. Each output
// element is copied once, from a position that does not depend on the values of elements.
type Copier interface {
	op.Op
	// Copies returns the copies that make the outputs. c describes inputs and outputs; outputs that
	// are left out are nil. If the elements of an input must be known, the error is an
	// *ElementsError. If extents must be numbers, it is ErrSymbolic.
	Copies(c *op.Infer) ([]Copy, error)
}

// ElementsError reports that the elements of an input must be known.
type ElementsError struct{ Input int }

// Error names the input.
func (e *ElementsError) Error() string {
	return fmt.Sprintf("the elements of input %d are not known", e.Input)
}

// ErrSymbolic reports that extents must be numbers.
var ErrSymbolic = errors.New("extents are not numbers")

// wants reports whether the node has output i.
func wants(c *op.Infer, i int) bool { return i < len(c.Out) && c.Out[i] != nil }

// intsOf returns the integers of input i: axes, one number per axis, or extents. If they are
// unknown, it returns an *ElementsError.
func intsOf(c *op.Infer, i int) ([]int, error) {
	if c.In[i].Const == nil {
		return nil, &ElementsError{i}
	}
	if n := c.In[i].Const.Len(); n > op.MaxInts {
		return nil, graph.Errorf(graph.ErrShape, "input %d has %d elements for the axes of a value", i, n)
	}
	return op.Ints(c.In[i].Const)
}

// shapeIn returns the extents of input i. If they are not numbers, it returns ErrSymbolic.
func shapeIn(c *op.Infer, i int) (tensor.Shape, error) {
	s, ok := c.In[i].Dims.Concrete()
	if !ok {
		return nil, ErrSymbolic
	}
	return s, nil
}

// wantDims returns an error if output i has other extents than dims, which the inputs require. The
// two can differ if a shape is computed in every run.
func wantDims(c *op.Infer, i int, dims graph.Dims) error {
	out := c.Out[i].Dims
	ok := len(out) == len(dims)
	for a := 0; ok && a < len(dims); a++ {
		ok = !out[a].IsKnown() || !dims[a].IsKnown() || out[a].Same(dims[a])
	}
	if !ok {
		return fmt.Errorf("output %d is %v where the inputs ask for %v", i, out, dims)
	}
	return nil
}

// runCopies computes the outputs of a Copier in Go.
func runCopies(o Copier, c *op.Run) error {
	known := &op.Infer{In: c.Known(), Out: kit.Values(c.Out)}
	list, err := o.Copies(known)
	if err != nil {
		return err
	}
	pace := c.Pace()
	for _, x := range list {
		kit.CopyStrided(pace, x.of(c))
	}
	return nil
}

// of returns the copy between the operands of a run.
func (x *Copy) of(c *op.Run) kit.Strided {
	s := kit.Strided{Src: x.Value, Dst: c.Out[x.Out]}
	if s.Src == nil {
		s.Src = c.In[x.In]
	}
	s.SrcAt, _ = x.From.Value()
	s.DstAt, _ = x.To.Value()
	for _, a := range x.Axes {
		var y kit.StridedAxis
		y.N, _ = a.N.Value()
		y.From, _ = a.From.Value()
		y.To, _ = a.To.Value()
		s.Axes = append(s.Axes, y)
	}
	return s
}

// permutedAxes returns the axes of a copy of input 0, viewed with extents dims, that puts its axes
// in the order perm.
func permutedAxes(dims graph.Dims, perm []int) []CopyAxis {
	from := kit.StridesOf(dims)
	out := make(graph.Dims, len(perm))
	for i, p := range perm {
		out[i] = dims[p]
	}
	to := kit.StridesOf(out)
	axes := make([]CopyAxis, len(perm))
	for i, p := range perm {
		axes[i] = CopyAxis{out[i], from[p], to[i]}
	}
	return axes
}

// fillOf returns the copy that sets all elements of output 0 to the first element of value.
func fillOf(value *tensor.Tensor, out graph.Dims) Copy {
	return Copy{Value: value, Axes: []CopyAxis{{out.Len(), graph.Dim{}, graph.Known(1)}}}
}

// wantShape returns an error if the output has another shape than the inputs require. The two can
// differ if a shape is computed in every run.
func wantShape(out *tensor.Tensor, shape tensor.Shape) error {
	if !out.Shape().Equal(shape) {
		return fmt.Errorf("output is %v where the inputs ask for %v", out, shape)
	}
	return nil
}
