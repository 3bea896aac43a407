package quant

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/op/nn"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// DynamicQuantizeLSTM is LSTM whose weights, W [directions, input, 4*hidden] and R
// [directions, hidden, 4*hidden], are codes. Its input, as far as the longest
// sequence goes, is quantised as a whole, and so are the states before every step. The
// state of a sequence that has ended counts in the step behind its last, and is 0 from then
// on. ONNX Runtime computes the same on one thread; on several it quantises the states of each
// thread's share of the batch by themselves.
type DynamicQuantizeLSTM struct{ nn.Recurrent }

// The inputs of DynamicQuantizeLSTM that LSTM has not.
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

// Infer is that of LSTM, for weights that are transposed.
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
			return graph.Errorf(graph.ErrShape, "scales %v are not float32, or zero points %v not of the type of %v", scale.Type, zero.Type, c.In[1+i].Type)
		}
		for _, v := range []*op.Value{scale, zero} {
			if err := o.checkColumns(v, c.In[1+i].Dims); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkColumns reports scales or zero points that are not one number for each
// direction, or one for each of its columns of weights.
func (o *DynamicQuantizeLSTM) checkColumns(v *op.Value, weights graph.Dims) error {
	columns := graph.Unknown()
	if len(weights) == 3 {
		columns = weights[2]
	}
	ok := true
	switch d := v.Dims; {
	case d == nil:
	case len(d) == 1:
		_, ok = op.JoinDim(d[0], graph.Known(o.Directions))
	case len(d) == 2:
		if _, ok = op.JoinDim(d[0], graph.Known(o.Directions)); ok {
			_, ok = op.JoinDim(d[1], columns)
		}
	default:
		ok = false
	}
	if !ok {
		return graph.Errorf(graph.ErrShape, "scales or zero points are %v; weights of shape %v take [%d] or [%d,%v]", v.Type, weights, o.Directions, o.Directions, columns)
	}
	return nil
}

var lstmRows = []op.Row{
	{Domain: op.Microsoft, Name: "DynamicQuantizeLSTM", Since: []int{1}, In: [2]int{12, 12}, Optional: op.Inputs(3, 4, 5, 6, 7), Out: [2]int{0, 3}, Types: op.Types{tensor.F32}, New: newDynamicQuantizeLSTM},
}
