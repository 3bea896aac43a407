package arith

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
)

// Fused is an activation combined with an operation on two values: the activation of their sum, as
// in BiasGelu, or the product with an activation, as in SwiGLU.
type Fused struct {
	Unary, Binary string  // names of the functions
	First         bool    // the activation comes before the operation
	P             float64 // of the activation
	Bias          bool    // input 1 is a vector along the last axis, or left out; if false, it has the shape of input 0
}

func newSwiGLU(n *op.Node) (op.Op, error) {
	return &Fused{Unary: "swish", Binary: "mul", First: true, P: float64(n.Float("alpha", 1))}, nil
}

// Infer keeps the shape of the first input.
func (o *Fused) Infer(c *op.Infer) error {
	if err := kit.SameTypes(c.In); err != nil {
		return err
	}
	if c.Has(1) {
		if err := o.check(c.In[0], c.In[1]); err != nil {
			return err
		}
	}
	c.Set(0, c.In[0].DType, c.In[0].Dims)
	return nil
}

// check returns an error if the second input does not match the first.
func (o *Fused) check(x, b *op.Value) error {
	xs, ok := x.Dims.Concrete()
	bs, known := b.Dims.Concrete()
	if !ok || !known {
		return nil
	}
	if o.Bias && (len(bs) != 1 || len(xs) == 0 || bs[0] != kit.FromEnd(xs, 1)) || !o.Bias && !bs.Equal(xs) {
		return graph.Errorf(graph.ErrShape, "inputs %v and %v do not go together", x.Type, b.Type)
	}
	return nil
}

// biased returns a constructor for an activation of the sum of input 0 and a vector, which may be
// optional.
func biased(unary string) func(n *op.Node) (op.Op, error) {
	return func(*op.Node) (op.Op, error) { return &Fused{Unary: unary, Binary: "add", Bias: true}, nil }
}

func newQuickGelu(n *op.Node) (op.Op, error) {
	return &Unary{Func: "swish", P: float64(n.Float("alpha", 1.702))}, nil
}

func newPlainGelu(*op.Node) (op.Op, error) { return &Unary{Func: "gelu"}, nil }

var fusedRows = []op.Row{
	{Domain: kit.Microsoft, Name: "Gelu", Since: []int{1}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: op.Floats, InPlace: []int{0}, Elementwise: true, New: newPlainGelu},
	{Domain: kit.Microsoft, Name: "QuickGelu", Since: []int{1}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: op.Floats, InPlace: []int{0}, Elementwise: true, New: newQuickGelu},
	{Domain: kit.Microsoft, Name: "FastGelu", Since: []int{1}, In: [2]int{1, 2}, Out: [2]int{1, 1}, Types: op.Floats, InPlace: []int{0}, Elementwise: true, New: biased("gelu_tanh")},
	{Domain: kit.Microsoft, Name: "BiasGelu", Since: []int{1}, In: [2]int{2, 2}, Out: [2]int{1, 1}, Types: op.Floats, InPlace: []int{0}, Elementwise: true, New: biased("gelu")},
	{Name: "SwiGLU", Since: []int{28}, In: [2]int{2, 2}, Out: [2]int{1, 1}, Types: op.Floats, InPlace: []int{0, 1}, Elementwise: true, New: newSwiGLU},
}
