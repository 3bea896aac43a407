package array

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// constant yields a tensor from its attributes.
type constant struct {
	value  *tensor.Tensor
	sparse *kit.Sparse // instead of value
}

func newConstant(n *op.Node) (op.Op, error) {
	o := &constant{}
	given := 0
	set := func(name string, value func() (*tensor.Tensor, error)) error {
		if !n.Has(name) {
			return nil
		}
		given++
		t, err := value()
		if err == nil && t == nil {
			err = n.Err()
		}
		o.value = t
		return err
	}
	for name, value := range map[string]func() (*tensor.Tensor, error){
		"value":         func() (*tensor.Tensor, error) { return n.Tensor("value"), nil },
		"value_int":     func() (*tensor.Tensor, error) { return tensor.From([]int64{int64(n.Int("value_int", 0))}) },
		"value_float":   func() (*tensor.Tensor, error) { return tensor.From([]float32{n.Float("value_float", 0)}) },
		"value_string":  func() (*tensor.Tensor, error) { return tensor.FromStrings([]string{n.Str("value_string", "")}) },
		"value_ints":    func() (*tensor.Tensor, error) { return kit.Int64Vector(n.Ints("value_ints")), nil },
		"value_floats":  func() (*tensor.Tensor, error) { f := n.Floats("value_floats"); return tensor.From(f, len(f)) },
		"value_strings": func() (*tensor.Tensor, error) { s := n.Strs("value_strings"); return tensor.FromStrings(s, len(s)) },
	} {
		if err := set(name, value); err != nil {
			return nil, err
		}
	}
	if s := n.Sparse("sparse_value"); s != nil {
		var err error
		if o.sparse, err = kit.NewSparse(s); err != nil {
			return nil, err
		}
		given++
	}
	if given != 1 {
		return nil, graph.Errorf(graph.ErrFormat, "has %d attributes with a value, not one", given)
	}
	return o, nil
}

// Infer leaves the elements of a sparse tensor unknown. The optimiser unfolds sparse tensors that
// fit the memory limit.
func (o *constant) Infer(c *op.Infer) error {
	if o.sparse != nil {
		c.Set(0, o.sparse.DType, graph.DimsOf(o.sparse.Shape))
		return nil
	}
	c.Set(0, o.value.DType(), graph.DimsOf(o.value.Shape()))
	c.Out[0].Const = o.value
	return nil
}

// Run computes the output.
func (o *constant) Run(c *op.Run) error {
	if o.sparse != nil {
		o.sparse.Unfold(c.Out[0])
		return nil
	}
	copy(c.Out[0].Bytes(), o.value.Bytes())
	copy(c.Out[0].Strings(), o.value.Strings())
	return nil
}

// ConstantOfShape fills a shape with one value.
type ConstantOfShape struct {
	value *tensor.Tensor
}

func newConstantOfShape(n *op.Node) (op.Op, error) {
	o := &ConstantOfShape{value: tensor.New(tensor.F32, 1)}
	if t := n.Tensor("value"); t != nil {
		o.value = t
	}
	if o.value.Len() != 1 {
		return nil, graph.Errorf(graph.ErrFormat, "attribute value is %v, not one element", o.value)
	}
	return o, nil
}

func (o *ConstantOfShape) Infer(c *op.Infer) error {
	shape, err := c.In[0].Extents()
	if err != nil {
		return err
	}
	c.Set(0, o.value.DType(), shape)
	one := op.Value{Type: graph.TensorOf(o.value.DType(), graph.Dims{graph.Known(1)}), Const: o.value}
	if list, ok := one.IntVec(); ok && len(shape) == 1 {
		if n, ok := shape[0].Value(); ok && n >= 0 && n <= op.MaxInts {
			ints := make([]graph.Dim, n)
			for i := range ints {
				ints[i] = list[0]
			}
			c.SetInts(0, ints)
		}
	}
	return nil
}

// Copies fills the output.
func (o *ConstantOfShape) Copies(c *op.Infer) ([]Copy, error) {
	return []Copy{fillOf(o.value, c.Out[0].Dims)}, nil
}

// Run computes the output in Go.
func (o *ConstantOfShape) Run(c *op.Run) error { return runCopies(o, c) }

var constantRows = []op.Row{
	{Name: "Constant", Since: []int{1, 9, 11, 12, 13, 19, 21, 23, 24, 25}, In: [2]int{0, 0}, Out: [2]int{1, 1}, Flat: true, New: newConstant},
	{Name: "ConstantOfShape", Since: []int{9, 20, 21, 23, 24, 25}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: op.Types{tensor.I64}, Generates: true, Flat: true, Items: itemsOfSize, New: newConstantOfShape},
}
