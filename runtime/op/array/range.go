package array

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Range counts from start to before limit in steps of delta.
type Range struct{}

func newRange(n *op.Node) (op.Op, error) {
	if n.Since >= 27 {
		// Whatever type is asked for, at least its precision is kept.
		n.Ignore("stash_type")
	}
	return Range{}, nil
}

func (Range) Infer(c *op.Infer) error {
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
		list, ok := c.In[i].ShortInts()
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

// rangeLen is the number of elements, ceil((limit-start)/delta).
func rangeLen(start, limit, delta *tensor.Tensor) (int, error) {
	switch start.DType() {
	case tensor.I64, tensor.I32, tensor.I16:
		return intRange(start, limit, delta)
	}
	a, b, d := op.FirstFloat(start), op.FirstFloat(limit), op.FirstFloat(delta)
	n := math.Ceil((b - a) / d)
	if d == 0 || math.IsNaN(n) || n > op.MaxElements {
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
	if n > op.MaxElements {
		return 0, graph.Errorf(graph.ErrShape, "no range from %d to %d in steps of %d: too long", v[0], v[1], v[2])
	}
	return int(n), nil
}

func (Range) Run(c *op.Run) error {
	n, err := rangeLen(c.In[0], c.In[1], c.In[2])
	if err != nil {
		return err
	}
	if err := wantShape(c.Out[0], tensor.Shape{n}); err != nil {
		return err
	}
	switch out := c.Out[0]; out.DType() {
	case tensor.F32:
		return count[float32](c)
	case tensor.F64:
		return count[float64](c)
	case tensor.I64:
		return countInts[int64](c)
	case tensor.I32:
		return countInts[int32](c)
	case tensor.I16:
		return countInts[int16](c)
	case tensor.F16:
		start, delta := op.FirstFloat(c.In[0]), op.FirstFloat(c.In[2])
		for i, to := 0, tensor.View[packed.F16](out); i < n; i++ {
			to[i] = packed.ToF16(float32(start + float64(i)*delta))
		}
	case tensor.BF16:
		start, delta := op.FirstFloat(c.In[0]), op.FirstFloat(c.In[2])
		for i, to := 0, tensor.View[packed.BF16](out); i < n; i++ {
			to[i] = packed.ToBF16(float32(start + float64(i)*delta))
		}
	}
	return nil
}

// RangeByOne is a Range whose delta may be left out.
type RangeByOne struct{ Range }

func newRangeByOne(*op.Node) (op.Op, error) { return RangeByOne{}, nil }

// Infer and Run add the delta 1.
func (o RangeByOne) Infer(c *op.Infer) error {
	all := *c
	if !c.Has(2) && op.Numeric.Has(c.In[0].DType) {
		one := tensor.New(c.In[0].DType)
		op.SetNumbers(one, []float64{1})
		all.In = []*op.Value{c.In[0], c.In[1], op.Known(one)}
	}
	return o.Range.Infer(&all)
}

func (o RangeByOne) Run(c *op.Run) error {
	all := *c
	if !c.Has(2) {
		one := tensor.New(c.In[0].DType())
		op.SetNumbers(one, []float64{1})
		all.In = []*tensor.Tensor{c.In[0], c.In[1], one}
	}
	return o.Range.Run(&all)
}

// countGrain is how many numbers a goroutine counts at a time.
const countGrain = 1 << 16

// exactFloats is a bound of integers of which every one is a float32.
const exactFloats = 1 << 24

// count multiplies and adds. An index of a group is a sum, which is exact and faster than a
// conversion of an integer.
func count[T float32 | float64](c *op.Run) error {
	start, delta := tensor.View[T](c.In[0].Aligned())[0], tensor.View[T](c.In[2].Aligned())[0]
	all := tensor.View[T](c.Out[0])
	return c.Parallel(len(all), countGrain, func(from, to int) error {
		out := all[from:to]
		for ; len(out) >= 8 && from <= exactFloats-8; out, from = out[8:], from+8 {
			o, v := (*[8]T)(out), T(from)
			p, q, r, s := v*delta, (v+1)*delta, (v+2)*delta, (v+3)*delta
			o[0], o[1], o[2], o[3] = start+T(p), start+T(q), start+T(r), start+T(s)
			p, q, r, s = (v+4)*delta, (v+5)*delta, (v+6)*delta, (v+7)*delta
			o[4], o[5], o[6], o[7] = start+T(p), start+T(q), start+T(r), start+T(s)
		}
		for i := range out {
			out[i] = start + T(T(from+i)*delta)
		}
		return nil
	})
}

// countInts adds up steps, eight numbers at a time.
func countInts[T int64 | int32 | int16](c *op.Run) error {
	start, delta := tensor.View[T](c.In[0].Aligned())[0], tensor.View[T](c.In[2].Aligned())[0]
	all := tensor.View[T](c.Out[0])
	return c.Parallel(len(all), countGrain, func(from, to int) error {
		out, v := all[from:to], start+T(from)*delta
		for ; len(out) >= 8; out, v = out[8:], v+8*delta {
			o, w := (*[8]T)(out), v+4*delta
			o[0], o[1], o[2], o[3] = v, v+delta, v+2*delta, v+3*delta
			o[4], o[5], o[6], o[7] = w, w+delta, w+2*delta, w+3*delta
		}
		for i := range out {
			out[i] = v + T(i)*delta
		}
		return nil
	})
}

var rangeRows = []op.Row{
	{Name: "Range", Since: []int{11, 27}, In: [2]int{3, 3}, Out: [2]int{1, 1}, Types: slices.Concat(op.Floats, op.Types{tensor.I16, tensor.I32, tensor.I64}), Generates: true, New: newRange},
	{Domain: op.Microsoft, Name: "Range", Since: []int{1}, In: [2]int{2, 3}, Out: [2]int{1, 1}, Types: op.Types{tensor.F32, tensor.F64, tensor.I16, tensor.I32, tensor.I64}, Generates: true, New: newRangeByOne},
}
