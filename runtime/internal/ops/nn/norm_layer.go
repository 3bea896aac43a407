package nn

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// LayerNorm is LayerNormalization and, without centring, RMSNormalization. The axes from Axis on
// are normalised together, then scaled and shifted. Statistics are computed in at least float32,
// whatever stash_type says; it is only the type of the outputs for statistics.
type LayerNorm struct {
	Axis    int
	Epsilon float32
	Centred bool
	Stash   tensor.DType // of the statistics
}

func newLayerNorm(n *op.Node) (op.Op, error) { return newRowNorm(n, true) }

func newRMSNorm(n *op.Node) (op.Op, error) { return newRowNorm(n, false) }

func newRowNorm(n *op.Node, centred bool) (op.Op, error) {
	o := &LayerNorm{Axis: n.Int("axis", -1), Epsilon: n.Float("epsilon", 1e-5), Centred: centred}
	var err error
	o.Stash, err = stashType(n)
	return o, err
}

// stashType returns the element type for the number in stash_type.
func stashType(n *op.Node) (tensor.DType, error) {
	switch v := n.Int("stash_type", 1); v {
	case 1:
		return tensor.F32, nil
	case 10:
		return tensor.F16, nil
	case 11:
		return tensor.F64, nil
	case 16:
		return tensor.BF16, nil
	default:
		return 0, graph.Errorf(graph.ErrUnsupported,
			"stash_type is %d; it takes 1 (float32), 10 (float16), 11 (float64), 16 (bfloat16)", v)
	}
}

// Infer keeps the shape. The statistics have extent 1 along the normalised axes.
func (o *LayerNorm) Infer(c *op.Infer) error {
	x := c.In[0]
	d := x.DType
	if !o.Centred {
		d = c.In[1].DType
	}
	if !op.Floats.Has(c.In[1].DType) || c.Has(2) && !op.Floats.Has(c.In[2].DType) {
		return graph.Errorf(graph.ErrUnsupported, "scale and bias take elements of %v", op.Floats)
	}
	c.Set(0, d, x.Dims)
	rank, ok := x.Rank()
	if !ok {
		c.Set(1, o.Stash, nil)
		c.Set(2, o.Stash, nil)
		return nil
	}
	axis, err := op.NormAxis(o.Axis, rank)
	if err != nil {
		return err
	}
	stats := slices.Clone(x.Dims)
	for i := axis; i < rank; i++ {
		stats[i] = graph.Known(1)
	}
	c.Set(1, o.Stash, stats)
	c.Set(2, o.Stash, stats)
	for _, v := range c.In[1:] {
		if v == nil {
			continue
		}
		if joined, err := op.Broadcast(v.Dims, x.Dims); err != nil || len(joined) > rank {
			return graph.Errorf(graph.ErrShape, "scale or bias %v does not broadcast to the input's %v", v.Dims, x.Dims)
		}
	}
	return nil
}

// Split returns the number of rows of a value and of elements per row. A row is normalised
// together.
func (o *LayerNorm) Split(dims graph.Dims) (rows, n graph.Dim, err error) {
	axis, err := op.NormAxis(o.Axis, len(dims))
	if err != nil {
		return rows, n, err
	}
	return dims[:axis].Len(), dims[axis:].Len(), nil
}

// PerElement reports whether a parameter has one element for each element of a row.
func (o *LayerNorm) PerElement(dims, param graph.Dims) bool {
	axis, err := op.NormAxis(o.Axis, len(dims))
	if err != nil {
		return false
	}
	row := dims[axis:]
	for len(param) > len(row) && param[0].Is(1) {
		param = param[1:]
	}
	return slices.EqualFunc(param, row, graph.Dim.Same)
}

// PerRow reports whether a scale and a bias have one element for each channel, if rows are those of batch
// times channels. All elements of a row then share theirs.
func (o *LayerNorm) PerRow(dims, scale, bias graph.Dims) (batch, channels graph.Dim, ok bool) {
	axis, err := op.NormAxis(o.Axis, len(dims))
	if err != nil || !o.Centred {
		return batch, channels, false
	}
	first, ok := perRow(dims, scale, axis)
	if other, fits := perRow(dims, bias, axis); !ok || !fits || other != first {
		return batch, channels, false
	}
	return dims[:first].Len(), dims[first:axis].Len(), true
}

// perRow returns the first axis of the channels of a parameter for rows.
func perRow(dims, param graph.Dims, axis int) (first int, ok bool) {
	if len(param) > len(dims) {
		return 0, false
	}
	isOne := func(d graph.Dim) bool { return d.Is(1) }
	param = append(slices.Repeat(graph.Dims{graph.Known(1)}, len(dims)-len(param)), param...)
	for first < axis && isOne(param[first]) {
		first++
	}
	ok = slices.EqualFunc(param[first:axis], dims[first:axis], graph.Dim.Same)
	return first, ok && !slices.ContainsFunc(param[axis:], func(d graph.Dim) bool { return !isOne(d) })
}

// Run computes the outputs. The first may share the memory of the input.
func (o *LayerNorm) Run(c *op.Run) error {
	shape := c.In[0].Shape()
	axis, err := op.NormAxis(o.Axis, len(shape))
	if err != nil {
		return err
	}
	rows, n := shape[:axis].Len(), shape[axis:].Len()
	if rows == 0 {
		return nil
	}
	var outs [3]*tensor.Tensor
	copy(outs[:], c.Out)
	x := kit.Doubles(c.In[0])
	scale, err := spread(c.Pace(), kit.Doubles(c.In[1]), c.In[1].Shape(), shape)
	if err != nil {
		return err
	}
	bias := make([]float64, len(x))
	if c.Has(2) {
		if bias, err = spread(c.Pace(), kit.Doubles(c.In[2]), c.In[2].Shape(), shape); err != nil {
			return err
		}
	}
	out, means, invs := make([]float64, len(x)), make([]float64, rows), make([]float64, rows)
	pace := c.Pace()
	for r := range rows {
		pace.Work(8 * n)
		mean, variance := moments(x[r*n:(r+1)*n], o.Centred)
		means[r], invs[r] = mean, 1/math.Sqrt(variance+float64(o.Epsilon))
		for i := r * n; i < (r+1)*n; i++ {
			out[i] = (x[i]-mean)*invs[r]*scale[i] + bias[i]
		}
	}
	kit.PutDoubles(outs[0], out)
	kit.PutDoubles(outs[1], means)
	kit.PutDoubles(outs[2], invs)
	return nil
}

// moments returns mean and variance. If not centred, it returns 0 and the mean square.
func moments(x []float64, centred bool) (mean, variance float64) {
	if centred {
		for _, v := range x {
			mean += v
		}
		mean /= float64(len(x))
	}
	for _, v := range x {
		variance += (v - mean) * (v - mean)
	}
	return mean, variance / float64(len(x))
}

// spread returns the elements of src, a value of shape from, broadcast to shape to.
func spread[T any](pace *op.Pace, src []T, from, to tensor.Shape) ([]T, error) {
	joined, err := op.Broadcast(graph.DimsOf(from), graph.DimsOf(to))
	if err != nil {
		return nil, err
	}
	if shape, _ := joined.Concrete(); !shape.Equal(to) {
		return nil, graph.Errorf(graph.ErrShape, "%v does not broadcast to %v", from, to)
	}
	dst := make([]T, to.Len())
	if len(dst) == 0 {
		return dst, nil
	}
	lead := len(to) - len(from)
	strides := make([]int, len(to))
	for i, n := range from.Strides() {
		if from[i] > 1 {
			strides[lead+i] = n
		}
	}
	index, at := make([]int, len(to)), 0
	for d := range dst {
		pace.Work(4)
		dst[d] = src[at]
		for i := len(to) - 1; i >= 0; i-- {
			index[i]++
			at += strides[i]
			if index[i] < to[i] {
				break
			}
			at -= strides[i] * to[i]
			index[i] = 0
		}
	}
	return dst, nil
}
