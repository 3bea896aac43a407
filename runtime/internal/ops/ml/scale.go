package ml

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// binarizer gives 1 for an element above the threshold and 0 otherwise.
type binarizer struct{ threshold float64 }

func newBinarizer(n *op.Node) (op.Op, error) {
	return &binarizer{float64(n.Float("threshold", 0))}, nil
}

func (o *binarizer) Infer(c *op.Infer) error { return inferFeatures(c, c.In[0].DType) }

func (o *binarizer) Run(c *op.Run) error {
	t := o.threshold
	// An integer exceeds t if it exceeds the floor of t.
	whole := int64(math.MaxInt64)
	switch floor := math.Floor(t); {
	case floor < -0x1p63:
		whole, t = math.MinInt64, math.Inf(-1)
	case floor < 0x1p63:
		whole = int64(floor)
	}
	switch x, y := c.In[0], c.Out[0]; x.DType() {
	case tensor.F32:
		binarize(c.Pace(), tensor.View[float32](x), tensor.View[float32](y), func(v float32) bool { return float64(v) > t })
	case tensor.F64:
		binarize(c.Pace(), tensor.View[float64](x), tensor.View[float64](y), func(v float64) bool { return v > t })
	case tensor.I64:
		binarize(c.Pace(), tensor.View[int64](x), tensor.View[int64](y), func(v int64) bool { return v > whole || math.IsInf(t, -1) })
	case tensor.I32:
		binarize(c.Pace(), tensor.View[int32](x), tensor.View[int32](y), func(v int32) bool { return int64(v) > whole })
	}
	return nil
}

func binarize[T number](pace *op.Pace, x, y []T, above func(T) bool) {
	for from, to := range pace.Stretches(len(x), 2) {
		binarizeAll(x[from:to], y[from:to], above)
	}
}

func binarizeAll[T number](x, y []T, above func(T) bool) {
	for i, v := range x {
		y[i] = 0
		if above(v) {
			y[i] = 1
		}
	}
}

// scaler subtracts an offset and multiplies by a scale. Each is one number for all features or one
// per feature.
type scaler struct{ offset, scale []float32 }

func newScaler(n *op.Node) (op.Op, error) {
	o := &scaler{n.Floats("offset"), n.Floats("scale")}
	if len(o.offset) == 0 {
		o.offset = []float32{0}
	}
	if len(o.scale) == 0 {
		o.scale = []float32{1}
	}
	return o, nil
}

func (o *scaler) Infer(c *op.Infer) error {
	return inferFeatures(c, tensor.F32, len(o.offset), len(o.scale))
}

func (o *scaler) Run(c *op.Run) error {
	n, err := featureCount(c, len(o.offset), len(o.scale))
	if err != nil {
		return err
	}
	offset, scale := perFeature(o.offset, n), perFeature(o.scale, n)
	switch x, y := c.In[0], tensor.View[float32](c.Out[0]); x.DType() {
	case tensor.F32:
		rescale(c.Pace(), tensor.View[float32](x), offset, scale, y)
	case tensor.F64:
		double := func(v float32) float64 { return float64(v) }
		rescale(c.Pace(), tensor.View[float64](x), kit.Convert(offset, double), kit.Convert(scale, double), y)
	case tensor.I64:
		rescale(c.Pace(), tensor.View[int64](x), offset, scale, y)
	case tensor.I32:
		rescale(c.Pace(), tensor.View[int32](x), offset, scale, y)
	}
	return nil
}

func rescale[T number, F float32 | float64](pace *op.Pace, x []T, offset, scale []F, y []float32) {
	for n := len(offset); len(x) > 0; x, y = x[n:], y[n:] {
		pace.Work(8 + 2*n)
		for j, v := range x[:n] {
			y[j] = float32((F(v) - offset[j]) * scale[j])
		}
	}
}

var scaleRows = []op.Row{
	overInput(newRow("Binarizer", numberTypes, newBinarizer)),
	overInput(newRow("Scaler", numberTypes, newScaler)),
}
