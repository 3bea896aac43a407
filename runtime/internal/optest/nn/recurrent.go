package nn

import (
	"fmt"
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// recurrence is a node of RNN, GRU or LSTM, computed number by number.
type recurrence struct {
	op                          string
	gates                       int
	steps, batch, input, hidden int
	directions                  int
	reverse, batchFirst         bool
	linear, inputForget         bool
	clip                        float64 // 0 for none
	functions                   []recurrentFunction
	lengths                     []int // nil for all steps

	x, w, r, bias, peepholes, h0, c0 *tensor.Tensor // the last four may be nil
}

// recurrentFunction is a function by name, with its parameters.
type recurrentFunction struct {
	name   string
	params []float64
}

func (f recurrentFunction) of(x float64) float64 {
	param := func(i int) float64 { return f.params[i] }
	switch f.name {
	case "Relu":
		return max(x, 0)
	case "Tanh":
		return math.Tanh(x)
	case "Sigmoid":
		return 1 / (1 + math.Exp(-x))
	case "Affine":
		return param(0)*x + param(1)
	case "LeakyRelu":
		return max(x, 0) + param(0)*min(x, 0)
	case "ThresholdedRelu":
		if x < param(0) {
			return 0
		}
		return x
	case "ScaledTanh":
		return param(0) * math.Tanh(param(1)*x)
	case "HardSigmoid":
		return min(max(param(0)*x+param(1), 0), 1)
	case "Elu":
		if x < 0 {
			return param(0) * math.Expm1(x)
		}
		return x
	case "Softsign":
		return x / (1 + math.Abs(x))
	case "Softplus":
		return math.Log1p(math.Exp(x))
	}
	panic("optest: function " + f.name)
}

// recurrentParams maps functions to their number of parameters.
var recurrentParams = map[string]int{
	"Relu": 0, "Tanh": 0, "Sigmoid": 0, "Affine": 2, "LeakyRelu": 1, "ThresholdedRelu": 1, "ScaledTanh": 2, "HardSigmoid": 2, "Elu": 1,
	"Softsign": 0, "Softplus": 0,
}

// usualFunctions lists the functions of a node that names none.
var usualFunctions = map[string][]string{"RNN": {"Tanh"}, "GRU": {"Sigmoid", "Tanh"},
	"LSTM": {"Sigmoid", "Tanh", "Tanh"}}

// at returns the number at an index of t, or 0 if t is nil.
func at(t *tensor.Tensor, index ...int) float64 {
	if t == nil {
		return 0
	}
	return cases.Number(t, offset(t.Shape(), index))
}

func offset(shape tensor.Shape, index []int) int {
	n := 0
	for i, v := range index {
		n = n*shape[i] + v
	}
	return n
}

// outer returns the index of an element of one step, or of a state if step is -1.
func (c *recurrence) outer(step, dir, b, i int) []int {
	switch {
	case step < 0 && c.batchFirst:
		return []int{b, dir, i}
	case step < 0:
		return []int{dir, b, i}
	case c.batchFirst:
		return []int{b, step, dir, i}
	}
	return []int{step, dir, b, i}
}

func (c *recurrence) shape(step int) []int {
	shape := make([]int, 0, 4)
	sizes := map[string]int{"t": c.steps, "d": c.directions, "b": c.batch, "h": c.hidden}
	order := "dbh"
	switch {
	case step >= 0 && c.batchFirst:
		order = "btdh"
	case step >= 0:
		order = "tdbh"
	case c.batchFirst:
		order = "bdh"
	}
	for _, axis := range order {
		shape = append(shape, sizes[string(axis)])
	}
	return shape
}

// outputs returns Y, Y_h and, for LSTM, Y_c.
func (c *recurrence) outputs() []*tensor.Tensor {
	d := c.x.DType()
	out := []*tensor.Tensor{tensor.New(d, c.shape(0)...), tensor.New(d, c.shape(-1)...), tensor.New(d, c.shape(-1)...)}
	put := func(k, step, dir, b int, values []float64) {
		for i, v := range values {
			cases.SetNumber(out[k], offset(out[k].Shape(), c.outer(step, dir, b, i)), v)
		}
	}
	for dir := range c.directions {
		for b := range c.batch {
			h, cell := make([]float64, c.hidden), make([]float64, c.hidden)
			for i := range h {
				h[i], cell[i] = at(c.h0, c.outer(-1, dir, b, i)...), at(c.c0, c.outer(-1, dir, b, i)...)
			}
			length := c.steps
			if c.lengths != nil {
				length = c.lengths[b]
			}
			for i := range length {
				t := i
				if c.reverse || dir == 1 {
					t = length - 1 - i
				}
				h, cell = c.step(dir, b, t, h, cell)
				put(0, t, dir, b, h)
			}
			put(1, -1, dir, b, h)
			put(2, -1, dir, b, cell)
		}
	}
	if c.op != "LSTM" {
		out = out[:2]
	}
	return out
}

// step returns state and cell after step t.
func (c *recurrence) step(dir, b, t int, h, cell []float64) (nextH, nextCell []float64) {
	per := len(c.functions) / c.directions
	clipped := func(k int, v float64) float64 {
		if c.clip > 0 {
			v = min(max(v, -c.clip), c.clip)
		}
		return c.functions[dir*per+k].of(v)
	}
	fromInput := func(g, i int) float64 {
		row := g*c.hidden + i
		sum := at(c.bias, dir, row)
		for j := range c.input {
			if c.batchFirst {
				sum += at(c.x, b, t, j) * at(c.w, dir, row, j)
			} else {
				sum += at(c.x, t, b, j) * at(c.w, dir, row, j)
			}
		}
		return sum
	}
	fromState := func(g, i int, h []float64) float64 {
		row := g*c.hidden + i
		sum := at(c.bias, dir, c.gates*c.hidden+row)
		for j, v := range h {
			sum += v * at(c.r, dir, row, j)
		}
		return sum
	}
	gate := func(g, i int) float64 { return fromInput(g, i) + fromState(g, i, h) }
	nextH, nextCell = make([]float64, c.hidden), make([]float64, c.hidden)
	reset := make([]float64, c.hidden)
	for i := range reset {
		if c.op == "GRU" {
			reset[i] = clipped(0, gate(1, i)) * h[i]
		}
	}
	for i := range nextH {
		switch c.op {
		case "RNN":
			nextH[i] = clipped(0, gate(0, i))
		case "GRU":
			sum := fromInput(2, i) + fromState(2, i, reset)
			if c.linear {
				sum = fromInput(2, i) + clipped(0, gate(1, i))*fromState(2, i, h)
			}
			z := clipped(0, gate(0, i))
			nextH[i] = (1-z)*clipped(1, sum) + z*h[i]
		case "LSTM":
			peep := func(k int, v float64) float64 { return at(c.peepholes, dir, k*c.hidden+i) * v }
			in := clipped(0, gate(0, i)+peep(0, cell[i]))
			forget := clipped(0, gate(2, i)+peep(2, cell[i]))
			if c.inputForget {
				forget = 1 - in
			}
			nextCell[i] = forget*cell[i] + in*clipped(1, gate(3, i))
			nextH[i] = clipped(0, gate(1, i)+peep(1, nextCell[i])) * c.functions[dir*per+2].of(nextCell[i])
		}
	}
	return nextH, nextCell
}

// node returns the case. It names only attributes that differ from the default.
func (c *recurrence) node() cases.Case {
	direction := "forward"
	if c.reverse {
		direction = "reverse"
	}
	if c.directions == 2 {
		direction = "bidirectional"
	}
	list := []any{"direction", direction, "hidden_size", c.hidden}
	var names []string
	var alphas, betas []float64
	for _, f := range c.functions {
		names = append(names, f.name)
		if len(f.params) > 0 {
			alphas = append(alphas, f.params[0])
		}
		if len(f.params) > 1 {
			betas = append(betas, f.params[1])
		}
	}
	if usual := usualFunctions[c.op]; !slices.Equal(names, slices.Repeat(usual, c.directions)) {
		list = append(list, "activations", names, "activation_alpha", alphas, "activation_beta", betas)
	}
	if c.clip > 0 {
		list = append(list, "clip", c.clip)
	}
	version := 1
	if c.batchFirst {
		version, list = 14, append(list, "layout", 1)
	}
	if c.linear {
		list = append(list, "linear_before_reset", 1)
	}
	if c.inputForget {
		list = append(list, "input_forget", 1)
	}
	inputs := cases.In(c.x, c.w, c.r, c.bias, nil, c.h0, c.c0, c.peepholes)
	if c.lengths != nil {
		inputs[4] = tensor.New(tensor.I32, c.batch)
		for b, n := range c.lengths {
			cases.SetNumber(inputs[4], b, float64(n))
		}
	}
	if c.op != "LSTM" {
		inputs = inputs[:6]
	}
	return cases.Case{Op: c.op, Version: version, Attrs: cases.Attrs(list...), In: inputs, Want: c.outputs(), Ulps: 64,
		Note: fmt.Sprintf("lengths %v, %d directions, %d attributes", c.lengths, c.directions, len(list)/2)}
}

// random draws the rest of a case from its extents.
func (c *recurrence) random(s *cases.Suite, d tensor.DType) {
	coin := func() bool { return s.IntN(2) == 0 }
	c.gates = map[string]int{"RNN": 1, "GRU": 3, "LSTM": 4}[c.op]
	c.directions, c.batchFirst = 1+s.IntN(2), coin()
	c.reverse = c.directions == 1 && coin()
	c.linear = c.op == "GRU" && coin()
	c.inputForget = c.op == "LSTM" && s.IntN(4) == 0
	if s.IntN(3) == 0 {
		c.clip = float64(float32(0.3 + s.Float64()))
	}
	usual := usualFunctions[c.op]
	names := slices.Repeat(usual, c.directions)
	if coin() {
		all := make([]string, 0, len(recurrentParams))
		for name := range recurrentParams {
			all = append(all, name)
		}
		slices.Sort(all)
		for i := range names {
			names[i] = all[s.IntN(len(all))]
		}
	}
	for _, name := range names {
		f := recurrentFunction{name: name}
		for range recurrentParams[name] {
			f.params = append(f.params, float64(float32(0.1+0.8*s.Float64())))
		}
		c.functions = append(c.functions, f)
	}
	if coin() && c.batch > 0 {
		for range c.batch {
			c.lengths = append(c.lengths, s.IntN(c.steps+1))
		}
	}
	small := func(there bool, shape ...int) *tensor.Tensor {
		if !there {
			return nil
		}
		return s.Between(d, -0.5, 0.5, shape...)
	}
	rows := c.gates * c.hidden
	c.x = small(true, c.steps, c.batch, c.input)
	if c.batchFirst {
		c.x = small(true, c.batch, c.steps, c.input)
	}
	c.w, c.r = small(true, c.directions, rows, c.input), small(true, c.directions, rows, c.hidden)
	c.bias, c.h0 = small(coin(), c.directions, 2*rows), small(coin(), c.shape(-1)...)
	c.c0, c.peepholes = small(c.op == "LSTM" && coin(), c.shape(-1)...),
		small(c.op == "LSTM" && coin(), c.directions, 3*c.hidden)
}

// recurrentCases adds nodes with random attributes and operands.
func recurrentCases(s *cases.Suite) {
	for _, d := range cases.Floats {
		for _, name := range []string{"RNN", "GRU", "LSTM"} {
			for _, e := range [][4]int{{1, 1, 1, 1}, {3, 2, 2, 1}, {4, 3, 5, 3}, {2, 1, 7, 17}, {3, 1, 4, 5}, {2, 16, 3, 4},
				{5, 4, 1, 6}, {0, 2, 3, 2}, {2, 0, 3, 2}} {
				c := &recurrence{op: name, steps: e[0], batch: e[1], input: e[2], hidden: e[3]}
				c.random(s, d)
				s.Add(c.node())
			}
		}
	}
	recurrentFailures(s)
}

// recurrentFailures adds nodes with operands that do not fit each other.
func recurrentFailures(s *cases.Suite) {
	good := func() *recurrence {
		c := &recurrence{op: "GRU", gates: 3, steps: 2, batch: 2, input: 3, hidden: 4, directions: 1}
		for _, name := range usualFunctions[c.op] {
			c.functions = append(c.functions, recurrentFunction{name: name})
		}
		c.x, c.w, c.r = s.Any(tensor.F32, 2, 2, 3), s.Any(tensor.F32, 1, 12, 3), s.Any(tensor.F32, 1, 12, 4)
		return c
	}
	bad := func(kind error, note string, change func(c *cases.Case)) {
		c := good().node()
		change(&c)
		c.Fails, c.Want, c.Note = kind, nil, note
		s.Add(c)
	}
	set := func(a *graph.Attr) func(c *cases.Case) { return func(c *cases.Case) { c.Attrs = append(c.Attrs, a) } }
	bad(graph.ErrFormat, "negative clip", set(cases.Attrs("clip", -1.0)[0]))
	bad(graph.ErrUnsupported, "an unknown function", set(cases.Attrs("activations", []string{"Sigmoid", "Cube"})[0]))
	bad(graph.ErrFormat, "too few functions", set(cases.Attrs("activations", []string{"Sigmoid"})[0]))
	bad(graph.ErrShape, "weights of other rows", func(c *cases.Case) { c.In[1] = s.Any(tensor.F32, 1, 11, 3) })
	bad(graph.ErrShape, "a recurrence that is not square", func(c *cases.Case) { c.In[2] = s.Any(tensor.F32, 1, 12, 5) })
	bad(graph.ErrShape, "a bias that is too short", func(c *cases.Case) { c.In[3] = s.Any(tensor.F32, 1, 12) })
	bad(graph.ErrShape, "a length beyond the steps", func(c *cases.Case) { c.In[4] = s.Indices(tensor.I32, 3, 4, 2) })
	bad(graph.ErrShape, "a negative length", func(c *cases.Case) { c.In[4] = s.Indices(tensor.I32, -1, 0, 2) })
	bad(graph.ErrShape, "states of another type", func(c *cases.Case) { c.In[5] = s.Any(tensor.F64, 1, 2, 4) })
	bad(graph.ErrShape, "states of other sequences", func(c *cases.Case) { c.In[5] = s.Any(tensor.F32, 1, 3, 4) })
	bad(graph.ErrUnsupported, "steps without elements", func(c *cases.Case) {
		c.In[0], c.In[1] = tensor.New(tensor.F32, 2, 2, 0), tensor.New(tensor.F32, 1, 12, 0)
	})
}
