package cpu

import (
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
	row           []byte // memory for an expert's zero points, made when they are needed
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
	if m.gated {
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
	if err := m.layer(0, e, n, w.in, w.first); err != nil {
		return err
	}
	if m.layers[2] != nil {
		if err := m.layer(2, e, n, w.in, w.gate); err != nil {
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
	if err := m.activate(m.calls, h, w.gate); err != nil {
		return err
	}
	if err := m.layer(1, e, n, h, w.out); err != nil {
		return err
	}
	return m.runAll()
}

// layer adds commands that set n rows of y to the results of layer i for the rows of a.
func (m *mixture) layer(i, expert, n int, a, y []float32) error {
	return m.layers[i].multiply(m.calls, &m.inputs[i], expert, n, a, y)
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
