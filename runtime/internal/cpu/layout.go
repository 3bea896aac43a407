package cpu

import (
	"math"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// blockedRow is a row that computes the operators of one Go type on blocked values. offer returns
// nil for a node that the row does not compute.
type blockedRow struct {
	row
	offer func(o op.Op, b *device.Binding, l device.Layout) *offer
}

// offer says which inputs of a node are blocked and whether its outputs are. It estimates the time
// on plain and on blocked values, in nanoseconds on one thread.
type offer struct {
	in             []int
	out            bool
	plain, blocked float64
}

// blockedRowFor returns a blocked row for operators of type T.
func blockedRowFor[T op.Op](
	name string, give func(o T, b *device.Binding, l device.Layout) *offer, bind func(o T, b *binder) error,
) blockedRow {
	return blockedRow{rowFor(name, bind),
		func(o op.Op, b *device.Binding, l device.Layout) *offer { return give(o.(T), b, l) }}
}

// blockedFamilies lists the rows for blocked values of every family, one line per file.
func blockedFamilies() [][]blockedRow {
	return [][]blockedRow{
		blockedConvRows,
		blockedCopyRows,
		blockedEltwiseRows,
		expandRows,
		blockedPoolRows,
		blockedQuantRows,
		blockedTransposeRows,
		reorderRows,
	}
}

// blockedByType finds the blocked row of an operator by its Go type.
var blockedByType = sync.OnceValue(func() map[reflect.Type]blockedRow {
	m := map[reflect.Type]blockedRow{}
	for _, f := range blockedFamilies() {
		for _, r := range f {
			m[r.Of] = r
		}
	}
	return m
})

// rows returns the rows that compute a node in the layouts of the binding, best first.
func (d *Device) rows(b *device.Binding) []row {
	if b.IsPlain() {
		return rowsOf(b)
	}
	r, x := d.offer(b)
	if x == nil {
		return nil
	}
	for i := range b.In {
		if b.InLayout(i) != x.inLayout(i, d.blocked) {
			return nil
		}
	}
	for i, v := range b.Out {
		if v != nil && b.OutLayout(i) != x.outLayout(d.blocked) {
			return nil
		}
	}
	return []row{r.row}
}

// offer returns the offer of the blocked row of the node's operator, or nil.
func (d *Device) offer(b *device.Binding) (blockedRow, *offer) {
	r, ok := blockedByType()[reflect.TypeOf(b.Op)]
	if !ok {
		return r, nil
	}
	return r, r.offer(b.Op, b, d.blocked)
}

func (x *offer) inLayout(i int, l device.Layout) device.Layout {
	if slices.Contains(x.in, i) {
		return l
	}
	return device.Plain
}

func (x *offer) outLayout(l device.Layout) device.Layout {
	if x.out {
		return l
	}
	return device.Plain
}

// WithLayouts returns the device with another policy.
func (d *Device) WithLayouts(p device.LayoutPolicy) *Device {
	c := *d
	c.layouts = p
	return &c
}

// WithDirectConv returns the device with convolutions without transforms if direct is true. If
// direct is false, a convolution is transformed if that takes less time.
func (d *Device) WithDirectConv(direct bool) *Device {
	c := *d
	c.direct = direct
	return &c
}

// WithAccuracy returns the device with products that round their activations as a permits.
func (d *Device) WithAccuracy(a device.Accuracy) *Device {
	c := *d
	c.accuracy = a
	return &c
}

// Layouts returns the plain and the blocked choice of the node's blocked row, if it has one.
func (d *Device) Layouts(b *device.Binding) []device.LayoutChoice {
	if d.Weights() != nil || d.layouts == device.LayoutsPlain || d.layouts == device.LayoutsByCost && !d.estimated {
		return nil
	}
	_, x := d.offer(b)
	if x == nil || !d.codes && hasCodes(b) {
		return nil
	}
	if _, ok := b.Op.(device.Reorder); ok {
		return []device.LayoutChoice{{In: b.InLayouts, Out: b.OutLayouts, Cost: inTime(x.blocked)}}
	}
	if d.layouts == device.LayoutsBlocked {
		x.plain, x.blocked = math.MaxInt32, 0 // more than the copies around a node can cost
	}
	blocked := device.LayoutChoice{In: make([]device.Layout, len(b.In)), Out: make([]device.Layout, len(b.Out)),
		Cost: inTime(x.blocked)}
	for i := range b.In {
		blocked.In[i] = x.inLayout(i, d.blocked)
	}
	for i, v := range b.Out {
		if v != nil {
			blocked.Out[i] = x.outLayout(d.blocked)
		}
	}
	return []device.LayoutChoice{{Cost: inTime(x.plain)}, blocked}
}

// inTime returns nanoseconds as a duration. Costs are for one thread on every device, so that
// layouts, and with them the order of sums, do not depend on the number of threads.
func inTime(nanoseconds float64) time.Duration { return time.Duration(math.Ceil(nanoseconds)) }

// maxBlocked bounds the elements of blocked values, so that their padded sizes do not overflow.
const maxBlocked = min(1<<40, math.MaxInt>>6)

// blockable reports whether kernels compute on v in blocks. It is float32 with channels and spatial
// axes.
func blockable(v *op.Value) bool {
	return blockableAs(v, func(d tensor.DType) bool { return d == tensor.F32 })
}

// blockableAs is blockable for element types that of accepts.
func blockableAs(v *op.Value, of func(d tensor.DType) bool) bool {
	if v == nil || v.Kind != graph.TensorType || !of(v.DType) || len(v.Dims) < 3 {
		return false
	}
	s, ok := v.Dims.Concrete()
	return ok && s.Check() == nil && s.Len() > 0 && s.Len() <= maxBlocked
}

// movable reports whether kernels copy v in blocks.
func movable(v *op.Value) bool {
	return blockableAs(v, func(d tensor.DType) bool { return d == tensor.F32 || isByte(d) })
}

// elementCounts returns the elements of a plain value, and of its blocks with padding.
func elementCounts(v *op.Value, l device.Layout) (plain, blocked float64) {
	s, _ := v.Dims.Concrete()
	return float64(s.Len()), float64(l.Extents(s).Len())
}

// physicalDims returns the extents of the row-major array that holds a value in a layout.
func physicalDims(v *op.Value, l device.Layout) graph.Dims {
	s, ok := v.Dims.Concrete()
	if l == device.Plain || !ok {
		return v.Dims
	}
	return graph.DimsOf(l.Extents(s))
}

// physical returns a binder of the node on the row-major arrays that hold its operands.
func (b *binder) physical() *binder {
	x, own := *b, *b.Binding
	own.In, own.Out = make([]*op.Value, len(b.In)), make([]*op.Value, len(b.Out))
	own.InLayouts, own.OutLayouts = nil, nil
	x.Binding = &own
	for i, v := range b.In {
		if own.In[i] = v; v != nil && b.InLayout(i) != device.Plain {
			own.In[i] = &op.Value{Type: graph.TensorOf(v.DType, physicalDims(v, b.InLayout(i)))}
		}
	}
	for i, v := range b.Out {
		if own.Out[i] = v; v != nil {
			own.Out[i] = &op.Value{Type: graph.TensorOf(v.DType, physicalDims(v, b.OutLayout(i)))}
		}
	}
	return &x
}

// holdBlocked replaces constant inputs that are read in blocks by their blocked copies.
func (b *binder) holdBlocked() error {
	if b.IsPlain() {
		return nil
	}
	b.replaced = make([]device.Operand, len(b.In))
	for i := range b.In {
		if b.Const(i) == nil || b.InLayout(i) == device.Plain {
			continue
		}
		var err error
		if b.replaced[i], err = b.blockedConst(i); err != nil {
			return err
		}
	}
	return nil
}

// blockedConst returns constant input i in its layout, made once for all sessions.
func (b *binder) blockedConst(i int) (device.Operand, error) {
	l := b.InLayout(i)
	data, err := b.dev.pack(b.Const(i), packKey{words: l.String()}, l.Bytes(b.DType(i), b.Shape(i)),
		func(t *tensor.Tensor, dst []byte) error {
			intoBlocks(t.Bytes(), t.DType().Bytes(1), t.Shape(), l.Block(), dst)
			return nil
		})
	if err != nil {
		return device.Operand{}, err
	}
	b.step.Dropped |= 1 << i
	return device.Operand{Place: device.Packed, Index: i, Data: data}, nil
}

// intoBlocks writes a value [N,C,...] of shape s to dst in blocks, with zeros as padding. Elements
// are size bytes.
func intoBlocks(x []byte, size int, s tensor.Shape, block int, dst []byte) {
	clear(dst)
	channels, inner := s[1], s[2:].Len()
	blocks := (channels + block - 1) / block
	for i := range s.Len() {
		plane, at := i/inner, i%inner
		image, channel := plane/channels, plane%channels
		to := ((image*blocks+channel/block)*inner+at)*block + channel%block
		copy(dst[to*size:(to+1)*size], x[i*size:])
	}
}
