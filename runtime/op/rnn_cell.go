package op

import (
	"math"
	"strings"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

const maxClip = math.MaxFloat32

// activation is a function of one number.
type activation func(x float64) float64

// activationKind makes a function of alpha and beta, of which it takes the
// first params; the rest of the defaults is not looked at.
type activationKind struct {
	params   int
	defaults [2]float64
	bind     func(a, b float64) activation
}

var activationKinds = map[string]activationKind{
	"relu":    {bind: func(_, _ float64) activation { return func(x float64) float64 { return max(x, 0) } }},
	"tanh":    {bind: func(_, _ float64) activation { return math.Tanh }},
	"sigmoid": {bind: func(_, _ float64) activation { return func(x float64) float64 { return 1 / (1 + math.Exp(-x)) } }},
	"affine": {2, [2]float64{1, 0}, func(a, b float64) activation {
		return func(x float64) float64 { return a*x + b }
	}},
	"leakyrelu": {1, [2]float64{0.01}, func(a, _ float64) activation {
		return func(x float64) float64 {
			if x < 0 {
				return a * x
			}
			return x
		}
	}},
	"thresholdedrelu": {1, [2]float64{1}, func(a, _ float64) activation {
		return func(x float64) float64 {
			if x < a {
				return 0
			}
			return x
		}
	}},
	"scaledtanh": {2, [2]float64{1, 1}, func(a, b float64) activation {
		return func(x float64) float64 { return a * math.Tanh(b*x) }
	}},
	"hardsigmoid": {2, [2]float64{0.2, 0.5}, func(a, b float64) activation {
		return func(x float64) float64 { return min(max(a*x+b, 0), 1) }
	}},
	"elu": {1, [2]float64{1}, func(a, _ float64) activation {
		return func(x float64) float64 {
			if x < 0 {
				return a * math.Expm1(x)
			}
			return x
		}
	}},
	"softsign": {bind: func(_, _ float64) activation { return func(x float64) float64 { return x / (1 + math.Abs(x)) } }},
	"softplus": {bind: func(_, _ float64) activation {
		return func(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }
	}},
}

// activations finds functions by name, whatever the case. Those that have an
// alpha or beta take the next one of the list, and the default when it is empty.
func activations(names []string, alphas, betas []float32) ([]activation, error) {
	next := func(list *[]float32, takes bool, v float64) float64 {
		if takes && len(*list) > 0 {
			v, *list = float64((*list)[0]), (*list)[1:]
		}
		return v
	}
	out := make([]activation, len(names))
	for i, name := range names {
		k, ok := activationKinds[strings.ToLower(name)]
		if !ok {
			return nil, graph.Mark(graph.ErrUnsupported, "activation %q is not one of the standard's", name)
		}
		a := next(&alphas, k.params > 0, k.defaults[0])
		out[i] = k.bind(a, next(&betas, k.params > 1, k.defaults[1]))
	}
	return out, nil
}

// sequences is the operands of a recurrent node, widened, and its results.
type sequences struct {
	steps, batch, input, hidden int
	lengths                     []int
	x, w, r, b, p               []float64
	y, h, c                     []float64 // h and c begin as the initial states
}

func (o *recurrent) sequences(c *Run) (*sequences, error) {
	in := &Infer{Out: []*Value{{}, {}, {}}}
	for _, t := range c.In {
		var v *Value
		if t != nil {
			v = Known(t)
		}
		in.In = append(in.In, v)
	}
	if err := o.Infer(in); err != nil {
		return nil, err
	}
	steps, batch, hidden, _ := o.extents(in)
	s := &sequences{input: c.In[0].Shape()[2]}
	s.steps, _ = steps.Value()
	s.batch, _ = batch.Value()
	s.hidden, _ = hidden.Value()
	total := tensor.Shape{s.steps + 1, s.batch, s.hidden, o.directions, 8 * (o.gates + 2)}
	if err := total.Check(); err != nil {
		return nil, graph.Mark(graph.ErrShape, "%d steps of %d sequences with %d states are too many", s.steps, s.batch, s.hidden)
	}
	if err := c.Mem.Reserve(total[:4].Len() * 8); err != nil {
		return nil, err
	}
	get := func(i, n int) []float64 {
		if c.Has(i) {
			list := doubles(c.In[i])
			return append(make([]float64, 0, len(list)), list...)
		}
		return make([]float64, n)
	}
	states := o.directions * s.batch * s.hidden
	s.x, s.w, s.r = doubles(c.In[0]), doubles(c.In[1]), doubles(c.In[2])
	s.b, s.p = get(3, o.directions*2*o.gates*s.hidden), get(7, o.directions*3*s.hidden)
	s.h, s.c, s.y = get(5, states), get(6, states), make([]float64, s.steps*states)
	var err error
	s.lengths, err = s.lengthsOf(c)
	return s, err
}

func (s *sequences) lengthsOf(c *Run) ([]int, error) {
	if c.Has(4) {
		list, err := Ints(c.In[4])
		for b, n := range list {
			if n < 0 || n > s.steps {
				return nil, graph.Mark(graph.ErrShape, "sequence %d has length %d of %d steps", b, n, s.steps)
			}
		}
		return list, err
	}
	list := make([]int, s.batch)
	for b := range list {
		list[b] = s.steps
	}
	return list, nil
}

// run takes sequence b, of n steps, through one direction.
func (o *recurrent) run(s *sequences, dir, b, n int) {
	at := dir*s.batch + b
	if o.batchFirst {
		at = b*o.directions + dir
	}
	h, c := s.h[at*s.hidden:][:s.hidden], s.c[at*s.hidden:][:s.hidden]
	sums := make([]float64, o.gates*s.hidden)
	for i := range n {
		t := i
		if o.reverse || dir == 1 {
			t = n - 1 - i
		}
		row, y := t*s.batch+b, (t*o.directions+dir)*s.batch+b
		if o.batchFirst {
			row, y = b*s.steps+t, (b*s.steps+t)*o.directions+dir
		}
		o.step(s, dir, s.x[row*s.input:][:s.input], sums, h, c)
		copy(s.y[y*s.hidden:][:s.hidden], h)
	}
}

// step replaces the state h, and the cell c of LSTM, by those after x.
func (o *recurrent) step(s *sequences, dir int, x, sums, h, c []float64) {
	n := s.hidden
	rows := o.gates * n
	w, r, bias := s.w[dir*rows*s.input:], s.r[dir*rows*n:], s.b[dir*2*rows:][:2*rows]
	f := o.functions[dir*len(o.functions)/o.directions:]
	clip := func(v float64) float64 { return max(min(v, o.clip), -o.clip) }
	for g := range sums {
		sums[g] = bias[g] + bias[rows+g] + dot(x, w[g*s.input:])
		if o.gates != 3 || g < 2*n {
			sums[g] += dot(h, r[g*n:])
		}
	}
	switch o.gates {
	case 1:
		for i := range h {
			h[i] = f[0](clip(sums[i]))
		}
	case 3:
		o.gru(sums, h, r[2*n*n:], bias[rows+2*n:], f, clip)
	case 4:
		p := s.p[dir*3*n:]
		for i := range h {
			in := f[0](clip(sums[i] + p[i]*c[i]))
			forget := 1 - in
			if !o.inputForget {
				forget = f[0](clip(sums[2*n+i] + p[2*n+i]*c[i]))
			}
			c[i] = forget*c[i] + in*f[1](clip(sums[3*n+i]))
			h[i] = f[0](clip(sums[n+i]+p[n+i]*c[i])) * f[2](c[i])
		}
	}
}

// gru finishes a step whose hidden gate lacks its recurrent part, of weights r
// and bias.
func (o *recurrent) gru(sums, h, r, bias []float64, f []activation, clip activation) {
	n := len(h)
	reset := make([]float64, n)
	for i := range reset {
		reset[i] = f[0](clip(sums[n+i]))
		if !o.linear {
			reset[i] *= h[i]
		}
	}
	next := make([]float64, n)
	for i := range next {
		var part float64
		if o.linear {
			part = reset[i]*(dot(h, r[i*n:])+bias[i]) - bias[i]
		} else {
			part = dot(reset, r[i*n:])
		}
		z := f[0](clip(sums[i]))
		next[i] = (1-z)*f[1](clip(sums[2*n+i]+part)) + z*h[i]
	}
	copy(h, next)
}
