package arith

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
)

// Variadic combines any number of values by a function of two, from left to right.
type Variadic struct {
	Func string // name of the function
	Mean bool   // divide by the number of inputs at the end
	dim  func(a, b graph.Dim) graph.Dim
}

// Infer broadcasts the extents.
func (o *Variadic) Infer(c *op.Infer) error {
	if err := kit.SameTypes(c.In); err != nil {
		return err
	}
	list := make([]graph.Dims, len(c.In))
	for i, v := range c.In {
		list[i] = v.Dims
	}
	dims, err := op.Broadcast(list...)
	if err != nil {
		return err
	}
	c.Set(0, c.In[0].DType, dims)
	if o.dim != nil {
		inferInts(c, func(list []graph.Dim) graph.Dim {
			d := list[0]
			for _, e := range list[1:] {
				d = o.dim(d, e)
			}
			return d
		})
	}
	return nil
}

func newVariadic(o Variadic) func(*op.Node) (op.Op, error) {
	return func(n *op.Node) (op.Op, error) {
		ignoreConsumed(n)
		v := o
		return &v, nil
	}
}

func variadicRow(name string, since []int, types op.Types, o Variadic) op.Row {
	return op.Row{Name: name, Since: since, In: [2]int{1, op.Any}, Out: [2]int{1, 1}, Types: types, InPlace: []int{0, 1},
		Elementwise: true, New: newVariadic(o)}
}

var variadicRows = []op.Row{
	differentiable(variadicRow("Sum", []int{1, 6, 8, 13}, op.Floats, Variadic{Func: "add"}), addDerivative),
	variadicRow("Mean", []int{1, 6, 8, 13}, op.Floats, Variadic{Func: "add", Mean: true}),
	variadicRow("Min", []int{1, 6, 8, 12, 13}, op.Numeric, Variadic{Func: "min", dim: graph.Dim.Min}),
	variadicRow("Max", []int{1, 6, 8, 12, 13}, op.Numeric, Variadic{Func: "max", dim: graph.Dim.Max}),
}
