package nn

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Recurrent is RNN, GRU and LSTM. A sequence without steps keeps the initial state. Clip bounds the
// sums of the gates, but not the cell before the last function of LSTM.
type Recurrent struct {
	Gates      int  // 1 for RNN, 3 for GRU, 4 for LSTM
	Hidden     int  // attribute hidden_size; 0 if it follows from the weights
	Directions int  // 1 or 2
	Reverse    bool // the first direction runs backwards
	BatchFirst bool // X, Y and the states have their batch axis first
	Linear     bool // GRU's linear_before_reset
	Cells      [2]RecurrentCell
}

func newRNN(n *op.Node) (op.Op, error) { return newRecurrent(n, 1, "Tanh") }

func newGRU(n *op.Node) (op.Op, error) { return newRecurrent(n, 3, "Sigmoid", "Tanh") }

// NewLSTM returns an LSTM with the attributes of n.
func NewLSTM(n *op.Node) (op.Op, error) { return newRecurrent(n, 4, "Sigmoid", "Tanh", "Tanh") }

func newRecurrent(n *op.Node, gates int, functions ...string) (op.Op, error) {
	o := &Recurrent{Gates: gates, Hidden: n.Int("hidden_size", 0), Directions: 1}
	n.Ignore("output_sequence")
	if n.Since >= 14 {
		layout := n.Int("layout", 0)
		if layout != 0 && layout != 1 {
			return nil, graph.Errorf(graph.ErrFormat, "layout is %d; it takes 0 or 1", layout)
		}
		o.BatchFirst = layout == 1
	}
	if gates == 3 {
		o.Linear = n.Bool("linear_before_reset", false)
	}
	clip := n.Float("clip", float32(math.Inf(1)))
	if o.Hidden < 0 || !(clip > 0) {
		return nil, graph.Errorf(graph.ErrFormat, "hidden_size %d and clip %v must be positive", o.Hidden, clip)
	}
	switch d := n.Str("direction", "forward"); d {
	case "forward":
	case "reverse":
		o.Reverse = true
	case "bidirectional":
		o.Directions = 2
	default:
		return nil, graph.Errorf(graph.ErrFormat, "direction is %q; it takes forward, reverse, bidirectional", d)
	}
	names := n.Strs("activations")
	count := len(functions) * o.Directions
	switch {
	case names == nil:
		names = slices.Repeat(functions, o.Directions)
	case gates == 1 && len(names) == 2: // the default of the standard
		names = names[:count]
	case len(names) != count:
		return nil, graph.Errorf(graph.ErrFormat, "%d activations for %d directions; it takes %d", len(names), o.Directions,
			count)
	}
	bound, err := bindActivations(names, n.Floats("activation_alpha"), n.Floats("activation_beta"))
	if err != nil {
		return nil, err
	}
	inputForget := gates == 4 && n.Bool("input_forget", false)
	for d := range o.Directions {
		o.Cells[d] = RecurrentCell{Clip: clip, InputForget: inputForget}
		copy(o.Cells[d].Functions[:], bound[d*len(functions):][:len(functions)])
	}
	return o, nil
}

// Infer checks the extents that inputs share and sets the extents of the outputs.
func (o *Recurrent) Infer(c *op.Infer) error {
	x, w, r := c.In[0], c.In[1], c.In[2]
	if x == nil || w == nil || r == nil {
		return graph.Errorf(graph.ErrFormat, "one of the inputs X, W, R is left out")
	}
	for i, v := range c.In {
		if v != nil && i == 4 && v.DType != tensor.I32 {
			return graph.Errorf(graph.ErrUnsupported, "sequence lengths are %v; they take i32", v.DType)
		}
		if v != nil && i != 4 && v.DType != x.DType {
			return graph.Errorf(graph.ErrShape, "inputs 0 and %d have element types %v and %v", i, x.DType, v.DType)
		}
	}
	steps, batch, hidden, err := o.extents(c)
	if err != nil {
		return err
	}
	if err := o.checkSize(steps, batch, hidden); err != nil {
		return err
	}
	dirs := graph.Known(o.Directions)
	y, state := graph.Dims{steps, dirs, batch, hidden}, graph.Dims{dirs, batch, hidden}
	if o.BatchFirst {
		y, state = graph.Dims{batch, steps, dirs, hidden}, graph.Dims{batch, dirs, hidden}
	}
	c.Set(0, x.DType, y)
	c.Set(1, x.DType, state)
	c.Set(2, x.DType, state)
	return nil
}

// extents returns the extents that the inputs agree on.
func (o *Recurrent) extents(c *op.Infer) (steps, batch, hidden graph.Dim, err error) {
	input, rows := graph.Unknown(), graph.Unknown()
	steps, batch, hidden = input, input, input
	if o.Hidden > 0 {
		hidden = graph.Known(o.Hidden)
	}
	meet := func(i int, want ...*graph.Dim) {
		if err != nil || !c.Has(i) || c.In[i].Dims == nil {
			return
		}
		dims := c.In[i].Dims
		ok := len(dims) == len(want)
		for k := 0; ok && k < len(want); k++ {
			*want[k], ok = kit.JoinDim(*want[k], dims[k])
		}
		if !ok {
			err = graph.Errorf(graph.ErrShape, "input %d has shape %v, which does not fit the others or hidden_size", i, dims)
		}
	}
	dirs := graph.Known(o.Directions)
	if o.BatchFirst {
		meet(0, &batch, &steps, &input)
		meet(5, &batch, &dirs, &hidden)
		meet(6, &batch, &dirs, &hidden)
	} else {
		meet(0, &steps, &batch, &input)
		meet(5, &dirs, &batch, &hidden)
		meet(6, &dirs, &batch, &hidden)
	}
	meet(2, &dirs, &rows, &hidden)
	rows = hidden.Mul(graph.Known(o.Gates))
	meet(1, &dirs, &rows, &input)
	meet(2, &dirs, &rows, &hidden)
	biases, peepholes := hidden.Mul(graph.Known(2*o.Gates)), hidden.Mul(graph.Known(3))
	meet(3, &dirs, &biases)
	meet(4, &batch)
	meet(7, &dirs, &peepholes)
	if err == nil && input.Is(0) {
		err = graph.Errorf(graph.ErrUnsupported, "X %v has no elements for a step; it needs one", c.In[0].Dims)
	}
	return steps, batch, hidden, err
}

// checkSize returns an error if the sizes of the computation overflow an int.
func (o *Recurrent) checkSize(steps, batch, hidden graph.Dim) error {
	total, ok := graph.Dims{steps.Add(graph.Known(1)), batch, hidden, graph.Known(o.Directions),
		graph.Known(8 * (o.Gates + 2))}.Concrete()
	if ok && total.Check() != nil {
		return graph.Errorf(graph.ErrShape, "%v steps of %v sequences with %v states are too many", steps, batch, hidden)
	}
	return nil
}

var (
	recurrentSince = []int{1, 7, 14, 22}
	recurrentRows  = []op.Row{
		{Name: "RNN", Since: recurrentSince, In: [2]int{3, 6}, Out: [2]int{0, 2}, Types: op.Floats, Work: RecurrentWork, Items: itemsOfRecurrent, New: newRNN},
		{Name: "GRU", Since: []int{1, 3, 7, 14, 22}, In: [2]int{3, 6}, Out: [2]int{0, 2}, Types: op.Floats, Work: RecurrentWork, Items: itemsOfRecurrent, New: newGRU},
		{Name: "LSTM", Since: recurrentSince, In: [2]int{3, 8}, Out: [2]int{0, 3}, Types: op.Floats, Work: RecurrentWork, Items: itemsOfRecurrent, New: NewLSTM},
	}
)
