package quant

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/ops/nn"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// DynamicQuantizeLSTM is LSTM with quantised weights W [directions, input, 4*hidden] and R
// [directions, hidden, 4*hidden]. The input, up to the longest sequence, is quantised as a whole,
// and so are the states before every step. After a sequence ends, its state takes part in one more
// step and is then 0. ONNX Runtime computes the same on one thread; on several it quantises the
// states of each thread's share of the batch separately.
type DynamicQuantizeLSTM struct{ nn.Recurrent }

// The inputs of DynamicQuantizeLSTM beyond the inputs of LSTM.
const (
	LSTMWScale = 8 + iota
	LSTMWZero
	LSTMRScale
	LSTMRZero
)

func newDynamicQuantizeLSTM(n *op.Node) (op.Op, error) {
	inner, err := nn.NewLSTM(n)
	if err != nil {
		return nil, err
	}
	return &DynamicQuantizeLSTM{Recurrent: *inner.(*nn.Recurrent)}, nil
}

// Infer applies the rule of LSTM to the transposed weights.
func (o *DynamicQuantizeLSTM) Infer(c *op.Infer) error {
	if err := checkBytes(c, 1, 2); err != nil {
		return err
	}
	inner := *c
	inner.In = append([]*op.Value(nil), c.In[:LSTMWScale]...)
	for i := 1; i < 3; i++ {
		w := op.Value{Type: graph.TensorOf(c.In[0].DType, c.In[i].Dims)}
		if d := w.Dims; len(d) == 3 {
			w.Dims = graph.Dims{d[0], d[2], d[1]}
		}
		inner.In[i] = &w
	}
	if err := o.Recurrent.Infer(&inner); err != nil {
		return err
	}
	for i := range 2 {
		scale, zero := c.In[LSTMWScale+2*i], c.In[LSTMWZero+2*i]
		if scale.DType != tensor.F32 || zero.DType != c.In[1+i].DType {
			return graph.Errorf(graph.ErrShape, "scales %v are not float32, or zero points %v not of the type of %v",
				scale.Type, zero.Type, c.In[1+i].Type)
		}
		for _, v := range []*op.Value{scale, zero} {
			if err := o.checkColumns(v, c.In[1+i].Dims); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkColumns returns an error if v, scales or zero points, has neither one element per direction
// nor one per direction and column of the weights.
func (o *DynamicQuantizeLSTM) checkColumns(v *op.Value, weights graph.Dims) error {
	columns := graph.Unknown()
	if len(weights) == 3 {
		columns = weights[2]
	}
	ok := true
	switch d := v.Dims; {
	case d == nil:
	case len(d) == 1:
		_, ok = kit.JoinDim(d[0], graph.Known(o.Directions))
	case len(d) == 2:
		if _, ok = kit.JoinDim(d[0], graph.Known(o.Directions)); ok {
			_, ok = kit.JoinDim(d[1], columns)
		}
	default:
		ok = false
	}
	if !ok {
		return graph.Errorf(graph.ErrShape, "scales or zero points are %v; weights of shape %v take [%d] or [%d,%v]",
			v.Type, weights, o.Directions, o.Directions, columns)
	}
	return nil
}

var lstmRows = []op.Row{
	{Domain: kit.Microsoft, Name: "DynamicQuantizeLSTM", Since: []int{1}, In: [2]int{12, 12}, Optional: kit.Inputs(3, 4, 5, 6, 7), Out: [2]int{0, 3}, Types: op.Types{tensor.F32}, Work: nn.RecurrentWork, New: newDynamicQuantizeLSTM},
}
