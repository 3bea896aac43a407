package arith

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
)

// Einsum is the Einstein summation over any number of operands. Integers are computed in 64 bits
// and wrap around; 16-bit floats are computed in float32.
type Einsum struct{ equation *equation }

func newEinsum(n *op.Node) (op.Op, error) {
	e, err := parseEquation(n.Str("equation", ""))
	if err != nil {
		return nil, err
	}
	if len(e.terms) != len(n.Inputs) {
		return nil, graph.Errorf(graph.ErrFormat, "attribute equation has %d terms for %d inputs", len(e.terms),
			len(n.Inputs))
	}
	return &Einsum{equation: e}, nil
}

// Infer looks up the extents of the output's axes.
func (o *Einsum) Infer(c *op.Infer) error {
	if err := kit.SameTypes(c.In); err != nil {
		return err
	}
	c.Set(0, c.In[0].DType, nil)
	dims := make([]graph.Dims, len(c.In))
	for i, v := range c.In {
		if dims[i] = v.Dims; dims[i] == nil {
			return nil
		}
	}
	_, names, extents, err := o.equation.bind(dims)
	if err != nil {
		return err
	}
	out := make(graph.Dims, len(names))
	for i, name := range names {
		out[i] = extents[name]
	}
	c.Set(0, c.In[0].DType, out)
	return nil
}

// Axes names the axes of all operands and of the result by numbers, and returns the extent of every
// name. An operand axis with one element stretches to other axes with its name.
func (o *Einsum) Axes(operands []graph.Dims) (names [][]rune, out []rune, extents map[rune]graph.Dim, err error) {
	return o.equation.bind(operands)
}

var einsumRows = []op.Row{
	{Name: "Einsum", Since: []int{12}, In: [2]int{1, op.Any}, Out: [2]int{1, 1}, Types: op.Numeric, Derivative: einsumDerivative, Items: itemsOfEinsum, New: newEinsum},
}
