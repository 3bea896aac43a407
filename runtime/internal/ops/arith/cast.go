package arith

import (
	"fmt"
	"strings"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Cast converts elements to another type: to the type that the node names, or, as CastLike, to the
// type of input 1.
type Cast struct {
	to       tensor.DType // Invalid for CastLike
	Saturate bool         // to narrow floats: values beyond all numbers become the greatest number
	rounding packed.Rounding
}

func newCast(n *op.Node) (op.Op, error) {
	o := &Cast{}
	var err error
	if n.Since < 6 {
		if o.to, err = tensorTypeNamed(n.Str("to", "")); err != nil {
			err = fmt.Errorf("attribute to: %w", err)
		}
	} else {
		o.to, err = castTarget(n)
	}
	if err != nil {
		return nil, err
	}
	return o, o.readRounding(n)
}

// castTarget returns the element type that attribute to names.
func castTarget(n *op.Node) (tensor.DType, error) {
	if !n.Has("to") {
		return tensor.Invalid, graph.Errorf(graph.ErrFormat, "attribute to is missing")
	}
	return n.ElementType("to", tensor.Invalid, nil)
}

func newCastLike(n *op.Node) (op.Op, error) {
	o := &Cast{}
	return o, o.readRounding(n)
}

func (o *Cast) readRounding(n *op.Node) error {
	o.Saturate = n.Since < 19 || n.Bool("saturate", true)
	if n.Since < 24 {
		return nil
	}
	switch mode := n.Str("round_mode", "up"); mode {
	case "up":
		o.rounding = packed.Up
	case "down":
		o.rounding = packed.Down
	case "nearest":
		o.rounding = packed.Nearest
	default:
		return graph.Errorf(graph.ErrFormat, "attribute round_mode is %q; it must be up, down or nearest", mode)
	}
	return nil
}

// Infer keeps the shape.
func (o *Cast) Infer(c *op.Infer) error {
	to := o.to
	if to == tensor.Invalid {
		if len(c.In) < 2 {
			return graph.Errorf(graph.ErrFormat, "input 1 is left out")
		}
		to = c.In[1].DType
	}
	if to.Blocks() != nil {
		return graph.Errorf(graph.ErrUnsupported, "elements are not cast to blocks of %v", to)
	}
	if from := c.In[0].DType; from.Kind() == tensor.Complex || to.Kind() == tensor.Complex || !from.Valid() || !to.Valid() {
		return graph.Errorf(graph.ErrUnsupported, "the standard has no cast from %v to %v", from, to)
	}
	c.Set(0, to, c.In[0].Dims)
	if c.In[0].DType.IsInteger() {
		inferInts(&op.Infer{In: c.In[:1], Out: c.Out}, func(list []graph.Dim) graph.Dim { return list[0] })
	}
	return nil
}

// digits is about the size in bytes of a number as text.
const digits = 24

// Run converts elements between any types.
func (o *Cast) Run(c *op.Run) error {
	x, y := c.In[0].Aligned(), c.Out[0]
	switch {
	case x.Len() == 0:
		return nil
	case x.DType() == y.DType():
		kit.CopyInto(y, x)
		return nil
	}
	if y.DType() == tensor.String {
		if err := c.Mem.Reserve(digits * y.Len()); err != nil {
			return err
		}
	}
	s := o.stepsFor(x.DType(), y.DType())
	if x.DType().Blocks() != nil && y.DType() != tensor.String {
		return c.Parallel(x.Len(), castBlock, func(from, to int) error { return s.run(c.Pace(), x, y, from, to) })
	}
	return s.run(c.Pace(), x, y, 0, x.Len())
}

var castRows = []op.Row{
	{Name: "Cast", Since: []int{1, 6, 9, 13, 19, 21, 23, 24, 25}, In: [2]int{1, 1}, Out: [2]int{1, 1}, InPlace: []int{0}, Elementwise: true, Blocks: true, Derivative: castDerivative, New: newCast},
	{Name: "CastLike", Since: []int{15, 19, 21, 23, 24, 25}, In: [2]int{2, 2}, Out: [2]int{1, 1}, InPlace: []int{0}, Derivative: castDerivative, New: newCastLike},
}

func tensorTypeNamed(name string) (tensor.DType, error) {
	switch name {
	case "FLOAT":
		return tensor.F32, nil
	case "DOUBLE":
		return tensor.F64, nil
	}
	d, err := tensor.ParseDType(strings.ToLower(name))
	if err != nil || d.String() != strings.ToLower(name) {
		return tensor.Invalid, graph.Errorf(graph.ErrFormat, "%q is no element type", name)
	}
	return d, nil
}
