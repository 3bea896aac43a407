package moe

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Experts is a mixture of experts, networks of two layers. For each row x of the input it computes
// k of them:
//
//	y = sum over the chosen e of share(e) * (W2(e) f(W1(e) x + b1(e)) + b2(e))
//
// f is an activation. If W3 is given, the result of f is multiplied by W3(e) x + b3(e). SwiGLU
// takes a gate g and its factor l, from W1 or from W1 and W3:
//
//	min(g,limit) sigmoid(alpha min(g,limit)) (min(max(l,-limit),limit) + beta)
//
// The rows of one expert are multiplied together.
type Experts struct {
	routing
	Activation string // an element-wise function by its kernel name; "" for none
	SwiGLU     bool
	Fusion     int // 0: l is W3's; 1: g and l alternate in W1; 2: g is before l
	Alpha      float64
	Beta       float32
	Limit      float32
}

// Inputs common to all mixtures of experts.
const (
	ExpertInput, ExpertRouter = 0, 1
)

var expertActivations = map[string]string{"relu": "relu", "gelu": "gelu_tanh", "silu": "swish", "identity": "",
	"swiglu": "swish"}

// readExperts reads the attributes. third says that the node has W3.
func readExperts(n *op.Node, third bool) (Experts, error) {
	o := Experts{Alpha: 1, Fusion: n.Int("swiglu_fusion", 0), Limit: n.Float("swiglu_limit", float32(math.Inf(1)))}
	alpha := n.Float("activation_alpha", 1)
	o.Beta = n.Float("activation_beta", 0)
	var err error
	if o.routing, err = readRouting(n); err != nil {
		return o, err
	}
	name := n.Str("activation_type", "relu")
	kernel, ok := expertActivations[name]
	if !ok {
		return o, graph.Errorf(graph.ErrUnsupported,
			"activation_type %q; relu, gelu, silu, swiglu and identity are computed", name)
	}
	if o.Activation = kernel; name == "swiglu" {
		o.SwiGLU, o.Alpha = true, float64(alpha)
	}
	switch {
	case o.Fusion < 0 || o.Fusion > 2:
		err = graph.Errorf(graph.ErrFormat, "swiglu_fusion is %d, not 0, 1 or 2", o.Fusion)
	case o.SwiGLU && o.Fusion == 0 && !third:
		err = graph.Errorf(graph.ErrFormat, "swiglu_fusion is 0 for swiglu: fc3 is missing")
	case o.SwiGLU && o.Fusion != 0 && third:
		err = graph.Errorf(graph.ErrFormat, "swiglu_fusion is %d for swiglu: fc1 holds fc3, and that is there as well",
			o.Fusion)
	case !(o.Limit >= 0):
		err = graph.Errorf(graph.ErrFormat, "swiglu_limit is %g", o.Limit)
	}
	return o, err
}

// Fused returns the number of W1's rows that give one number after the activation.
func (o *Experts) Fused() int {
	if o.SwiGLU && o.Fusion != 0 {
		return 2
	}
	return 1
}

// infer keeps the input's extents and checks the router's logits.
func (o *Experts) infer(c *op.Infer) error {
	x, router := c.In[ExpertInput], c.In[ExpertRouter]
	c.Set(0, x.DType, x.Dims)
	if rank, ok := x.Rank(); ok && rank != 2 && rank != 3 {
		return graph.Errorf(graph.ErrShape, "input is %v; it takes [rows,size] or [batch,rows,size]", x.Type)
	}
	if rank, ok := router.Rank(); ok && rank != 2 || !kit.ComputedInF32.Has(router.DType) {
		return graph.Errorf(graph.ErrShape, "router_probs are %v, not floats [rows,experts]", router.Type)
	}
	return nil
}

// ExpertShape holds the extents of a mixture: Rows rows of Size elements, with Deep elements after
// the activation.
type ExpertShape struct {
	Experts, Rows, Size, Deep int
	// Layers holds the extents of W1, W2 and W3. W3 may be left out.
	Layers [3]ExpertLayer
}

// ExpertLayer holds the extents of weights [experts,Out,In]. Out is 0 if they are left out.
type ExpertLayer struct{ Out, In int }

// shape returns the extents that follow from the inputs and deep. has reports whether layer i
// exists.
func (o *Experts) shape(
	in func(i int) tensor.Shape, experts, deep int, has func(layer int) bool,
) (*ExpertShape, error) {
	s := &ExpertShape{Experts: experts, Deep: deep, Size: kit.FromEnd(in(ExpertInput), 1)}
	if s.Size > 0 {
		s.Rows = in(ExpertInput).Len() / s.Size
	}
	for i, l := range []ExpertLayer{{deep * o.Fused(), s.Size}, {s.Size, deep}, {deep, s.Size}} {
		if has(i) {
			s.Layers[i] = l
		}
	}
	if o.k > experts {
		return nil, graph.Errorf(graph.ErrShape, "k is %d of %d experts", o.k, experts)
	}
	return s, wantInput(in, ExpertRouter, tensor.Shape{s.Rows, experts})
}

// wantInput returns an error if input i is present with another shape.
func wantInput(in func(i int) tensor.Shape, i int, want tensor.Shape) error {
	if s := in(i); s != nil && !s.Equal(want) {
		return graph.Errorf(graph.ErrShape, "input %d has shape %v, not %v", i, s, want)
	}
	return nil
}

// expertWeights returns an error if the weights W1 and W2, inputs first and second, do not have
// three axes or are empty.
func expertWeights(in func(i int) tensor.Shape, first, second int) error {
	a, b := in(first), in(second)
	if len(a) != 3 || len(b) != 3 || a.Len() == 0 || b.Len() == 0 {
		return graph.Errorf(graph.ErrShape, "weights have shapes %v and %v, not [experts,out,in]", a, b)
	}
	return nil
}
