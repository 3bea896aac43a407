package array

import (
	"errors"
	"fmt"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Copy is a strided copy from an input, or from a constant, to an output: for every
// index i below the extents, element To + Σ i·To of the output becomes element
// From + Σ i·From of the source. Extents, steps and offsets are in elements and may be
// expressions over lengths.
type Copy struct {
	In       int            // the input; not looked at when Value is there
	Value    *tensor.Tensor // a constant source; nil for input In
	Out      int
	From, To graph.Dim
	Axes     []CopyAxis // outermost first in the output
}

// CopyAxis is one axis of a Copy: its extent and the steps to the next index in the
// source and in the output. A step From of 0 repeats elements.
type CopyAxis struct{ N, From, To graph.Dim }

// Copier is an operator whose outputs are elements of its inputs, each copied once
// from a place that does not depend on what elements are.
type Copier interface {
	op.Op
	// Copies returns the copies that make the outputs. In and Out of c are what is known
	// of inputs and outputs; outputs that are left out are nil. The error is an
	// *ElementsError when the elements of an input must be known, and ErrSymbolic when
	// extents must be numbers.
	Copies(c *op.Infer) ([]Copy, error)
}

// ElementsError says that the elements of an input must be known.
type ElementsError struct{ Input int }

// Error names the input.
func (e *ElementsError) Error() string {
	return fmt.Sprintf("the elements of input %d are not known", e.Input)
}

// ErrSymbolic says that extents must be numbers.
var ErrSymbolic = errors.New("extents are not numbers")

// wants reports whether output i is there.
func wants(c *op.Infer, i int) bool { return i < len(c.Out) && c.Out[i] != nil }

// elements returns the integers of input i, which must be known: numbers of axes, one of each
// axis, or extents.
func elements(c *op.Infer, i int) ([]int, error) {
	if c.In[i].Const == nil {
		return nil, &ElementsError{i}
	}
	if n := c.In[i].Const.Len(); n > op.MaxInts {
		return nil, graph.Errorf(graph.ErrShape, "input %d has %d elements for the axes of a value", i, n)
	}
	return op.Ints(c.In[i].Const)
}

// shapeIn returns the extents of input i, which must be numbers.
func shapeIn(c *op.Infer, i int) (tensor.Shape, error) {
	s, ok := c.In[i].Dims.Concrete()
	if !ok {
		return nil, ErrSymbolic
	}
	return s, nil
}

// wantDims reports an output whose extents are others than the inputs ask for, as when
// a shape is computed anew for every run.
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
	known := &op.Infer{In: c.Known(), Out: op.Values(c.Out)}
	list, err := o.Copies(known)
	if err != nil {
		return err
	}
	pace := c.Pace()
	for _, x := range list {
		op.CopyStrided(pace, x.of(c))
	}
	return nil
}

// of is the copy between the operands of a run.
func (x *Copy) of(c *op.Run) op.Strided {
	s := op.Strided{Src: x.Value, Dst: c.Out[x.Out]}
	if s.Src == nil {
		s.Src = c.In[x.In]
	}
	s.SrcAt, _ = x.From.Value()
	s.DstAt, _ = x.To.Value()
	for _, a := range x.Axes {
		var y op.StridedAxis
		y.N, _ = a.N.Value()
		y.From, _ = a.From.Value()
		y.To, _ = a.To.Value()
		s.Axes = append(s.Axes, y)
	}
	return s
}

// stridesOf returns the step, in elements, of every axis.
func stridesOf(dims graph.Dims) []graph.Dim {
	steps := make([]graph.Dim, len(dims))
	step := graph.Known(1)
	for i := len(dims) - 1; i >= 0; i-- {
		steps[i] = step
		step = step.Mul(dims[i])
	}
	return steps
}

// permutedAxes is the axes of the copy that writes input 0, seen as a value of those
// extents, with its axes in the order perm.
func permutedAxes(dims graph.Dims, perm []int) []CopyAxis {
	from := stridesOf(dims)
	out := make(graph.Dims, len(perm))
	for i, p := range perm {
		out[i] = dims[p]
	}
	to := stridesOf(out)
	axes := make([]CopyAxis, len(perm))
	for i, p := range perm {
		axes[i] = CopyAxis{out[i], from[p], to[i]}
	}
	return axes
}

// fillOf is the copy that writes the first element of a constant to all of output 0.
func fillOf(value *tensor.Tensor, out graph.Dims) Copy {
	return Copy{Value: value, Axes: []CopyAxis{{out.Len(), graph.Dim{}, graph.Known(1)}}}
}

// wantShape reports an output whose memory has another shape than the inputs
// ask for, as when a shape is computed anew for every run.
func wantShape(out *tensor.Tensor, shape tensor.Shape) error {
	if !out.Shape().Equal(shape) {
		return fmt.Errorf("output is %v where the inputs ask for %v", out, shape)
	}
	return nil
}
