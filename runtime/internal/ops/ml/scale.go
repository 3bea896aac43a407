package ml

import (
	"math"

	"github.com/nacre-ml/nacre/internal/elements"
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
	if x, y := c.In[0], c.Out[0]; x.DType() == tensor.I64 {
		binarize(c.Pace(), x, y, func(v int64) bool { return v > whole || math.IsInf(t, -1) })
	} else {
		binarize(c.Pace(), x, y, func(v float64) bool { return v > t })
	}
	return nil
}

// binarize sets elements of y to 1 where above is true of the element of x, read as N, and to 0
// elsewhere.
func binarize[N float64 | int64](pace *op.Pace, x, y *tensor.Tensor, above func(N) bool) {
	for at, list := range blocksOf[N](x) {
		pace.Work(2 * len(list))
		for i, v := range list {
			list[i] = N(kit.Btoi(above(v)))
		}
		elements.Put(y, at, list)
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
	x, y := c.In[0], tensor.View[float32](c.Out[0])
	if x.DType() == tensor.F64 {
		double := func(v float32) float64 { return float64(v) }
		rescale(c.Pace(), x, kit.Convert(offset, double), kit.Convert(scale, double), y)
	} else {
		rescale(c.Pace(), x, offset, scale, y)
	}
	return nil
}

// rescale computes in F.
func rescale[F float32 | float64](pace *op.Pace, x *tensor.Tensor, offset, scale []F, y []float32) {
	feature := 0
	for at, list := range blocksOf[F](x) {
		pace.Work(2 * len(list))
		for len(list) > 0 {
			n := min(len(list), len(offset)-feature)
			less, times, out := offset[feature:][:n], scale[feature:][:n], y[at:][:n]
			for i, v := range list[:n] {
				out[i] = float32((v - less[i]) * times[i])
			}
			at, list = at+n, list[n:]
			if feature += n; feature == len(offset) {
				feature = 0
			}
		}
	}
}

var scaleRows = []op.Row{
	overInput(newRow("Binarizer", numberTypes, newBinarizer)),
	overInput(newRow("Scaler", numberTypes, newScaler)),
}
