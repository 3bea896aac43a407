package array

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Range counts from start to before limit in steps of delta. If delta is left out, it is 1.
type Range struct{}

func newRange(n *op.Node) (op.Op, error) {
	if n.Since >= 27 {
		// Results are at least as precise as with any stash_type.
		n.Ignore("stash_type")
	}
	return Range{}, nil
}

func (Range) Infer(c *op.Infer) error {
	d := c.In[0].DType
	if !c.Has(2) && op.Numeric.Has(d) {
		all := *c
		all.In = []*op.Value{c.In[0], c.In[1], op.Known(one(d))}
		c = &all
	}
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
		list, ok := c.In[i].IntVec()
		if !ok || len(list) != 1 {
			return nil
		}
		scalars[i] = list[0]
	}
	start, limit, delta := scalars[0], scalars[1], scalars[2]
	if !limit.IsKnown() && delta.Is(1) {
		c.Set(0, d, graph.Dims{limit.Sub(start)})
	}
	if n, ok := c.Out[0].Dims[0].Value(); ok && n <= op.MaxInts {
		list := make([]graph.Dim, n)
		for i := range list {
			list[i] = start.Add(delta.Mul(graph.Known(i)))
		}
		c.SetInts(0, list)
	}
	return nil
}

// rangeLen returns the number of elements, ceil((limit-start)/delta).
func rangeLen(start, limit, delta *tensor.Tensor) (int, error) {
	switch start.DType() {
	case tensor.I64, tensor.I32, tensor.I16:
		return intRange(start, limit, delta)
	}
	a, b, d := kit.FirstFloat(start), kit.FirstFloat(limit), kit.FirstFloat(delta)
	n := math.Ceil((b - a) / d)
	if d == 0 || math.IsNaN(n) || n > kit.MaxElements {
		return 0, graph.Errorf(graph.ErrShape, "no range from %g to %g in steps of %g", a, b, d)
	}
	return int(max(n, 0)), nil
}

func intRange(start, limit, delta *tensor.Tensor) (int, error) {
	var v [3]int
	for i, t := range []*tensor.Tensor{start, limit, delta} {
		list, err := op.Ints(t)
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
	if n > kit.MaxElements {
		return 0, graph.Errorf(graph.ErrShape, "no range from %d to %d in steps of %d: too long", v[0], v[1], v[2])
	}
	return int(n), nil
}

// Terms returns the first element and the step. If the output does not have the length that the
// inputs require, it returns an error.
func (Range) Terms(c *op.Run) (start, delta *tensor.Tensor, err error) {
	if start = c.In[0].Aligned(); c.Has(2) {
		delta = c.In[2].Aligned()
	} else {
		delta = one(start.DType())
	}
	n, err := rangeLen(start, c.In[1], delta)
	if err != nil {
		return nil, nil, err
	}
	return start, delta, wantShape(c.Out[0], tensor.Shape{n})
}

// one returns a scalar 1.
func one(d tensor.DType) *tensor.Tensor {
	t := tensor.New(d)
	kit.SetNumbers(t, []float64{1})
	return t
}

func (o Range) Run(c *op.Run) error {
	start, delta, err := o.Terms(c)
	if err != nil {
		return err
	}
	count(c.Out[0], start, delta)
	return nil
}

// count sets out to start, start + delta, start + 2·delta and so on. Each index, product and sum is
// rounded to the type; for 16-bit floats, only the sum is.
func count(out, start, delta *tensor.Tensor) {
	switch out.DType() {
	case tensor.F32:
		countIn[float32](out, start, delta)
	case tensor.F64:
		countIn[float64](out, start, delta)
	case tensor.I64:
		countIn[int64](out, start, delta)
	case tensor.I32:
		countIn[int32](out, start, delta)
	case tensor.I16:
		countIn[int16](out, start, delta)
	case tensor.F16:
		countNarrow(out, start, delta, packed.ToF16)
	case tensor.BF16:
		countNarrow(out, start, delta, packed.ToBF16)
	}
}

func countIn[T float32 | float64 | int64 | int32 | int16](out, start, delta *tensor.Tensor) {
	a, d := tensor.View[T](start)[0], tensor.View[T](delta)[0]
	for i, to := 0, tensor.View[T](out); i < len(to); i++ {
		step := T(T(i) * d)
		to[i] = a + step
	}
}

func countNarrow[T packed.F16 | packed.BF16](out, start, delta *tensor.Tensor, round func(v float32) T) {
	a, d := kit.FirstFloat(start), kit.FirstFloat(delta)
	for i, to := 0, tensor.View[T](out); i < len(to); i++ {
		to[i] = round(float32(a + float64(i)*d))
	}
}

var rangeRows = []op.Row{
	{Name: "Range", Since: []int{11, 27}, In: [2]int{3, 3}, Out: [2]int{1, 1}, Types: slices.Concat(op.Floats, op.Types{tensor.I16, tensor.I32, tensor.I64}), Generates: true, New: newRange},
	{Domain: kit.Microsoft, Name: "Range", Since: []int{1}, In: [2]int{2, 3}, Out: [2]int{1, 1}, Types: op.Types{tensor.F32, tensor.F64, tensor.I16, tensor.I32, tensor.I64}, Generates: true, New: newRange},
}
