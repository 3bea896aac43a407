package cpu

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/internal/ops/moe"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Mixtures of experts route matrix rows in Go. Each expert with rows runs commands of its own, made
// once the rows are known, of kernels chosen before.
var moeRows = []row{
	rowFor("experts", bindMoE),
	rowFor("experts", func(o *moe.WidenedMoE, b *binder) error { return bindMoE(&o.MoE, b) }),
	rowFor("experts", bindQMoE),
}

// expertLayer is one layer of every expert. Its kernels are chosen, and its constants packed.
type expertLayer interface {
	// multiply adds commands that set m rows of y to the rows of a times an expert's weights, plus
	// the bias.
	multiply(c *calls, in *layerInputs, expert, m int, a, y []float32) error
}

// layerInputs are the inputs of a layer in one run. Inputs that are left out are nil.
type layerInputs struct {
	moe.QMoELayer                // the extents; of codes the rest, too
	weights       *tensor.Tensor // or codes
	scales, zeros *tensor.Tensor
	bias          []float32
	row           []byte // of all experts: zero points, unpacked when they are needed
}

// mixture is one run.
type mixture struct {
	*boundExperts
	shape  *moe.ExpertShape
	inputs [3]layerInputs
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

func (d *Device) runMoE(o *moe.MoE, x *boundExperts, c *op.Run) error {
	s, err := o.Shape(shapesOf(c))
	if err != nil {
		return err
	}
	m := &mixture{boundExperts: x, shape: s, run: c, calls: d.calls(c)}
	for i, l := range s.Layers {
		if l.Out == 0 {
			continue
		}
		weights, bias := o.LayerInputs(i)
		m.inputs[i] = layerInputs{QMoELayer: moe.QMoELayer{ExpertLayer: l}, weights: c.In[weights]}
		if m.inputs[i].bias, err = m.read(inputOf(c, bias)); err != nil {
			return err
		}
	}
	return m.compute(nil)
}

func (d *Device) runQMoE(o *moe.QMoE, x *boundExperts, c *op.Run) error {
	s, layers, err := o.Shape(shapesOf(c))
	if err != nil {
		return err
	}
	m := &mixture{boundExperts: x, shape: s, run: c, calls: d.calls(c)}
	for i, l := range layers {
		if l.Out == 0 {
			continue
		}
		codes, scales, bias, zeros := o.LayerInputs(i)
		m.inputs[i] = layerInputs{QMoELayer: l, weights: c.In[codes], scales: c.In[scales], zeros: inputOf(c, zeros)}
		if m.inputs[i].bias, err = m.read(inputOf(c, bias)); err != nil {
			return err
		}
	}
	return m.compute(inputOf(c, moe.ExpertShares))
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

// groupRows is the number of rows for which several experts are computed at a time.
const groupRows = 64

// expertGroup is experts first to end-1 and the number of their rows, which follow each other.
type expertGroup struct {
	lists            [][]moe.Route // of all experts
	first, end, rows int
}

// nextGroup returns the group that begins at an expert: as many experts as have at most that many rows.
func nextGroup(lists [][]moe.Route, first, most int) expertGroup {
	g := expertGroup{lists: lists, first: first, end: first}
	for ; g.end < len(lists) && g.rows+len(lists[g.end]) <= most; g.end++ {
		g.rows += len(lists[g.end])
	}
	return g
}

// experts adds each expert's results for rows of a to the rows of out, as the lists say.
func (m *mixture) experts(lists [][]moe.Route, a, out []float32) error {
	most, all := groupRows, 0
	for _, list := range lists {
		most, all = max(most, len(list)), all+len(list)
	}
	w, err := m.work(min(most, all))
	if err != nil {
		return err
	}
	size := m.shape.Size
	for g := (expertGroup{}); g.end < len(lists); {
		g = nextGroup(lists, g.end, most)
		if g.rows == 0 {
			continue
		}
		routes := slices.Concat(lists[g.first:g.end]...)
		for i, r := range routes {
			copy(w.in[i*size:][:size], a[r.Row*size:][:size])
		}
		if err := m.group(&g, w); err != nil {
			return err
		}
		for i, r := range routes {
			to := out[r.Row*size:][:size]
			for j, v := range w.out[i*size:][:size] {
				to[j] += r.Share * v
			}
		}
	}
	return nil
}

// expertWork is the memory for the rows of a group.
type expertWork struct{ in, first, gate, out []float32 }

// work allocates memory for that many rows.
func (m *mixture) work(rows int) (w *expertWork, err error) {
	gates := 0
	if m.gated {
		gates = m.shape.Deep
	}
	w = &expertWork{}
	for _, part := range []struct {
		s *[]float32
		n int
	}{{&w.in, rows * m.shape.Size}, {&w.first, rows * m.shape.Deep * m.Fused()}, {&w.gate, rows * gates}, {&w.out, rows * m.shape.Size}} {
		if *part.s, err = m.room(part.n); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// group sets the rows of w.out to the results of a group for the rows of w.in.
func (m *mixture) group(g *expertGroup, w *expertWork) error {
	if err := m.layer(0, g, w.in, w.first); err != nil {
		return err
	}
	if m.layers[2] != nil {
		if err := m.layer(2, g, w.in, w.gate); err != nil {
			return err
		}
	}
	h, gates := w.first[:g.rows*m.shape.Deep], w.gate
	if m.gated {
		gates = gates[:len(h)]
	}
	if m.SwiGLU {
		if err := m.runAll(); err != nil {
			return err
		}
		m.part(g.rows, w)
	}
	if err := m.activate(m.calls, h, gates); err != nil {
		return err
	}
	if err := m.layer(1, g, h, w.out); err != nil {
		return err
	}
	return m.runAll()
}

// layer adds commands that set the rows of y to the results of layer i for the rows of a.
func (m *mixture) layer(i int, g *expertGroup, a, y []float32) error {
	in := &m.inputs[i]
	for e := g.first; e < g.end; e++ {
		n := len(g.lists[e])
		if n == 0 {
			continue
		}
		if err := m.layers[i].multiply(m.calls, in, e, n, a[:n*in.In], y[:n*in.Out]); err != nil {
			return err
		}
		a, y = a[n*in.In:], y[n*in.Out:]
	}
	return nil
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
