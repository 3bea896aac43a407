package ml

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// imputer replaces one value, which may be NaN. The replacements are one number for all features or
// one per feature.
type imputer struct {
	floats []float32
	float  float32 // the value to replace
	ints   []int
	int    int // the value to replace
}

func newImputer(n *op.Node) (op.Op, error) {
	o := &imputer{n.Floats("imputed_value_floats"), n.Float("replaced_value_float", 0), n.Ints("imputed_value_int64s"),
		n.Int("replaced_value_int64", 0)}
	if len(o.floats) == 0 && len(o.ints) == 0 {
		return nil, graph.Errorf(graph.ErrFormat,
			"imputed_value_floats or imputed_value_int64s must hold the values to put in")
	}
	return o, nil
}

func (o *imputer) Infer(c *op.Infer) error {
	count, err := o.count(c.In[0].DType)
	if err != nil {
		return err
	}
	return inferFeatures(c, c.In[0].DType, count)
}

// count returns the number of replacements for elements of type d.
func (o *imputer) count(d tensor.DType) (int, error) {
	if !d.IsInteger() {
		if len(o.floats) == 0 {
			return 0, graph.Errorf(graph.ErrShape, "elements are of type %v and imputed_value_floats is left out", d)
		}
		return len(o.floats), nil
	}
	if len(o.ints) == 0 {
		return 0, graph.Errorf(graph.ErrShape, "elements are of type %v and imputed_value_int64s is left out", d)
	}
	for _, v := range o.ints {
		if d == tensor.I32 && int(int32(v)) != v {
			return 0, graph.Errorf(graph.ErrShape, "elements are of type %v and %d is to be put in", d, v)
		}
	}
	return len(o.ints), nil
}

func (o *imputer) Run(c *op.Run) error {
	count, err := o.count(c.In[0].DType())
	if err != nil {
		return err
	}
	n, err := featureCount(c, count)
	if err != nil {
		return err
	}
	switch x, y := c.In[0], c.Out[0]; x.DType() {
	case tensor.F32:
		impute(c.Pace(), x, y, perFeature(o.floats, n), o.float)
	case tensor.F64:
		by := kit.Convert(perFeature(o.floats, n), func(v float32) float64 { return float64(v) })
		impute(c.Pace(), x, y, by, float64(o.float))
	case tensor.I64:
		by := kit.Convert(perFeature(o.ints, n), func(v int) int64 { return int64(v) })
		impute(c.Pace(), x, y, by, int64(o.int))
	case tensor.I32:
		by := kit.Convert(perFeature(o.ints, n), func(v int) int32 { return int32(v) })
		if int(int32(o.int)) != o.int { // no element has that value
			copy(y.Bytes(), x.Bytes())
			return nil
		}
		impute(c.Pace(), x, y, by, int32(o.int))
	}
	return nil
}

// impute copies elements and replaces the ones equal to missing. If missing is NaN, it replaces
// NaNs.
func impute[T number](pace *op.Pace, x, y *tensor.Tensor, by []T, missing T) {
	from, to := tensor.View[T](x), tensor.View[T](y)
	for n := len(by); len(from) > 0; from, to = from[n:], to[n:] {
		pace.Work(8 + 2*n)
		row := to[:n]
		if missing != missing {
			for j, v := range from[:n] {
				if v != v {
					v = by[j]
				}
				row[j] = v
			}
			continue
		}
		for j, v := range from[:n] {
			if v == missing {
				v = by[j]
			}
			row[j] = v
		}
	}
}

var imputerRows = []op.Row{overInput(newRow("Imputer", numberTypes, newImputer))}
