package vulkan

import (
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
	"github.com/nacre-ml/nacre/runtime/internal/ops/arith"
	"github.com/nacre-ml/nacre/runtime/internal/ops/array"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/ops/nn"
	"github.com/nacre-ml/nacre/runtime/internal/ops/vision"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// images says which operands of a node are images: inputs, and the outputs if out is true.
type images struct {
	in  []int
	out bool
}

// lastRow computes the operators of one Go type on images with channels last. images returns nil for
// nodes that the row does not compute.
type lastRow struct {
	row
	images func(o op.Op, b *device.Binding) *images
}

// lastRowFor returns a row for operators of type T.
func lastRowFor[T op.Op](
	name string, of func(o T, b *device.Binding) *images, bind func(o T, b *binder) error,
) lastRow {
	return lastRow{rowFor(name, bind), func(o op.Op, b *device.Binding) *images { return of(o.(T), b) }}
}

var lastRows = []lastRow{
	lastRowFor("channels last", convolved[*nn.Conv],
		func(o *nn.Conv, b *binder) error { return bindLastConv(o, kit.Epilogue{}, b) }),
	lastRowFor("channels last", convolved[*nn.FusedConv],
		func(o *nn.FusedConv, b *binder) error { return bindLastConv(&o.Conv, o.Epilogue, b) }),
	lastRowFor("conv", func(*nn.ConvTranspose, *device.Binding) *images { return firstIf(true) }, bindConvTranspose),
	lastRowFor("windows", func(_ *nn.Pool, b *device.Binding) *images { return firstIf(!b.Wants(1)) }, bindPool),
	lastRowFor("reduce", func(*nn.GlobalPool, *device.Binding) *images { return firstIf(true) }, bindLastGlobalPool),
	lastRowFor("batch_norm", func(o *nn.BatchNorm, _ *device.Binding) *images { return firstIf(o.Spatial && !o.Training) },
		func(o *nn.BatchNorm, b *binder) error { return lower.BindBatchNorm(o, b) }),
	lastRowFor("resample", func(*vision.Resize, *device.Binding) *images { return firstIf(true) }, bindResize),
	lastRowFor("copy", transposed, func(_ *array.Transpose, b *binder) error {
		return b.copyAll(b.DType(0), b.Shape(0).Len(), b.in(0), b.out(0))
	}),
}

// firstIf says that the first input and the outputs are images if a row computes the node.
func firstIf(computes bool) *images {
	if !computes {
		return nil
	}
	return &images{[]int{0}, true}
}

// convolved says that a convolution has two images as inputs if one is added.
func convolved[T op.Op](_ T, b *device.Binding) *images {
	if b.Has(3) {
		return &images{[]int{0, 3}, true}
	}
	return firstIf(true)
}

// transposed says that the operand [n,c,...] of a transposition from or to [n,...,c] is an image. With
// channels last it has the order of the other one.
func transposed(o *array.Transpose, b *device.Binding) *images {
	rank := len(b.In[0].Dims)
	perm, err := o.Perm(rank)
	if err != nil || rank < 3 || perm[0] != 0 {
		return nil
	}
	toLast, toFirst := true, true
	for i := 1; i < rank; i++ {
		toLast = toLast && perm[i] == i%(rank-1)+1
		toFirst = toFirst && i == perm[i]%(rank-1)+1
	}
	switch {
	case toLast:
		return &images{in: []int{0}}
	case toFirst:
		return &images{out: true}
	}
	return nil
}

// lastByType finds the row of an operator by its Go type.
var lastByType = sync.OnceValue(func() map[reflect.Type]lastRow {
	m := map[reflect.Type]lastRow{}
	for _, r := range lastRows {
		m[r.Of] = r
	}
	return m
})

// imagesOf is lastRow.images for any node. Values joined or split along channels, and operands of
// functions of elements, are images.
func imagesOf(b *device.Binding) *images {
	if r, ok := lastByType()[reflect.TypeOf(b.Op)]; ok {
		return r.images(b.Op, b)
	}
	switch o := b.Op.(type) {
	case *array.Concat:
		return joined(b, isChannels(o.Axis, b.Out[0]))
	case *array.Split:
		return firstIf(isChannels(o.Axis, b.In[0]))
	case *arith.Fused:
		if o.Bias {
			return nil
		}
	}
	return joined(b, b.Row.Elementwise && !b.Row.View && (len(b.In) == 1 || b.Node.Domain != "" || b.Node.Version >= 7))
}

// joined is firstIf for nodes whose inputs with as many axes as output 0 are all images.
func joined(b *device.Binding, computes bool) *images {
	x := firstIf(computes)
	if x == nil {
		return nil
	}
	x.in = nil
	for i, v := range b.In {
		if v != nil && len(v.Dims) == len(b.Out[0].Dims) {
			x.in = append(x.in, i)
		}
	}
	return x
}

func isChannels(axis int, v *op.Value) bool { return axis == 1 || axis+len(v.Dims) == 1 }

// turns reports whether the order of an image's elements depends on the axis of its channels.
func turns(s tensor.Shape) bool {
	return len(s) > 2 && len(s) <= 2+spatialAxes && s[1] > 1 && s[2:].Len() > 1
}

// lastLayouts returns the layouts of a node's operands with channels last in its images, elements of
// the device's matrices. Images of one channel or pixel have the same elements in both layouts. It
// returns nil if that is true of all, and for nodes that no row computes so.
func (a *Accelerator) lastLayouts(b *device.Binding) *device.LayoutChoice {
	own := imagesOf(b)
	if own == nil || hasLengths(b) || b.HasRoom() || !b.OnlyNumbers() {
		return nil
	}
	canTurn := func(v *op.Value) bool {
		_, ok := a.dev.matrices[v.DType.Short()]
		return ok && v.DType.IsFloat() && v.Const == nil
	}
	x := &device.LayoutChoice{In: make([]device.Layout, len(b.In)), Out: make([]device.Layout, len(b.Out))}
	found := false
	for i, v := range b.In {
		x.In[i] = b.InLayout(i)
		if v == nil || !slices.Contains(own.in, i) || !turns(b.Shape(i)) {
			continue
		}
		if !canTurn(v) {
			return nil
		}
		x.In[i], found = device.ChannelsLast, true
	}
	for i, v := range b.Out {
		x.Out[i] = b.OutLayout(i)
		if v == nil || !own.out || !turns(b.OutShape(i)) {
			continue
		}
		if !canTurn(v) {
			return nil
		}
		x.Out[i], found = device.ChannelsLast, true
	}
	if !found {
		return nil
	}
	return x
}

// hasLast reports whether images of a node have channels last.
func hasLast(b *device.Binding) bool {
	return slices.Contains(b.InLayouts, device.ChannelsLast) || slices.Contains(b.OutLayouts, device.ChannelsLast)
}

// rows returns the rows that compute a node in its layouts, best first, and the node as they take it.
func (a *Accelerator) rows(b *device.Binding) ([]row, *device.Binding) {
	if !hasLast(b) {
		return rowsOf(b), b
	}
	if r, ok := lastByType()[reflect.TypeOf(b.Op)]; ok {
		return []row{r.row}, b
	}
	s := stored(b)
	if s == nil {
		return nil, b
	}
	return rowsOf(s), s
}

// stored returns a node on the row-major arrays that hold its operands. It returns nil for a function
// of elements that stretches an operand along other axes than these arrays have.
func stored(b *device.Binding) *device.Binding {
	s := *b
	s.In, s.Out, s.InLayouts, s.OutLayouts = slices.Clone(b.In), slices.Clone(b.Out), nil, nil
	own := imagesOf(b)
	switch o := b.Op.(type) {
	case *array.Concat:
		s.Op = &array.Concat{Axis: -1}
	case *array.Split:
		split := *o
		split.Axis, s.Op = -1, &split
	}
	for i, v := range b.Out {
		if v != nil {
			s.Out[i] = arrayOf(v, b.OutShape(i))
		}
	}
	for i, v := range b.In {
		shape := b.Shape(i)
		switch {
		case v == nil || shape.Len() == 1:
			continue
		case slices.Contains(own.in, i):
		case !b.Row.Elementwise:
			continue
		default:
			if shape = stretched(shape, len(b.Out[0].Dims)); turns(shape) {
				return nil
			}
		}
		s.In[i] = arrayOf(v, shape)
	}
	return &s
}

// stretched returns a shape with axes of one element in front, as many as make up the rank.
func stretched(s tensor.Shape, rank int) tensor.Shape {
	for len(s) < rank {
		s = append(tensor.Shape{1}, s...)
	}
	return s
}

// arrayOf returns a value of a shape as the array that holds it with channels last.
func arrayOf(v *op.Value, shape tensor.Shape) *op.Value {
	extents := device.ChannelsLast.Extents(shape)
	own := *v
	own.Dims = graph.DimsOf(extents)
	if v.Const != nil {
		own.Const, _ = v.Const.Reshape(extents) // it has as many elements
	}
	return &own
}

// Estimates of time for layouts, on an NVIDIA H200. By channels last, a convolution saves lastStep and
// a femtosecond times lastTerm for each multiplication. A copy takes turnStep, and moves turnBytes
// bytes per second.
const (
	lastStep  = 15 * time.Microsecond
	lastTerm  = 60
	turnStep  = 4 * time.Microsecond
	turnBytes = 1e12
)

// Layouts offers channels last for elements of which the device has cooperative matrices: convolutions
// then read words of channels.
func (a *Accelerator) Layouts(b *device.Binding) []device.LayoutChoice {
	if _, ok := b.Op.(device.Reorder); ok {
		return []device.LayoutChoice{{In: b.InLayouts, Out: b.OutLayouts, Cost: turnTime(b)}}
	}
	if len(a.dev.matrices) == 0 || a.layouts == device.LayoutsPlain {
		return nil
	}
	last := a.lastLayouts(b)
	if last == nil {
		return nil
	}
	turned := *b
	turned.InLayouts, turned.OutLayouts = last.In, last.Out
	step, err := a.Bind(&turned)
	if device.Refused(err) {
		return nil
	}
	first := device.LayoutChoice{In: b.InLayouts, Out: b.OutLayouts}
	byMatrices := func(c device.Command) bool { return c.Kernel.Op() == lastConv }
	_, transposes := b.Op.(*array.Transpose)
	switch {
	case a.layouts == device.LayoutsBlocked:
		first.Cost = time.Minute // more than the copies around a node can cost
	case err == nil && slices.ContainsFunc(step.Commands, byMatrices):
		first.Cost = lastStep + time.Duration(step.Work)*lastTerm/1e6
	case transposes:
		first.Cost = turnTime(b)
	}
	return []device.LayoutChoice{first, *last}
}

// turnTime estimates the time of a copy of input 0 in another order.
func turnTime(b *device.Binding) time.Duration {
	bytes := b.DType(0).Bytes(b.Shape(0).Len())
	return turnStep + time.Duration(2*float64(bytes)/turnBytes*float64(time.Second))
}

// bindTurn copies images to the other order of their channels.
func bindTurn(b *binder) error {
	const most, side = 256, 32 // invocations and lines of a workgroup of copy/turn
	variant := b.widthName(b.DType(0))
	s := b.Shape(0)
	rows, cols := s[1], s[2:].Len()
	if b.InLayout(0) == device.ChannelsLast {
		rows, cols = cols, rows
	}
	var w words
	w.int(rows, cols)
	size := min(most, b.dev.info.Caps.MaxInvocations)
	return b.dispatch("copy/turn", variant, size, [3]int{(cols + side - 1) / side, (rows + side - 1) / side, s[0]}, nil, w,
		b.in(0), b.out(0))
}

// bindLastGlobalPool reduces the pixels of every image.
func bindLastGlobalPool(o *nn.GlobalPool, b *binder) error {
	s := b.Shape(0)
	r, err := lower.GlobalPool(o, lower.Along(graph.DimsOf(tensor.Shape{s[0], s[2:].Len(), s[1]}), 1))
	if err != nil {
		return err
	}
	r.From, r.To, r.X, r.Y = b.DType(0), b.Out[0].DType, b.in(0), b.out(0)
	return b.Reduce(r)
}
