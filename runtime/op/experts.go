package op

import (
	"math"
	"unsafe"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// experts is a mixture of networks of two layers, of which k are computed for each
// row x of the input:
//
//	y = sum over the chosen e of share(e) * (W2(e) f(W1(e) x + b1(e)) + b2(e))
//
// f is an activation; with W3 its result is multiplied by W3(e) x + b3(e). In swiglu
// f takes both a gate g and what it is multiplied by, l, from W1 or from W1 and W3:
// min(g,limit) sigmoid(alpha min(g,limit)) (min(max(l,-limit),limit) + beta). The
// rows of an expert are multiplied together.
type experts struct {
	routing
	activation string // a kernel, "" for none
	swiglu     bool
	fusion     int // 0: l is W3's; 1: g and l alternate; 2: g lies before l
	alpha      float64
	beta       float32
	limit      float32

	act, join bindings.Kernel
	params    *bindings.Params
}

// Inputs of both operators, whatever else lies between them.
const (
	expertInput, expertRouter = 0, 1
)

var expertActivations = map[string]string{"relu": "relu", "gelu": "gelu_tanh", "silu": "swish", "identity": "", "swiglu": "swish"}

// readExperts reads the attributes; third says that the node has W3.
func readExperts(n *Node, third bool) (experts, error) {
	o := experts{alpha: 1, fusion: n.Int("swiglu_fusion", 0), limit: n.Float("swiglu_limit", float32(math.Inf(1)))}
	alpha := n.Float("activation_alpha", 1)
	o.beta = n.Float("activation_beta", 0)
	var err error
	if o.routing, err = readRouting(n); err != nil {
		return o, err
	}
	name := n.Str("activation_type", "relu")
	kernel, ok := expertActivations[name]
	if !ok {
		return o, graph.Mark(graph.ErrUnsupported, "activation_type %q; relu, gelu, silu, swiglu and identity are computed", name)
	}
	if o.activation = kernel; name == "swiglu" {
		o.swiglu, o.alpha = true, float64(alpha)
	}
	switch {
	case o.fusion < 0 || o.fusion > 2:
		err = graph.Mark(graph.ErrFormat, "swiglu_fusion is %d, not 0, 1 or 2", o.fusion)
	case o.swiglu && o.fusion == 0 && !third:
		err = graph.Mark(graph.ErrFormat, "swiglu_fusion is 0 for swiglu: fc3 is missing")
	case o.swiglu && o.fusion != 0 && third:
		err = graph.Mark(graph.ErrFormat, "swiglu_fusion is %d for swiglu: fc1 holds fc3, and that is there as well", o.fusion)
	case !(o.limit >= 0):
		err = graph.Mark(graph.ErrFormat, "swiglu_limit is %g", o.limit)
	}
	return o, err
}

// fused is how many rows of W1 make one number behind the activation.
func (o *experts) fused() int {
	if o.swiglu && o.fusion != 0 {
		return 2
	}
	return 1
}

// prepare chooses the kernels of the activation.
func (o *experts) prepare(c *Prepare) (err error) {
	o.params = paramsFor(tensor.F32, o.alpha, 0)
	if o.activation != "" {
		if o.act, err = kernelFor(c, tensor.F32, o.activation); err != nil {
			return err
		}
	}
	o.join, err = kernelFor(c, tensor.F32, "mul")
	return err
}

// infer keeps the input's shape, and checks that of the router's logits.
func (o *experts) infer(c *Infer) error {
	x, router := c.In[expertInput], c.In[expertRouter]
	c.Set(0, x.DType, x.Dims)
	if rank, ok := x.Rank(); ok && rank != 2 && rank != 3 {
		return graph.Mark(graph.ErrShape, "input is %v; it takes [rows,size] or [batch,rows,size]", x.Type)
	}
	if rank, ok := router.Rank(); ok && rank != 2 || !isNarrow(router.DType) {
		return graph.Mark(graph.ErrShape, "router_probs are %v, not floats [rows,experts]", router.Type)
	}
	return nil
}

// layer is weights [experts,out,in] that rows are multiplied by.
type layer interface {
	// scratch is how many floats multiply needs for m rows.
	scratch(c *Run, m int) int
	// multiply sets m rows of dst to those of a times the weights of an expert, the
	// bias added.
	multiply(c *Run, expert, m int, a, dst, scratch []float32)
}

// mixture is one run: layers 1 to 3, of which the last may be nil, and extents.
type mixture struct {
	layers              [3]layer
	experts, size, deep int // deep is the numbers behind the activation
	weights             *tensor.Tensor
}

// run computes the output.
func (o *experts) run(c *Run, m *mixture) error {
	x, router := c.In[expertInput], c.In[expertRouter]
	rows := 0
	if m.size > 0 {
		rows = x.Len() / m.size
	}
	for _, t := range []*tensor.Tensor{router, m.weights} {
		if t != nil && !t.Shape().Equal(tensor.Shape{rows, m.experts}) {
			return graph.Mark(graph.ErrShape, "the router's %v are not of %d rows and %d experts", t, rows, m.experts)
		}
	}
	if o.k > m.experts {
		return graph.Mark(graph.ErrShape, "k is %d of %d experts", o.k, m.experts)
	}
	if x.Len() == 0 {
		return nil
	}
	logits, err := c.floats(router)
	if err != nil {
		return err
	}
	var weights []float32
	if m.weights != nil {
		if weights, err = c.floats(m.weights); err != nil {
			return err
		}
	}
	a, out, err := c.floatsInOut()
	if err != nil {
		return err
	}
	lists := o.routes(logits, weights, m.experts)
	work, err := o.work(c, m, lists)
	if err != nil {
		return err
	}
	clear(out)
	for e, list := range lists {
		if len(list) == 0 {
			continue
		}
		for i, r := range list {
			copy(work.in[i*m.size:][:m.size], a[r.row*m.size:][:m.size])
		}
		o.compute(c, m, e, len(list), work)
		for i, r := range list {
			to := out[r.row*m.size:][:m.size]
			for j, v := range work.out[i*m.size:][:m.size] {
				to[j] += r.share * v
			}
		}
	}
	c.putFloats(c.Out[0], out)
	return nil
}

// expertWork is memory for the rows of one expert.
type expertWork struct{ in, first, gate, out, scratch []float32 }

// work makes room for the expert that has most rows.
func (o *experts) work(c *Run, m *mixture, lists [][]route) (*expertWork, error) {
	most, scratch := 0, 0
	for _, list := range lists {
		if len(list) == 0 {
			continue
		}
		most = max(most, len(list))
		for _, l := range m.layers {
			if l != nil {
				scratch = max(scratch, l.scratch(c, len(list)))
			}
		}
	}
	w := &expertWork{}
	gates := 0
	if o.swiglu || m.layers[2] != nil {
		gates = m.deep
	}
	for _, part := range []struct {
		s *[]float32
		n int
	}{{&w.in, most * m.size}, {&w.first, most * m.deep * o.fused()}, {&w.gate, most * gates}, {&w.out, most * m.size}, {&w.scratch, scratch}} {
		var err error
		if *part.s, err = c.scratchFloats(part.n); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// compute sets n rows of w.out to what an expert makes of those of w.in.
func (o *experts) compute(c *Run, m *mixture, e, n int, w *expertWork) {
	size := n * m.deep
	m.layers[0].multiply(c, e, n, w.in, w.first, w.scratch)
	if m.layers[2] != nil {
		m.layers[2].multiply(c, e, n, w.in, w.gate, w.scratch)
	}
	h := w.first[:size]
	switch {
	case o.swiglu:
		o.part(n, m.deep, w)
		o.joined(c, h, w.gate[:size])
	case m.layers[2] != nil:
		o.joined(c, h, w.gate[:size])
	case o.activation != "":
		bindings.EltwiseMap(c.Pool, o.act, floatLane(h), floatLane(h), size, o.params)
	}
	m.layers[1].multiply(c, e, n, h, w.out, w.scratch)
}

// part takes g and l of swiglu apart, g to the front of w.first and l to w.gate, and
// brings them within their limits.
func (o *experts) part(n, deep int, w *expertWork) {
	lo, hi := -o.limit, o.limit
	for i := range n {
		g, l := w.first[i*deep:][:deep], w.gate[i*deep:][:deep]
		switch o.fusion {
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
			l[j] = min(max(v, lo), hi) + o.beta
		}
	}
}

// joined sets h to f(h) * l.
func (o *experts) joined(c *Run, h, l []float32) {
	if o.activation == "" {
		for i, v := range l {
			h[i] *= v
		}
		return
	}
	bindings.EltwiseFused(c.Pool, o.act, o.join, o.params, true, floatLane(h), floatLane(l), floatLane(h), len(h), len(h))
}

// floatLane is floats as elementwise kernels take them.
func floatLane(list []float32) bindings.Lane {
	return bindings.Lane{Data: unsafe.Pointer(unsafe.SliceData(list)), Bytes: 4}
}
