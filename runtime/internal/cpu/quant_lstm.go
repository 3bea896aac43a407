package cpu

import (
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/quant"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var quantLSTMRows = []row{
	rowFor("lstm", bindDynamicQuantizeLSTM),
}

// byteLSTM holds the words of i8_lstm.
type byteLSTM struct {
	recurrent
	quantize, cell bindings.Kernel
	signed         [2]bool      // of W and R
	scales, zeros  [2]graph.Dim // how many there are of each
}

func (l *byteLSTM) words() words {
	w := l.recurrent.words()
	w.part(l.quantize, l.cell)
	w.bool(l.signed[:]...)
	for i := range l.scales {
		w.dim(l.scales[i], l.zeros[i])
	}
	return w
}

func bindDynamicQuantizeLSTM(o *quant.DynamicQuantizeLSTM, b *binder) error {
	x := b.In[0].Dims
	l := byteLSTM{recurrent: recurrent{Recurrent: &o.Recurrent, steps: x[0], batch: x[1], input: x[2],
		hidden: b.In[2].Dims[1]}}
	for name, k := range map[string]*bindings.Kernel{"i8_gemm": &l.gemm, "f32_quantize": &l.quantize,
		"f32_rnn_cell": &l.cell} {
		*k = b.kernel(name)
	}
	for i := range l.signed {
		l.signed[i] = b.DType(1+i) == tensor.I8
		l.scales[i], l.zeros[i] = b.In[quant.LSTMWScale+2*i].Dims.Len(), b.In[quant.LSTMWZero+2*i].Dims.Len()
	}
	operands := make([]device.Operand, quant.LSTMWScale, quant.LSTMRZero+4)
	for i := range operands {
		operands[i] = b.in(i)
	}
	operands = append(operands, b.out(0), b.out(1), b.out(2))
	for i := quant.LSTMWScale; i <= quant.LSTMRZero; i++ {
		operands = append(operands, b.in(i))
	}
	// Lines read unpacked weights.
	l.packed[1] = b.packable(b.Const(2))
	k, err := b.choose("i8_lstm", l.words())
	if err != nil {
		return err
	}
	l.packed[1] = false
	form := l
	form.steps, form.batch = graph.Known(1), graph.Known(1)
	form.scales, form.zeros = [2]graph.Dim{}, [2]graph.Dim{}
	for i := range l.packed {
		w, ok, err := b.packed(1+i, k, form.words(), 1+i)
		if err != nil {
			return err
		}
		if ok {
			operands[1+i], l.packed[i] = w, true
		}
	}
	return b.add(k, []bindings.Kernel{l.gemm, l.quantize, l.cell}, l.words(), operands...)
}
