package vulkan

import (
	"fmt"

	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/ops/nn"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var rnnRows = []row{
	rowFor("rnn", bindRecurrent),
}

// Bounds of rnn/cells: the most units, and the invocations of a workgroup.
const (
	mostUnits = 1024
	cellsSide = 128
)

// firstOwn is the number from which rnn/cells numbers the activations that unary.glsl lacks, in the
// order of the table.
const firstOwn = 1000

// cellFunction returns the number of an activation.
func (b *binder) cellFunction(name string) uint32 {
	if name == "" {
		return 0
	}
	own := uint32(firstOwn)
	for _, a := range kit.Activations() {
		switch {
		case a.Name == name && a.Kernel == "":
			return own
		case a.Name == name:
			return b.function("unary", a.Kernel)
		case a.Kernel == "":
			own++
		}
	}
	b.Note(device.Refuse("no shader computes the activation %s", name))
	return 0
}

// bindRecurrent adds the products of the inputs, and then the steps.
func bindRecurrent(o *nn.Recurrent, b *binder) error {
	x, weights := b.Shape(0), b.Shape(2)
	steps, batch, input, n := x[0], x[1], x[2], weights[2]
	if o.BatchFirst {
		steps, batch = batch, steps
	}
	switch {
	case n > mostUnits || b.dev.info.Caps.MaxInvocations < cellsSide:
		return device.Refuse("there are %d units", n)
	}
	constants := []uint32{uint32(o.Gates), uint32(kit.Btoi(o.Linear)), uint32(kit.Btoi(o.Cells[0].InputForget)),
		uint32(kit.Btoi(o.BatchFirst)), uint32(kit.Btoi(o.Reverse))}
	var alphas, betas []float64
	for _, c := range o.Cells {
		for _, f := range c.Functions {
			constants = append(constants, b.cellFunction(f.Name))
			alphas, betas = append(alphas, float64(f.Alpha)), append(betas, float64(f.Beta))
		}
	}
	in, out, err := b.recurrentOperands()
	if err != nil {
		return err
	}
	rows, gates := steps*batch, o.Gates*n
	sums := b.temp(tensor.F32.Bytes(o.Directions * rows * gates))
	p := &product{m: rows, n: gates, k: input, aRow: input, aCol: 1, bRow: 1, bCol: input}
	if o.Directions > 1 {
		p.batch = []batchAxis{{o.Directions, 0, gates * input}}
	}
	if err := b.products(&multiplying{product: p, dtype: tensor.F32, left: in[0], right: in[1], out: sums,
		alpha: 1}); err != nil {
		return err
	}
	// Values from one dispatch to the next: states, and cells of an LSTM.
	size := tensor.F32.Bytes(o.Directions * batch * n)
	carried := [2]device.Operand{b.temp(size), b.temp(size)}
	each := max(1, b.dev.mostLoop()/(gates*((n+cellsSide-1)/cellsSide)))
	fault := b.fault(fmt.Sprintf("the length of sequence %%d is not in 0..%d", steps))
	for from := 0; from < steps; from += each {
		to := min(from+each, steps)
		states, results := [2]device.Operand{in[5], in[6]}, [2]device.Operand{out[1], out[2]}
		hasState, hasCell, wantsState, wantsCell := b.Has(5), b.Has(6), b.Wants(1), b.Wants(2)
		if from > 0 {
			states, hasState, hasCell = carried, true, o.Gates == lstmGates
		}
		if to < steps {
			results, wantsState, wantsCell = carried, true, o.Gates == lstmGates
		}
		var w words
		w.int(steps, batch, n, o.Directions, from, to)
		w.int(bits(b.Has(3), b.Has(4), hasState, hasCell, b.Has(7)), bits(b.Wants(0), wantsState, wantsCell))
		w.float(float64(o.Cells[0].Clip))
		w.float(alphas...)
		w.float(betas...)
		if err := b.dispatch("rnn/cells", "f32", cellsSide, b.flatGroups(o.Directions*batch), constants, w,
			sums, in[2], in[3], in[4], states[0], states[1], in[7], out[0], results[0], results[1], fault); err != nil {
			return err
		}
		b.works(o.Directions * (to - from) * batch * gates * n)
	}
	return b.narrowed(out[:])
}

// lengthsInput is the input for the lengths of sequences. All others are floats.
const lengthsInput = 4

// recurrentOperands returns inputs as float32, and operands for float32 outputs.
func (b *binder) recurrentOperands() (in [8]device.Operand, out [3]device.Operand, err error) {
	for i := range in {
		if in[i] = b.in(i); i == lengthsInput || !b.Has(i) {
			continue
		}
		b.floatName(b.DType(i)) // refuses other types
		in[i] = b.widened(i)
	}
	for i := range out {
		if out[i] = b.out(i); b.Wants(i) && b.Out[i].DType != tensor.F32 {
			out[i] = b.temp(tensor.F32.Bytes(b.OutShape(i).Len()))
		}
	}
	return in, out, nil
}

// narrowed adds dispatches that round the outputs that are in scratch as float32.
func (b *binder) narrowed(list []device.Operand) error {
	for i, y := range list {
		if y.Place != device.Temp {
			continue
		}
		if err := b.convert(tensor.F32, b.Out[i].DType, b.OutShape(i).Len(), y, b.out(i)); err != nil {
			return err
		}
	}
	return nil
}

// lstmGates is the number of gates of an LSTM.
const lstmGates = 4

// bits returns a number with bit k set if list[k] is true.
func bits(list ...bool) (n int) {
	for k, x := range list {
		n |= kit.Btoi(x) << k
	}
	return n
}
