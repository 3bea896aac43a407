package nn

import (
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
)

// FusedConv is Conv plus Z, input 3, followed by an activation.
type FusedConv struct {
	Conv
	Epilogue kit.Epilogue
}

func newFusedConv(n *op.Node) (op.Op, error) {
	inner, err := NewConv(n)
	if err != nil {
		return nil, err
	}
	epilogue, err := kit.ReadEpilogue(n)
	return &FusedConv{*inner.(*Conv), epilogue}, err
}

// Infer applies the rule of Conv and checks that Z has the shape of the output.
func (o *FusedConv) Infer(c *op.Infer) error {
	inner := *c
	inner.In = c.In[:min(3, len(c.In))]
	if err := o.Conv.Infer(&inner); err != nil {
		return err
	}
	return kit.CheckAddend(c, c.In[0].DType)
}

var fusedConvRows = []op.Row{
	{Domain: kit.Microsoft, Name: "FusedConv", Since: []int{1}, In: [2]int{2, 4}, Out: [2]int{1, 1}, Types: op.Floats, InPlace: []int{3}, Work: ConvWork(1), Items: kit.ItemsFirst(0, 3), New: newFusedConv},
}
