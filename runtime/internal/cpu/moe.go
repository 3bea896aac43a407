package cpu

import (
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/moe"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Mixtures of experts route matrix rows in Go. Each expert with rows runs commands of its own, made
// once the rows are known.
var moeRows = []row{
	rowFor("experts", bindMoE),
	rowFor("experts", func(o *moe.WidenedMoE, b *binder) error { return bindMoE(&o.MoE, b) }),
	rowFor("experts", bindQMoE),
}

// expertLayer is one layer of every expert.
type expertLayer interface {
	// multiply adds commands that set m rows of y to the rows of a times an expert's weights, plus
	// the bias.
	multiply(c *calls, expert, m int, a, y []float32) error
}

// mixture is one run; the last layer may be nil.
type mixture struct {
	*moe.Experts
	shape  *moe.ExpertShape
	layers [3]expertLayer
	run    *op.Run
	*calls
}

// shapesOf returns a function that gives the shape of input i, nil if it is left out.
func shapesOf(c *op.Run) func(i int) tensor.Shape {
	return func(i int) tensor.Shape {
		if !c.Has(i) {
			return nil
		}
		return c.In[i].Shape()
	}
}

// inputOf returns input i of a run, nil if it is left out.
func inputOf(c *op.Run, i int) *tensor.Tensor {
	if !c.Has(i) {
		return nil
	}
	return c.In[i]
}

// compute computes the output. shares is the input with each expert's share, or nil.
func (m *mixture) compute(shares *tensor.Tensor) error {
	x := m.run.In[moe.ExpertInput]
	if x.Len() == 0 {
		return nil
	}
	logits, err := m.read(m.run.In[moe.ExpertRouter])
	if err != nil {
		return err
	}
	weights, err := m.read(shares)
	if err != nil {
		return err
	}
	a, err := m.read(x)
	if err != nil {
		return err
	}
	out, err := m.write(m.run.Out[0])
	if err != nil {
		return err
	}
	if err := m.runAll(); err != nil {
		return err
	}
	clear(out)
	if err := m.experts(m.Routes(logits, weights, m.shape.Experts), a, out); err != nil {
		return err
	}
	if err := m.stored(m.run.Out[0], out); err != nil {
		return err
	}
	return m.runAll()
}

// experts adds each expert's results for rows of a to the rows of out, as the lists say.
func (m *mixture) experts(lists [][]moe.Route, a, out []float32) error {
	work, err := m.work(lists)
	if err != nil {
		return err
	}
	size := m.shape.Size
	for e, list := range lists {
		if len(list) == 0 {
			continue
		}
		for i, r := range list {
			copy(work.in[i*size:][:size], a[r.Row*size:][:size])
		}
		if err := m.expert(e, len(list), work); err != nil {
			return err
		}
		for i, r := range list {
			to := out[r.Row*size:][:size]
			for j, v := range work.out[i*size:][:size] {
				to[j] += r.Share * v
			}
		}
	}
	return nil
}

// expertWork is the memory for the rows of one expert.
type expertWork struct{ in, first, gate, out []float32 }

// work allocates memory for the expert with the most rows.
func (m *mixture) work(lists [][]moe.Route) (w *expertWork, err error) {
	most, gates := 0, 0
	for _, list := range lists {
		most = max(most, len(list))
	}
	if m.SwiGLU || m.layers[2] != nil {
		gates = m.shape.Deep
	}
	w = &expertWork{}
	for _, part := range []struct {
		s *[]float32
		n int
	}{{&w.in, most * m.shape.Size}, {&w.first, most * m.shape.Deep * m.Fused()}, {&w.gate, most * gates}, {&w.out, most * m.shape.Size}} {
		if *part.s, err = m.room(part.n); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// expert sets n rows of w.out to an expert's results for the rows of w.in.
func (m *mixture) expert(e, n int, w *expertWork) error {
	if err := m.layers[0].multiply(m.calls, e, n, w.in, w.first); err != nil {
		return err
	}
	if m.layers[2] != nil {
		if err := m.layers[2].multiply(m.calls, e, n, w.in, w.gate); err != nil {
			return err
		}
	}
	h := w.first[:n*m.shape.Deep]
	if m.SwiGLU {
		if err := m.runAll(); err != nil {
			return err
		}
		m.part(n, w)
	}
	if err := m.activate(h, w.gate); err != nil {
		return err
	}
	if err := m.layers[1].multiply(m.calls, e, n, h, w.out); err != nil {
		return err
	}
	return m.runAll()
}

// part separates g and l of SwiGLU, g to the front of w.first and l to w.gate. It clamps both and
// adds Beta to l.
func (m *mixture) part(n int, w *expertWork) {
	lo, hi, deep := -m.Limit, m.Limit, m.shape.Deep
	for i := range n {
		g, l := w.first[i*deep:][:deep], w.gate[i*deep:][:deep]
		switch m.Fusion {
		case 1:
			for j := range l {
				g[j], l[j] = w.first[2*(i*deep+j)], w.first[2*(i*deep+j)+1]
			}
		case 2:
			copy(l, w.first[(2*i+1)*deep:])
			copy(g, w.first[2*i*deep:][:deep])
		}
		for j, v := range l {
			g[j] = min(g[j], hi)
			l[j] = min(max(v, lo), hi) + m.Beta
		}
	}
}

// activate adds commands that set h to f(h), times the gate if there is one.
func (m *mixture) activate(h, gate []float32) error {
	n := graph.Known(len(h))
	at, plain := m.list(h), storage{bytes: 4}
	join, err := m.kernel("f32_mul")
	if err != nil {
		return err
	}
	if m.Activation == "" {
		if len(gate) == 0 {
			return nil
		}
		dims := graph.Dims{n}
		return m.pairs(join, plain, plain, plain, at, m.list(gate), at, dims, dims, dims)
	}
	f, err := m.kernel("f32_" + m.Activation)
	if err != nil {
		return err
	}
	none, p := device.Operand{}, params(tensor.F32, m.Alpha, 0)
	if len(gate) == 0 {
		return m.add(f, nil, unaryWords(n, plain, plain, p, tensor.F32), at, at, none, none)
	}
	k, err := m.kernel("eltwise_fused")
	if err != nil {
		return err
	}
	return m.add(k, []bindings.Kernel{f, join}, fusedWords(f, join, true, n, n, plain, plain, p), at, m.list(gate), at)
}
