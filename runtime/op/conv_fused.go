package op

import (
	"github.com/nacre-ml/nacre/bindings"
)

// fusedConv is Conv with a value added and an activation behind it.
type fusedConv struct {
	conv
	then finisher
}

func newFusedConv(n *Node) (Op, error) {
	inner, err := newConv(n)
	if err != nil {
		return nil, err
	}
	then, err := newFinisher(n)
	return &fusedConv{*inner.(*conv), then}, err
}

// Infer is that of Conv; what is added has the shape of the output.
func (o *fusedConv) Infer(c *Infer) error {
	inner := *c
	inner.In = c.In[:min(3, len(c.In))]
	if err := o.conv.Infer(&inner); err != nil {
		return err
	}
	return checkAddend(c, c.In[0].DType)
}

// Prepare chooses the kernels.
func (o *fusedConv) Prepare(c *Prepare) error {
	if err := o.then.prepare(c); err != nil {
		return err
	}
	return o.conv.Prepare(c)
}

// Run computes the output.
func (o *fusedConv) Run(c *Run) error {
	return o.then.run(c, func(f bindings.Finish) error { return o.conv.run(c, f) })
}

var fusedConvRows = []Row{
	{Domain: microsoft, Name: "FusedConv", Since: []int{1}, In: [2]int{2, 4}, Out: [2]int{1, 1}, Types: floats, InPlace: []int{3}, New: newFusedConv},
}
