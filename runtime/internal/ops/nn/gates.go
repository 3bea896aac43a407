package nn

import (
	"math"

	"github.com/nacre-ml/nacre/internal/elements"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// GatedAdd adds a value with its rows multiplied by gates.
type GatedAdd struct{}

func newGatedAdd(*op.Node) (op.Op, error) { return GatedAdd{}, nil }

// Infer keeps type and shape.
func (GatedAdd) Infer(c *op.Infer) error {
	if err := kit.SameTypes(c.In); err != nil {
		return err
	}
	x, y, gate := c.In[0], c.In[1].Dims, c.In[2].Dims
	if x.Dims != nil && (len(x.Dims) == 0 || y != nil && !kit.MayEqual(x.Dims, y)) {
		return graph.Errorf(graph.ErrShape, "%v and %v cannot be added row by row", x.Type, c.In[1].Type)
	}
	if x.Dims != nil && gate != nil &&
		!kit.MayEqual(gate, kit.JoinDims(x.Dims[:len(x.Dims)-1], graph.Dims{graph.Known(1)})) {
		return graph.Errorf(graph.ErrShape, "gate %v does not have one element for each row of %v", c.In[2].Type, x.Type)
	}
	c.Set(0, x.DType, x.Dims)
	return nil
}

// Run rounds the product and the sum.
func (GatedAdd) Run(c *op.Run) error {
	x, out, err := c.FloatsInOut()
	if err != nil {
		return err
	}
	y, err := c.Floats(c.In[1])
	if err != nil {
		return err
	}
	gate, err := c.Floats(c.In[2])
	if err != nil || len(x) == 0 {
		return err
	}
	round := elements.Rounding(c.In[0].DType())
	n, pace := len(x)/len(gate), c.Pace()
	for i, v := range x {
		pace.Work(2)
		out[i] = v + round(y[i]*gate[i/n])
	}
	c.PutFloats(c.Out[0], out)
	return nil
}

// scaledSiLU is ScaledSiLU: x·sigmoid(x) of scaled elements, with every step rounded.
type scaledSiLU struct{ alpha float32 }

func newScaledSiLU(n *op.Node) (op.Op, error) { return &scaledSiLU{n.Float("alpha", 1)}, nil }

// Infer keeps type and shape.
func (o *scaledSiLU) Infer(c *op.Infer) error {
	if c.Has(1) {
		s := c.In[1]
		if n, ok := s.Dims.Len().Value(); s.Dims != nil && ok && n != 1 || !kit.ComputedInF32.Has(s.DType) {
			return graph.Errorf(graph.ErrShape, "scale %v is not one number of %v", s.Type, kit.ComputedInF32)
		}
	}
	c.Set(0, c.In[0].DType, c.In[0].Dims)
	return nil
}

// Run computes in float32.
func (o *scaledSiLU) Run(c *op.Run) error {
	x, y, err := c.FloatsInOut()
	if err != nil {
		return err
	}
	alpha := o.alpha
	if s, err := c.Floats(c.Given(1)); err != nil {
		return err
	} else if s != nil {
		alpha = s[0]
	}
	round, pace := elements.Rounding(c.In[0].DType()), c.Pace()
	for i, v := range x {
		pace.Work(8)
		z := round(alpha * v)
		y[i] = z * round(sigmoid(z))
	}
	c.PutFloats(c.Out[0], y)
	return nil
}

// linearGate is LinearAttentionGate. It computes the decay and the update rate of a linear
// attention from their projections.
type linearGate struct{}

// Infer keeps type and shape.
func (linearGate) Infer(c *op.Infer) error {
	a := c.In[0]
	if a.Dims != nil && len(a.Dims) == 0 {
		return graph.Errorf(graph.ErrShape, "projection %v has no axis of heads", a.Type)
	}
	for _, i := range []int{1, 2} {
		v := c.In[i]
		if v.DType != tensor.F32 || v.Dims != nil && a.Dims != nil && !kit.MayEqual(v.Dims, a.Dims[len(a.Dims)-1:]) {
			return graph.Errorf(graph.ErrShape, "input %d, %v, does not have one float32 for each head of %v", i, v.Type, a.Type)
		}
	}
	if c.Has(3) && (c.In[3].DType != a.DType ||
		a.Dims != nil && c.In[3].Dims != nil && !kit.MayEqual(a.Dims, c.In[3].Dims)) {
		return graph.Errorf(graph.ErrShape, "the projections %v and %v differ", a.Type, c.In[3].Type)
	}
	if len(c.Out) > 1 && !c.Has(3) {
		return graph.Errorf(graph.ErrFormat, "the output beta needs the input b")
	}
	c.Set(0, a.DType, a.Dims)
	c.Set(1, a.DType, a.Dims)
	return nil
}

// Run computes in float32 and rounds once.
func (linearGate) Run(c *op.Run) error {
	a, decay, err := c.FloatsInOut()
	if err != nil {
		return err
	}
	bias, scale := tensor.View[float32](c.In[1]), tensor.View[float32](c.In[2])
	pace := c.Pace()
	for i, v := range a {
		pace.Work(16)
		h := i % len(bias)
		decay[i] = scale[h] * softplus(v+bias[h])
	}
	c.PutFloats(c.Out[0], decay)
	if !c.Wants(1) {
		return nil
	}
	b, err := c.Floats(c.In[3])
	if err != nil {
		return err
	}
	beta, err := c.FloatsFor(c.Out[1])
	if err != nil {
		return err
	}
	for i, v := range b {
		pace.Work(8)
		beta[i] = sigmoid(v)
	}
	c.PutFloats(c.Out[1], beta)
	return nil
}

func softplus(v float32) float32 {
	x := float64(v)
	return float32(max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))))
}

// engramGate is EngramGate. It multiplies a value by a gate computed from the dot product of keys
// and queries of each stream.
type engramGate struct{ epsilon float32 }

func newEngramGate(n *op.Node) (op.Op, error) {
	if len(n.Outputs) > 1 && n.Outputs[1] != "" && !n.HasIn(5) {
		return nil, graph.Errorf(graph.ErrFormat, "the output gated_value_normed needs the input conv_norm_scale")
	}
	return &engramGate{n.Float("epsilon", 1e-5)}, nil
}

// Infer sets [batch,tokens,streams,hidden].
func (o *engramGate) Infer(c *op.Infer) error {
	if err := kit.SameTypes(c.In); err != nil {
		return err
	}
	out := graph.UnknownDims(4)
	for _, i := range []int{0, 1} {
		d := c.In[i].Dims
		if d == nil {
			continue
		}
		if !kit.MayEqual(d, out) {
			return graph.Errorf(graph.ErrShape, "keys %v and queries %v are not [batch,tokens,streams,hidden]", c.In[0].Type,
				c.In[1].Type)
		}
		out = d
	}
	if d := c.In[2].Dims; d != nil && !kit.MayEqual(d, graph.Dims{out[0], out[1], out[3]}) {
		return graph.Errorf(graph.ErrShape, "value %v does not belong to keys %v", c.In[2].Type, c.In[0].Type)
	}
	for i := 3; i < len(c.In); i++ {
		if c.Has(i) && c.In[i].Dims != nil && !kit.MayEqual(c.In[i].Dims, out[2:]) {
			return graph.Errorf(graph.ErrShape, "scale %v does not belong to keys %v", c.In[i].Type, c.In[0].Type)
		}
	}
	c.Set(0, c.In[0].DType, out)
	c.Set(1, c.In[0].DType, out)
	return nil
}

// Run computes in float32 and rounds once.
func (o *engramGate) Run(c *op.Run) error {
	var in [6][]float32
	var err error
	for i := range in {
		if in[i], err = c.Floats(c.Given(i)); err != nil {
			return err
		}
	}
	shape := c.In[0].Shape()
	streams, n := shape[2], shape[3]
	y, err := c.FloatsFor(c.Out[0])
	if err != nil {
		return err
	}
	var normed []float32
	if c.Wants(1) {
		if normed, err = c.FloatsFor(c.Out[1]); err != nil {
			return err
		}
	}
	for at := 0; n > 0 && at < len(y); at += n {
		if c.Stopped() {
			return op.ErrStopped
		}
		s := at / n % streams * n
		gate := o.gate(in[0][at:at+n], in[1][at:at+n], in[3][s:s+n], in[4][s:s+n])
		value, out := in[2][at/n/streams*n:][:n], y[at:at+n]
		for i, v := range value {
			out[i] = gate * v
		}
		if normed != nil {
			inverse := inverseRMS(out, o.epsilon)
			for i, v := range out {
				normed[at+i] = v * inverse * in[5][s+i]
			}
		}
	}
	c.PutFloats(c.Out[0], y)
	if normed != nil {
		c.PutFloats(c.Out[1], normed)
	}
	return nil
}

// gate returns the gate of one stream of one token.
func (o *engramGate) gate(key, query, keyScale, queryScale []float32) float32 {
	k, q := inverseRMS(key, o.epsilon), inverseRMS(query, o.epsilon)
	n, even, odd := len(key), 0.0, 0.0
	query, keyScale, queryScale = query[:n], keyScale[:n], queryScale[:n]
	term := func(i int) float64 { return float64(key[i]*k*keyScale[i]) * float64(query[i]*q*queryScale[i]) }
	for i := 0; i+1 < n; i += 2 {
		even += term(i)
		odd += term(i + 1)
	}
	dot := even + odd
	if n%2 == 1 {
		dot += term(n - 1)
	}
	dot /= math.Sqrt(float64(len(key)))
	root := math.Sqrt(max(math.Abs(dot), 1e-6))
	switch {
	case dot < 0:
		root = -root
	case dot == 0:
		root = 0
	}
	return sigmoid(float32(root))
}

var gateRows = []op.Row{
	{Domain: kit.Microsoft, Name: "GatedAdd", Since: []int{1}, In: [2]int{3, 3}, Out: [2]int{1, 1},
		Types: kit.ComputedInF32, New: newGatedAdd},
	{Domain: kit.Microsoft, Name: "ScaledSiLU", Since: []int{1}, In: [2]int{1, 2}, Out: [2]int{1, 1}, Types: kit.ComputedInF32, New: newScaledSiLU},
	{Domain: kit.Microsoft, Name: "LinearAttentionGate", Since: []int{1}, In: [2]int{3, 4}, Out: [2]int{1, 2}, Types: kit.ComputedInF32, New: func(*op.Node) (op.Op, error) { return linearGate{}, nil }},
	{Domain: kit.Microsoft, Name: "EngramGate", Since: []int{1}, In: [2]int{5, 6}, Out: [2]int{1, 2}, Types: kit.ComputedInF32, New: newEngramGate},
}
