package moe

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// MoE is a mixture of experts with float weights.
type MoE struct{ Experts }

// LayerInputs returns the inputs of layer i: weights [experts,out,in] and bias [experts,out].
func (*MoE) LayerInputs(i int) (weights, bias int) { return 2 + 2*i, 3 + 2*i }

func newMoE(n *op.Node) (op.Op, error) {
	if n.HasIn(7) && !n.HasIn(6) {
		return nil, graph.Errorf(graph.ErrFormat, "input 7 is a bias of weights that are left out")
	}
	e, err := readExperts(n, n.HasIn(6))
	e.all = true
	return &MoE{e}, err
}

// Infer keeps the input's extents.
func (o *MoE) Infer(c *op.Infer) error {
	for i := 2; i < len(c.In); i++ {
		if c.Has(i) && c.In[i].DType != c.In[0].DType {
			return graph.Errorf(graph.ErrShape, "input %d is %v, the rows are %v", i, c.In[i].Type, c.In[0].Type)
		}
	}
	return o.infer(c)
}

// Shape checks the shapes of the inputs. in returns nil for one that is left out.
func (o *MoE) Shape(in func(i int) tensor.Shape) (*ExpertShape, error) {
	if err := expertWeights(in, 2, 4); err != nil {
		return nil, err
	}
	s, err := o.shape(in, in(2)[0], in(4)[2], func(layer int) bool { return in(2+2*layer) != nil })
	if err != nil {
		return nil, err
	}
	for i, l := range s.Layers {
		weights, bias := o.LayerInputs(i)
		if err := wantInput(in, weights, tensor.Shape{s.Experts, l.Out, l.In}); err != nil {
			return nil, err
		}
		if err := wantInput(in, bias, tensor.Shape{s.Experts, l.Out}); err != nil {
			return nil, err
		}
	}
	return s, nil
}

var expertRows = []op.Row{
	{Domain: kit.Microsoft, Name: "MoE", Since: []int{1}, In: [2]int{5, 8}, Optional: kit.Inputs(3), Out: [2]int{1, 1}, Types: kit.ComputedInF32, New: newMoE},
	{Domain: kit.Microsoft, Name: "QMoE", Since: []int{1}, In: [2]int{7, 21}, Optional: kit.Inputs(4), Out: [2]int{1, 1}, Types: kit.ComputedInF32, New: newQMoE},
	{Domain: kit.Internal, Name: "WidenedMoE", Since: []int{1}, In: [2]int{5, 8}, Optional: kit.Inputs(3), Out: [2]int{1, 1}, Types: op.Types{tensor.F32}, Blocks: true, New: newWidenedMoE},
}
