package op

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// constant yields a tensor that its attributes hold.
type constant struct{ value *tensor.Tensor }

func newConstant(n *Node) (Op, error) {
	o := &constant{}
	given := 0
	set := func(name string, value func() (*tensor.Tensor, error)) error {
		if !n.Has(name) {
			return nil
		}
		given++
		t, err := value()
		if err == nil && t == nil {
			err = n.err
		}
		o.value = t
		return err
	}
	for name, value := range map[string]func() (*tensor.Tensor, error){
		"value":         func() (*tensor.Tensor, error) { return n.Tensor("value"), nil },
		"sparse_value":  func() (*tensor.Tensor, error) { return dense(n.sparse("sparse_value")) },
		"value_int":     func() (*tensor.Tensor, error) { return tensor.From([]int64{int64(n.Int("value_int", 0))}) },
		"value_float":   func() (*tensor.Tensor, error) { return tensor.From([]float32{n.Float("value_float", 0)}) },
		"value_string":  func() (*tensor.Tensor, error) { return tensor.FromStrings([]string{n.Str("value_string", "")}) },
		"value_ints":    func() (*tensor.Tensor, error) { return int64Vector(n.Ints("value_ints")), nil },
		"value_floats":  func() (*tensor.Tensor, error) { f := n.Floats("value_floats"); return tensor.From(f, len(f)) },
		"value_strings": func() (*tensor.Tensor, error) { s := n.Strs("value_strings"); return tensor.FromStrings(s, len(s)) },
	} {
		if err := set(name, value); err != nil {
			return nil, err
		}
	}
	if given != 1 {
		return nil, graph.Errorf(graph.ErrFormat, "has %d attributes with a value, not one", given)
	}
	return o, nil
}

func int64Vector(list []int) *tensor.Tensor {
	t := tensor.New(tensor.I64, len(list))
	putInts(t, list)
	return t
}

// sparse returns an attribute, or nil if it is not there.
func (n *Node) sparse(name string) *graph.SparseTensor {
	if a := n.attr(name, graph.AttrSparse); a != nil {
		return a.Sparse
	}
	return nil
}

func (o *constant) Infer(c *Infer) error {
	c.Set(0, o.value.DType(), graph.DimsOf(o.value.Shape()))
	c.Out[0].Const = o.value
	return nil
}

func (o *constant) Run(c *Run) error {
	copy(c.Out[0].Bytes(), o.value.Bytes())
	copy(c.Out[0].Strings(), o.value.Strings())
	return nil
}

// ConstantOfShape fills a shape with one value.
type ConstantOfShape struct {
	value *tensor.Tensor
}

func newConstantOfShape(n *Node) (Op, error) {
	o := &ConstantOfShape{value: tensor.New(tensor.F32, 1)}
	if t := n.Tensor("value"); t != nil {
		o.value = t
	}
	if o.value.Len() != 1 {
		return nil, graph.Errorf(graph.ErrFormat, "attribute value is %v, not one element", o.value)
	}
	return o, nil
}

func (o *ConstantOfShape) Infer(c *Infer) error {
	shape, err := c.In[0].extentsIn()
	if err != nil {
		return err
	}
	c.Set(0, o.value.DType(), shape)
	one := Value{Type: graph.TensorOf(o.value.DType(), graph.Dims{graph.Known(1)}), Const: o.value}
	if list, ok := one.shortInts(); ok && len(shape) == 1 {
		if n, ok := shape[0].Value(); ok && n >= 0 && n <= maxInts {
			ints := make([]graph.Dim, n)
			for i := range ints {
				ints[i] = list[0]
			}
			c.setInts(0, ints)
		}
	}
	return nil
}

// Copies fills the output.
func (o *ConstantOfShape) Copies(c *Infer) ([]Copy, error) {
	return []Copy{fillOf(o.value, c.Out[0].Dims)}, nil
}

// Run computes the output in Go.
func (o *ConstantOfShape) Run(c *Run) error { return runCopies(o, c) }

// rangeOp counts from start to before limit in steps of delta.
type rangeOp struct{}

func newRange(n *Node) (Op, error) {
	if n.Since >= 27 {
		// Whatever type is asked for, at least its precision is kept.
		n.Ignore("stash_type")
	}
	return rangeOp{}, nil
}

func (rangeOp) Infer(c *Infer) error {
	d := c.In[0].DType
	for i, v := range c.In {
		if v.DType != d {
			return graph.Errorf(graph.ErrShape, "input %d has elements of type %v, input 0 of %v", i, v.DType, d)
		}
		if n, ok := v.Dims.Len().Value(); ok && v.Dims != nil && n != 1 {
			return graph.Errorf(graph.ErrShape, "input %d is %v, not a scalar", i, v.Type)
		}
	}
	c.Set(0, d, graph.UnknownDims(1))
	if c.In[0].Const != nil && c.In[1].Const != nil && c.In[2].Const != nil {
		n, err := rangeLen(c.In[0].Const, c.In[1].Const, c.In[2].Const)
		if err != nil {
			return err
		}
		c.Set(0, d, graph.Dims{graph.Known(n)})
	}
	var scalars [3]graph.Dim
	for i := range scalars {
		list, ok := c.In[i].shortInts()
		if !ok || len(list) != 1 {
			return nil
		}
		scalars[i] = list[0]
	}
	start, limit, delta := scalars[0], scalars[1], scalars[2]
	if !limit.IsKnown() && delta.Is(1) {
		c.Set(0, d, graph.Dims{limit.Sub(start)})
	}
	if n, ok := c.Out[0].Dims[0].Value(); ok && n <= maxInts {
		list := make([]graph.Dim, n)
		for i := range list {
			list[i] = start.Add(delta.Mul(graph.Known(i)))
		}
		c.setInts(0, list)
	}
	return nil
}

// rangeLen is the number of elements, ceil((limit-start)/delta).
func rangeLen(start, limit, delta *tensor.Tensor) (int, error) {
	switch start.DType() {
	case tensor.I64, tensor.I32, tensor.I16:
		return intRange(start, limit, delta)
	}
	a, b, d := scalarFloat(start), scalarFloat(limit), scalarFloat(delta)
	n := math.Ceil((b - a) / d)
	if d == 0 || math.IsNaN(n) || n > maxRange {
		return 0, graph.Errorf(graph.ErrShape, "no range from %g to %g in steps of %g", a, b, d)
	}
	return int(max(n, 0)), nil
}

// maxRange is more elements than any memory holds; sums of a few fit an int.
const maxRange = min(1<<40, math.MaxInt>>2)

func intRange(start, limit, delta *tensor.Tensor) (int, error) {
	var v [3]int
	for i, t := range []*tensor.Tensor{start, limit, delta} {
		list, err := Ints(t)
		if err != nil {
			return 0, err
		}
		v[i] = list[0]
	}
	if v[2] == 0 {
		return 0, graph.Errorf(graph.ErrShape, "no range from %d to %d in steps of 0", v[0], v[1])
	}
	// Differences of int64 fit uint64.
	var gap, step uint64
	switch {
	case v[2] > 0 && v[1] > v[0]:
		gap, step = uint64(v[1])-uint64(v[0]), uint64(v[2])
	case v[2] < 0 && v[1] < v[0]:
		gap, step = uint64(v[0])-uint64(v[1]), -uint64(v[2])
	default:
		return 0, nil
	}
	n := (gap-1)/step + 1
	if n > maxRange {
		return 0, graph.Errorf(graph.ErrShape, "no range from %d to %d in steps of %d: too long", v[0], v[1], v[2])
	}
	return int(n), nil
}

// scalarFloat is the first element of a tensor of floats.
func scalarFloat(t *tensor.Tensor) float64 {
	switch t = t.Aligned(); t.DType() {
	case tensor.F64:
		return tensor.View[float64](t)[0]
	case tensor.F16:
		return float64(tensor.View[packed.F16](t)[0].Float32())
	case tensor.BF16:
		return float64(tensor.View[packed.BF16](t)[0].Float32())
	}
	return float64(tensor.View[float32](t)[0])
}

func (rangeOp) Run(c *Run) error {
	n, err := rangeLen(c.In[0], c.In[1], c.In[2])
	if err != nil {
		return err
	}
	if err := wantShape(c.Out[0], tensor.Shape{n}); err != nil {
		return err
	}
	switch out := c.Out[0]; out.DType() {
	case tensor.F32:
		count[float32](c)
	case tensor.F64:
		count[float64](c)
	case tensor.I64:
		count[int64](c)
	case tensor.I32:
		count[int32](c)
	case tensor.I16:
		count[int16](c)
	case tensor.F16:
		start, delta := scalarFloat(c.In[0]), scalarFloat(c.In[2])
		for i, to := 0, tensor.View[packed.F16](out); i < n; i++ {
			to[i] = packed.ToF16(float32(start + float64(i)*delta))
		}
	case tensor.BF16:
		start, delta := scalarFloat(c.In[0]), scalarFloat(c.In[2])
		for i, to := 0, tensor.View[packed.BF16](out); i < n; i++ {
			to[i] = packed.ToBF16(float32(start + float64(i)*delta))
		}
	}
	return nil
}

// rangeByOne is rangeOp whose delta may be left out.
type rangeByOne struct{ rangeOp }

func newRangeByOne(*Node) (Op, error) { return rangeByOne{}, nil }

// Infer and Run add the delta 1.
func (o rangeByOne) Infer(c *Infer) error {
	all := *c
	if !c.Has(2) && numeric.Has(c.In[0].DType) {
		one := tensor.New(c.In[0].DType)
		putNumbers(one, []float64{1})
		all.In = []*Value{c.In[0], c.In[1], Known(one)}
	}
	return o.rangeOp.Infer(&all)
}

func (o rangeByOne) Run(c *Run) error {
	all := *c
	if !c.Has(2) {
		one := tensor.New(c.In[0].DType())
		putNumbers(one, []float64{1})
		all.In = []*tensor.Tensor{c.In[0], c.In[1], one}
	}
	return o.rangeOp.Run(&all)
}

func count[T float32 | float64 | int64 | int32 | int16](c *Run) {
	start, delta := tensor.View[T](c.In[0].Aligned())[0], tensor.View[T](c.In[2].Aligned())[0]
	out := tensor.View[T](c.Out[0])
	for i := range out {
		step := T(i) * delta
		out[i] = start + step
	}
}

var constantRows = []Row{
	{Name: "Constant", Since: []int{1, 9, 11, 12, 13, 19, 21, 23, 24, 25}, In: [2]int{0, 0}, Out: [2]int{1, 1}, New: newConstant},
	{Name: "ConstantOfShape", Since: []int{9, 20, 21, 23, 24, 25}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: Types{tensor.I64}, New: newConstantOfShape},
	{Name: "Range", Since: []int{11, 27}, In: [2]int{3, 3}, Out: [2]int{1, 1}, Types: slices.Concat(floats, Types{tensor.I16, tensor.I32, tensor.I64}), New: newRange},
	{Domain: microsoft, Name: "Range", Since: []int{1}, In: [2]int{2, 3}, Out: [2]int{1, 1}, Types: Types{tensor.F32, tensor.F64, tensor.I16, tensor.I32, tensor.I64}, New: newRangeByOne},
}
