package cpu

import (
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/ops/nn"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var rnnRows = []row{
	rowFor("rnn", bindRecurrent),
}

// sequenceLengths is the input with the steps of each sequence.
const sequenceLengths = 4

// recurrent holds the words of a recurrent network.
type recurrent struct {
	*nn.Recurrent
	steps, batch, input, hidden graph.Dim
	dtype                       tensor.DType
	packed                      [2]bool // of W and R
	gemm                        bindings.Kernel
}

func (r *recurrent) words() (w words) {
	w.int(r.Gates)
	w.dim(r.steps, r.batch, r.input, r.hidden)
	w.int(r.Directions)
	w.bool(r.Reverse, r.BatchFirst, r.Linear)
	var alphas, betas []float64
	for _, c := range r.Cells {
		for _, f := range c.Functions {
			a, _ := kit.FindActivation(f.Name)
			w.int(a.Number())
			alphas, betas = append(alphas, float64(f.Alpha)), append(betas, float64(f.Beta))
		}
	}
	w.float(alphas...)
	w.float(betas...)
	w.float(float64(r.Cells[0].Clip))
	w.bool(r.Cells[0].InputForget)
	w.dtype(r.dtype)
	w.bool(r.packed[:]...)
	w.part(r.gemm)
	return w
}

func bindRecurrent(o *nn.Recurrent, b *binder) error {
	x, weights := b.In[0].Dims, b.In[2].Dims
	r := recurrent{Recurrent: o, steps: x[0], batch: x[1], input: x[2], hidden: weights[2]}
	if o.BatchFirst {
		r.steps, r.batch = x[1], x[0]
	}
	operands := make([]device.Operand, 8, 11)
	for i := range operands {
		operands[i] = b.in(i)
	}
	operands = append(operands, b.out(0), b.out(1), b.out(2))
	if b.DType(0) == tensor.F64 {
		return b.run("f64_rnn", r.words(), operands...)
	}
	r.dtype = b.DType(0)
	var k bindings.Kernel
	var err error
	k, r.gemm, err = b.chooseWith("f32_rnn", b.Has(sequenceLengths), func(part bindings.Kernel) words {
		r.gemm = part
		return r.words()
	}, "f32_gemm")
	if err != nil {
		return err
	}
	// The packing of weights depends neither on the number of steps nor on the batch.
	form := r
	form.gemm = b.packer(r.gemm)
	form.steps, form.batch = graph.Known(1), graph.Known(1)
	for i := range r.packed {
		w, ok, err := b.packed(1+i, k, form.words(), 1+i)
		if err != nil {
			return err
		}
		if ok {
			operands[1+i], r.packed[i] = w, true
		}
	}
	return b.add(k, []bindings.Kernel{r.gemm}, r.words(), operands...)
}
