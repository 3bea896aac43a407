package vulkan

import (
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/ops/nn"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var lossRows = []row{
	rowFor("loss", bindLoss),
	rowFor("step", bindOptimizer),
}

// bindLoss picks the logarithm of each sample's class, and joins them.
func bindLoss(o *nn.Loss, b *binder) error {
	variant := b.floatName(b.DType(0))
	classWords := b.intWords(b.DType(1))
	s := kit.ViewAlong(b.Shape(0), 1)
	logs, n := b.in(0), b.Shape(1).Len()
	if o.Softmax {
		if logs = b.out(1); !b.Wants(1) {
			logs = b.temp(b.DType(0).Bytes(b.Shape(0).Len()))
		}
		var w words
		w.int(s.Outer*s.Inner, s.N, s.Inner)
		if err := b.keptLanes("norm/softmax", variant, s.Outer*s.Inner, s.N, []uint32{1}, w, b.in(0), logs); err != nil {
			return err
		}
	}
	terms, parts := b.temp(4*n), b.temp(4*n)
	var w words
	w.int(n, s.N, s.Inner, o.Ignore)
	constants := []uint32{uint32(kit.Btoi(b.Has(2))), uint32(kit.Btoi(o.Ignores)), uint32(classWords)}
	if err := b.flat("loss/pick", variant, n, constants, w, logs, b.in(1), b.in(2), terms, parts,
		b.fault("the class of sample %d is not there")); err != nil {
		return err
	}
	reduction := map[string]uint32{"none": 0, "sum": 1, "mean": 2}[o.Reduction]
	if reduction == 0 {
		return b.flat("loss/join", variant, n, []uint32{reduction}, words{uint32(n)}, terms, parts, b.out(0))
	}
	return b.lanes("loss/join", variant, 1, n, []uint32{reduction}, words{uint32(n)}, terms, parts, b.out(0))
}

func bindOptimizer(o *nn.Optimizer, b *binder) error {
	n, err := o.Values(len(b.In))
	if err != nil {
		return err
	}
	if b.DType(0) != tensor.F32 || b.DType(1) != tensor.I64 {
		return device.Refuse("the rate is %v and the number of steps %v", b.DType(0), b.DType(1))
	}
	for v := range n {
		x, gradient, first, second := 2+v, 2+n+v, 2+2*n+v, 2+3*n+v
		if b.DType(x) != tensor.F32 {
			return device.Refuse("values are %v", b.DType(x))
		}
		operands := []device.Operand{b.in(0), b.in(1), b.in(x), b.in(gradient), b.in(first), {}, b.out(v), b.out(n + v), {}}
		writes := kit.Btoi(b.Wants(v)) | kit.Btoi(b.Wants(n+v))<<1
		if o.Method == nn.Adam {
			operands[5], operands[8] = b.in(second), b.out(2*n+v)
			writes |= kit.Btoi(b.Wants(2*n+v)) << 2
		}
		count := b.Shape(x).Len()
		var w words
		w.int(count)
		w.float(o.Norm, o.Post, o.Epsilon, o.Alpha, o.Beta, o.Decay)
		w.int(writes)
		if err := b.flat("loss/step", "f32", count, []uint32{uint32(o.Method)}, w, operands...); err != nil {
			return err
		}
	}
	return nil
}
