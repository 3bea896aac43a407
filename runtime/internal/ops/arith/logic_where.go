package arith

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Where selects each element from input 1 if input 0 is true there, else from input 2.
type Where struct{}

func newWhere(*op.Node) (op.Op, error) { return &Where{}, nil }

// Infer broadcasts the extents.
func (o *Where) Infer(c *op.Infer) error {
	if c.In[0].DType != tensor.Bool {
		return graph.Errorf(graph.ErrShape, "input 0 has element type %v; it must be bool", c.In[0].DType)
	}
	if err := kit.SameTypes(c.In[1:]); err != nil {
		return err
	}
	if d := c.In[1].DType; d != tensor.String && d.Bits()%8 != 0 {
		return graph.Errorf(graph.ErrUnsupported, "elements of type %v share bytes; cast them first", d)
	}
	dims, err := op.Broadcast(c.In[0].Dims, c.In[1].Dims, c.In[2].Dims)
	if err != nil {
		return err
	}
	c.Set(0, c.In[1].DType, dims)
	inferWhere(c)
	return nil
}

// Run selects among strings.
func (o *Where) Run(c *op.Run) error {
	return whereStrings(c.Pace(), c.In[0], c.In[1], c.In[2], c.Out[0])
}

func whereStrings(pace *op.Pace, cond, a, b, y *tensor.Tensor) error {
	w, err := kit.NewWalker(y.Shape(), cond.Shape(), a.Shape(), b.Shape())
	if err != nil {
		return err
	}
	for i := range y.Strings() {
		pace.Work(32)
		if cond.Bytes()[w.At[0]] != 0 {
			y.Strings()[i] = a.Strings()[w.At[1]]
		} else {
			y.Strings()[i] = b.Strings()[w.At[2]]
		}
		w.Next()
	}
	return nil
}

// inferWhere is inferInts for a selection.
func inferWhere(c *op.Infer) {
	cond := c.In[0].Ints
	if t := c.In[0].Const; t != nil && t.Len() <= op.MaxInts {
		cond = make([]graph.Dim, 0, t.Len())
		for _, b := range t.Bytes() {
			cond = append(cond, graph.Known(int(min(b, 1))))
		}
	}
	if cond == nil {
		return
	}
	i := 0
	pick := &op.Infer{In: c.In[1:], Out: c.Out}
	inferInts(pick, func(list []graph.Dim) graph.Dim {
		if len(cond) != 1 && i >= len(cond) {
			return graph.Unknown()
		}
		k, known := cond[min(i, len(cond)-1)].Value()
		i++
		switch {
		case list[0].Same(list[1]), known && k != 0:
			return list[0]
		case known:
			return list[1]
		}
		return graph.Unknown()
	})
}

var whereRows = []op.Row{
	{Name: "Where", Since: []int{9, 16}, In: [2]int{3, 3}, Out: [2]int{1, 1}, Typed: 1, InPlace: []int{1, 2}, Elementwise: true, New: newWhere},
}
