package lower

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/nn"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// RowNorm normalises rows of N elements of X, or of the sum of X, Skip and Bias.
type RowNorm struct {
	Rows, N, SkipRows           graph.Dim
	Centred                     bool
	Epsilon                     float64
	Stash                       tensor.DType // of statistics
	X, Skip, Bias, Scale, Shift Value
	Y, Mean, InvStd, Sum        Value
}

// GroupNorm normalises groups of the channels of X, [Batch,Channels,Inner]. Scale and Bias have Params
// elements each.
type GroupNorm struct {
	Batch, Channels, Inner, Groups, Params graph.Dim
	Epsilon                                float64
	X, Scale, Bias, Y                      Value
}

// BatchNorm normalises the channels of input 0, [Batch,Channels,Inner].
type BatchNorm struct {
	*nn.BatchNorm
	Batch, Channels, Inner graph.Dim
}

// NormBinder is a Binder for normalisations.
type NormBinder interface {
	Binder
	RowNorm(n *RowNorm) error
	GroupNorm(n *GroupNorm) error
	BatchNorm(n *BatchNorm) error
}

// Norms returns the rows of normalisations by a mean and a deviation.
func Norms[B NormBinder]() []device.Row[B] {
	return []device.Row[B]{
		normRow[B]("layer_norm", func(o *nn.LayerNorm, b NormBinder) error {
			return layerNorm(o, b, &RowNorm{Shift: Input(b, 2), Mean: Output(b, 1), InvStd: Output(b, 2)})
		}),
		normRow[B]("layer_norm", func(o *nn.SimplifiedNorm, b NormBinder) error {
			return layerNorm(&o.LayerNorm, b, &RowNorm{InvStd: Output(b, 1)})
		}),
		normRow[B]("skip_norm", bindSkipNorm),
		normRow[B]("group_norm", bindGroupNorm),
		normRow[B]("batch_norm", BindBatchNorm),
	}
}

func normRow[B NormBinder, T op.Op](name string, bind func(o T, b NormBinder) error) device.Row[B] {
	return device.RowFor(name, func(o T, b B) error { return bind(o, b) })
}

// layerNorm completes and binds r. A scale and a bias for each channel of the rows make it a GroupNorm.
func layerNorm(o *nn.LayerNorm, b NormBinder, r *RowNorm) (err error) {
	f := b.Facts()
	x := f.In[0].Dims
	if r.Rows, r.N, err = o.Split(x); err != nil {
		return err
	}
	r.Centred, r.Epsilon, r.Stash = o.Centred, float64(o.Epsilon), o.Stash
	r.X, r.Scale, r.Y = Input(b, 0), Input(b, 1), Output(b, 0)
	if !f.Wants(1) && !f.Wants(2) && r.Shift.Place != device.None && r.Y.DType == r.X.DType {
		if batch, channels, ok := o.PerRow(x, r.Scale.Dims, r.Shift.Dims); ok {
			return b.GroupNorm(&GroupNorm{Batch: batch, Channels: channels, Inner: r.N, Groups: channels, Params: channels,
				Epsilon: r.Epsilon, X: r.X, Scale: r.Scale, Bias: r.Shift, Y: r.Y})
		}
	}
	for i, v := range f.In[1:] {
		if v != nil && !o.PerElement(x, v.Dims) {
			return device.Refuse("parameter %d of shape %v does not have an element for each of a row of %v", i+1, v.Dims, x)
		}
	}
	return b.RowNorm(r)
}

func bindSkipNorm(o *nn.SkipNorm, b NormBinder) error {
	x, skip := Input(b, 0), Input(b, 1)
	last := len(x.Dims) - 1
	beta, bias := o.Inputs()
	r := &RowNorm{Rows: x.Dims[:last].Len(), N: x.Dims[last], SkipRows: skip.Dims[:len(skip.Dims)-1].Len(),
		Centred: o.Centred, Epsilon: float64(o.Epsilon), X: x, Skip: skip, Bias: Input(b, bias), Scale: Input(b, 2),
		Y: Output(b, 0), Mean: Output(b, 1), InvStd: Output(b, 2), Sum: Output(b, 3)}
	if beta >= 0 {
		r.Shift = Input(b, beta)
	}
	return b.RowNorm(r)
}

func bindGroupNorm(o *nn.GroupNorm, b NormBinder) error {
	x := Input(b, 0)
	groups, params, err := o.Split(x.Dims[1])
	if err != nil {
		return err
	}
	haveElements(b, params, 1, 2)
	return b.GroupNorm(&GroupNorm{Batch: x.Dims[0], Channels: x.Dims[1], Inner: x.Dims[2:].Len(), Groups: groups,
		Params: params, Epsilon: float64(o.Epsilon), X: x, Scale: Input(b, 1), Bias: Input(b, 2), Y: Output(b, 0)})
}

// BindBatchNorm is the row of batch normalisation.
func BindBatchNorm(o *nn.BatchNorm, b NormBinder) error {
	batch, channels, inner := o.Split(b.Facts().In[0].Dims)
	haveElements(b, channels, 1, 2, 3, 4)
	return b.BatchNorm(&BatchNorm{o, batch, channels, inner})
}

// haveElements refuses inputs that are not known to have n elements.
func haveElements(b Binder, n graph.Dim, inputs ...int) {
	for _, i := range inputs {
		if d := b.Facts().In[i].Dims; d == nil || !d.Len().Same(n) {
			b.Note(device.Refuse("input %d of shape %v is not known to have %v elements", i, d, n))
		}
	}
}
