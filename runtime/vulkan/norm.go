package vulkan

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
	"github.com/nacre-ml/nacre/runtime/internal/ops/arith"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/ops/nn"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var normRows = []row{
	rowFor("softmax", bindSoftmax),
	rowFor("lrn", bindLRN),
	rowFor("lp_norm", bindLpNorm),
	rowFor("mean_variance", bindMeanVariance),
}

// lanes adds a dispatch of one workgroup for each lane of n elements. The size of a workgroup grows
// with n.
func (b *binder) lanes(
	name, variant string, lanes, n int, constants []uint32, w words, operands ...device.Operand,
) error {
	size := 16
	for size < 256 && size < n {
		size *= 2
	}
	size = min(size, b.dev.info.Caps.MaxInvocations)
	defer b.works(n * lanes)
	return b.dispatch(name, variant, size, b.flatGroups(lanes), constants, w, operands...)
}

// keptLanes is lanes for the kernels of include/row.glsl.
func (b *binder) keptLanes(
	name, variant string, lanes, n int, constants []uint32, w words, operands ...device.Operand,
) error {
	l := b.dev.laneOf(n)
	defer b.works(n * lanes)
	constants = append([]uint32{uint32(l.each), uint32(kit.Btoi(l.keep))}, constants...)
	return b.dispatch(name, variant, l.size, b.flatGroups(lanes), constants, w, operands...)
}

// lane is the shape of a workgroup of include/row.glsl: its invocations, the elements that each reads
// at a time, and whether these are all of the lane and are kept.
type lane struct {
	size, each int
	keep       bool
}

// laneOf returns the shape for lanes of n elements. There are few shapes, as each is a pipeline.
func (d *Device) laneOf(n int) lane {
	const least, most, word, mostKept, again = 16, 256, 4, 32, 8
	size := least
	for size < most && size*word < n {
		size *= 2
	}
	size = min(size, d.info.Caps.MaxInvocations)
	each := max((n+size-1)/size, 1)
	if each > word {
		each = (each + word - 1) / word * word
	}
	if each > mostKept {
		return lane{size, again, false}
	}
	return lane{size, each, true}
}

// sameTypes returns the variant. It refuses inputs of other types than input 0 has.
func (b *binder) sameTypes() string {
	for i, v := range b.In {
		if v != nil && v.DType != b.DType(0) {
			b.Note(device.Refuse("inputs 0 and %d have elements %v and %v", i, b.DType(0), v.DType))
		}
	}
	return b.floatName(b.DType(0))
}

func bindSoftmax(o *nn.Softmax, b *binder) error {
	variant := b.floatName(b.DType(0))
	outer, n, inner, err := o.Split(b.In[0].Dims)
	if err != nil {
		return err
	}
	s := b.known(outer, n, inner)
	mode := uint32(kit.Btoi(o.Log))
	if o.Hard {
		mode = 2
	}
	var w words
	w.int(s[0]*s[2], s[1], s[2])
	return b.keptLanes("norm/softmax", variant, s[0]*s[2], s[1], []uint32{mode}, w, b.in(0), b.out(0))
}

func bindLpNorm(o *nn.LpNorm, b *binder) error {
	variant := b.floatName(b.DType(0))
	axis, err := op.NormAxis(o.Axis, len(b.Shape(0)))
	if err != nil {
		return err
	}
	s := kit.ViewAlong(b.Shape(0), axis)
	var w words
	w.int(s.Outer*s.Inner, s.N, s.Inner)
	return b.keptLanes("norm/lp", variant, s.Outer*s.Inner, s.N, []uint32{uint32(o.P)}, w, b.in(0), b.out(0))
}

// bindMeanVariance subtracts means, and divides by deviations plus 1e-9.
func bindMeanVariance(o *nn.MeanVariance, b *binder) error {
	b.floatName(b.DType(0)) // refuses other types
	axes, err := o.Axes(len(b.Shape(0)))
	if err != nil {
		return err
	}
	return b.inFloat32(func(y device.Operand) error { return b.normalise(axes, y) })
}

// normalise adds the dispatches that normalise along axes to mean 0 and variance 1, in float32.
func (b *binder) normalise(axes []int, y device.Operand) error {
	x := b.Shape(0)
	in := b.widened(0)
	kept, reduced, n := x.Clone(), make([]bool, len(x)), 1
	for _, a := range axes {
		n, kept[a], reduced[a] = n*x[a], 1, true
	}
	mean, deviation := b.temp(4*kept.Len()), b.temp(4*kept.Len())
	means := lower.Reduction{First: arith.ReduceSum, Divisor: graph.Known(n), From: tensor.F32, To: tensor.F32, X: in,
		Y: mean}
	deviations := means
	deviations.First, deviations.Root, deviations.X, deviations.Y = arith.ReduceSumSquare, arith.RootSqrt, y, deviation
	for _, step := range []func() error{
		func() error { return lower.Reduce(b, graph.DimsOf(x), reduced, means) },
		func() error { return b.pairs("eltwise/binary", "sub", tensor.F32, in, mean, y, x, x, kept) },
		func() error { return lower.Reduce(b, graph.DimsOf(x), reduced, deviations) },
		func() error {
			return b.pairs("eltwise/binary", "add", tensor.F32, deviation, constant(float32(1e-9)), deviation, kept, kept, nil)
		},
		func() error {
			return b.pairs("eltwise/binary", "div", tensor.F32, y, deviation, y, x, x, kept)
		},
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func bindLRN(o *nn.LRN, b *binder) error {
	variant := b.floatName(b.DType(0))
	s := b.Shape(0)
	var w words
	w.int(s.Len(), s[1], s[2:].Len(), (o.Size-1)/2, o.Size/2)
	w.float(float64(o.Alpha/float32(o.Size)), float64(o.Beta), float64(o.Bias))
	return b.flat("norm/lrn", variant, s.Len(), nil, w, b.in(0), b.out(0))
}

// rows is a normalisation of rows by norm/layer.
type rows struct {
	rows, n, skip                  int
	centred                        bool
	epsilon                        float64
	x, skipped, bias, scale, shift device.Operand
	y, mean, inverse, sum          device.Operand
}

func (b *binder) normRows(variant string, r *rows) error {
	there := func(list ...device.Operand) (n uint32) {
		for i, o := range list {
			n |= uint32(kit.Btoi(o.Place != device.None)) << i
		}
		return n
	}
	var w words
	w.int(r.rows, r.n, r.skip)
	w.float(r.epsilon)
	constants := []uint32{uint32(kit.Btoi(r.centred)), there(r.bias, r.scale, r.shift, r.skipped),
		there(r.mean, r.inverse, r.sum)}
	defer b.does(r, "norm/layer")
	return b.keptLanes("norm/layer", variant, r.rows, r.n, constants, w,
		r.x, r.skipped, r.bias, r.scale, r.shift, r.y, r.mean, r.inverse, r.sum)
}

// RowNorm adds a dispatch.
func (b *binder) RowNorm(r *lower.RowNorm) error {
	variant := b.sameTypes()
	if r.Y.DType != r.X.DType {
		return device.Refuse("%v elements become %v", r.X.DType, r.Y.DType)
	}
	for _, v := range []lower.Value{r.Mean, r.InvStd} {
		if v.Place != device.None && v.DType != tensor.F32 {
			return device.Refuse("statistics are %v", v.DType)
		}
	}
	s := b.known(r.Rows, r.N, r.SkipRows)
	return b.normRows(variant, &rows{
		rows: s[0], n: s[1], skip: s[2], centred: r.Centred, epsilon: r.Epsilon, x: r.X.Operand, skipped: r.Skip.Operand,
		bias: r.Bias.Operand, scale: r.Scale.Operand, shift: r.Shift.Operand, y: r.Y.Operand, mean: r.Mean.Operand,
		inverse: r.InvStd.Operand, sum: r.Sum.Operand,
	})
}

// GroupNorm adds a dispatch.
func (b *binder) GroupNorm(n *lower.GroupNorm) error {
	s := b.known(n.Batch, n.Channels, n.Inner, n.Groups, n.Params)
	var w words
	w.int(s...)
	w.float(n.Epsilon)
	return b.keptLanes("norm/group", b.sameTypes(), s[0]*s[3], s[1]/s[3]*s[2], nil, w, n.X.Operand, n.Scale.Operand,
		n.Bias.Operand, n.Y.Operand)
}

// BatchNorm adds a dispatch.
func (b *binder) BatchNorm(o *lower.BatchNorm) error {
	variant, s, n := b.sameTypes(), b.known(o.Batch, o.Channels, o.Inner), b.Shape(0).Len()
	var w words
	if o.Training {
		w.int(s...)
		w.float(o.Epsilon, o.Momentum)
		return b.train(variant, s, w)
	}
	if hasLast(b.Binding) {
		s[2] = 1 // neighbours are channels
	}
	w.int(n, s[1], s[2])
	w.float(o.Epsilon)
	return b.flat("norm/batch", variant, n, nil, w, b.in(0), b.in(1), b.in(2), b.in(3), b.in(4), b.out(0))
}

// train adds a dispatch that normalises channels [batch,channels,inner] by their own statistics.
// The statistics are outputs.
func (b *binder) train(variant string, s []int, w words) error {
	const inputs, outputs = 5, 5
	size := s[0] * s[2]
	b.Note(b.loops(3 * ((size + groupSize - 1) / groupSize)))
	var operands []device.Operand
	for i := range inputs {
		operands = append(operands, b.in(i))
	}
	wants := uint32(0)
	for i := range outputs {
		operands = append(operands, b.out(i))
		wants |= uint32(kit.Btoi(b.Wants(i))) << i
	}
	return b.keptLanes("norm/train", variant, s[1], size, []uint32{wants}, w, operands...)
}
