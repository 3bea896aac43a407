package op

import (
	"github.com/nacre-ml/nacre/runtime/graph"
)

// Variadic joins any number of values by a function of two, from the first on.
type Variadic struct {
	Func string // name of the function
	Mean bool   // divide by the number of inputs in the end
	dim  func(a, b graph.Dim) graph.Dim
}

// Infer broadcasts the extents.
func (o *Variadic) Infer(c *Infer) error {
	if err := sameTypes(c.In); err != nil {
		return err
	}
	list := make([]graph.Dims, len(c.In))
	for i, v := range c.In {
		list[i] = v.Dims
	}
	dims, err := broadcastAll(list...)
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

func newVariadic(o Variadic) func(*Node) (Op, error) {
	return func(n *Node) (Op, error) {
		ignoreConsumed(n)
		v := o
		return &v, nil
	}
}

func variadicRow(name string, since []int, types Types, o Variadic) Row {
	return Row{Name: name, Since: since, In: [2]int{1, Any}, Out: [2]int{1, 1}, Types: types, InPlace: []int{0, 1}, New: newVariadic(o)}
}

var variadicRows = []Row{
	variadicRow("Sum", []int{1, 6, 8, 13}, floats, Variadic{Func: "add"}),
	variadicRow("Mean", []int{1, 6, 8, 13}, floats, Variadic{Func: "add", Mean: true}),
	variadicRow("Min", []int{1, 6, 8, 12, 13}, numeric, Variadic{Func: "min", dim: graph.Dim.Min}),
	variadicRow("Max", []int{1, 6, 8, 12, 13}, numeric, Variadic{Func: "max", dim: graph.Dim.Max}),
}
