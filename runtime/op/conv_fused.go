package op

// FusedConv is Conv to whose result Z, input 3, is added, followed by an activation.
type FusedConv struct {
	Conv
	Then Epilogue
}

func newFusedConv(n *Node) (Op, error) {
	inner, err := newConv(n)
	if err != nil {
		return nil, err
	}
	then, err := readEpilogue(n)
	return &FusedConv{*inner.(*Conv), then}, err
}

// Infer is that of Conv; what is added has the shape of the output.
func (o *FusedConv) Infer(c *Infer) error {
	inner := *c
	inner.In = c.In[:min(3, len(c.In))]
	if err := o.Conv.Infer(&inner); err != nil {
		return err
	}
	return checkAddend(c, c.In[0].DType)
}

var fusedConvRows = []Row{
	{Domain: microsoft, Name: "FusedConv", Since: []int{1}, In: [2]int{2, 4}, Out: [2]int{1, 1}, Types: floats, InPlace: []int{3}, New: newFusedConv},
}
