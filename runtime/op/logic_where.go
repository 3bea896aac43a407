package op

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// where takes elements from one of two inputs.
type Where struct{}

func newWhere(*Node) (Op, error) { return &Where{}, nil }

// Infer broadcasts the extents.
func (o *Where) Infer(c *Infer) error {
	if c.In[0].DType != tensor.Bool {
		return graph.Errorf(graph.ErrShape, "input 0 has element type %v; it must be bool", c.In[0].DType)
	}
	if err := sameTypes(c.In[1:]); err != nil {
		return err
	}
	if d := c.In[1].DType; d != tensor.String && d.Bits()%8 != 0 {
		return graph.Errorf(graph.ErrUnsupported, "elements of type %v share bytes; cast them first", d)
	}
	dims, err := broadcastAll(c.In[0].Dims, c.In[1].Dims, c.In[2].Dims)
	if err != nil {
		return err
	}
	c.Set(0, c.In[1].DType, dims)
	inferWhere(c)
	return nil
}

// Run chooses among strings.
func (o *Where) Run(c *Run) error { return whereStrings(c.In[0], c.In[1], c.In[2], c.Out[0]) }

func whereStrings(cond, a, b, y *tensor.Tensor) error {
	w, err := newWalker(y.Shape(), cond.Shape(), a.Shape(), b.Shape())
	if err != nil {
		return err
	}
	for i := range y.Strings() {
		if cond.Bytes()[w.at[0]] != 0 {
			y.Strings()[i] = a.Strings()[w.at[1]]
		} else {
			y.Strings()[i] = b.Strings()[w.at[2]]
		}
		w.next()
	}
	return nil
}

// inferWhere is inferInts for a selection.
func inferWhere(c *Infer) {
	cond := c.In[0].Ints
	if t := c.In[0].Const; t != nil && t.Len() <= maxInts {
		cond = make([]graph.Dim, 0, t.Len())
		for _, b := range t.Bytes() {
			cond = append(cond, graph.Known(int(min(b, 1))))
		}
	}
	if cond == nil {
		return
	}
	i := 0
	pick := &Infer{In: c.In[1:], Out: c.Out}
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

var whereRows = []Row{
	{Name: "Where", Since: []int{9, 16}, In: [2]int{3, 3}, Out: [2]int{1, 1}, Typed: 1, InPlace: []int{1, 2}, New: newWhere},
}

// walker steps through the elements of a result in order and keeps the places
// of the elements of inputs that broadcast to it.
type walker struct {
	at     []int // in each input
	index  []int
	shape  tensor.Shape
	stride [][]int // by axis, then input
}

func newWalker(y tensor.Shape, inputs ...tensor.Shape) (*walker, error) {
	dims, err := extentsUnder(y, inputs...)
	if err != nil {
		return nil, err
	}
	rank := len(y)
	w := &walker{at: make([]int, len(inputs)), index: make([]int, rank), shape: y, stride: make([][]int, rank)}
	for axis := range w.stride {
		w.stride[axis] = make([]int, len(inputs))
	}
	for k := range inputs {
		run := 1
		for axis := rank - 1; axis >= 0; axis-- {
			if n := dims[(k+1)*rank+axis]; n != 1 {
				w.stride[axis][k] = run
				run *= n
			}
		}
	}
	return w, nil
}

func (w *walker) next() {
	for axis := len(w.shape) - 1; axis >= 0; axis-- {
		w.index[axis]++
		for k, s := range w.stride[axis] {
			w.at[k] += s
		}
		if w.index[axis] < w.shape[axis] {
			return
		}
		w.index[axis] = 0
		for k, s := range w.stride[axis] {
			w.at[k] -= s * w.shape[axis]
		}
	}
}
