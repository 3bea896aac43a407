package cpu

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
	"github.com/nacre-ml/nacre/runtime/internal/ops/array"
	"github.com/nacre-ml/nacre/runtime/internal/ops/vision"
	"github.com/nacre-ml/nacre/runtime/op"
)

var blockedCopyRows = []blockedRow{
	blockedRowFor("copy", offerConcat, func(_ *array.Concat, b *binder) error { return bindBlockedParts(b, b.In, true) }),
	blockedRowFor("copy", offerSplit, func(_ *array.Split, b *binder) error { return bindBlockedParts(b, b.Out, false) }),
	blockedRowFor("resample", offerResize, bindBlockedResize),
}

// offerConcat accepts values joined along their channels.
func offerConcat(o *array.Concat, b *device.Binding, l device.Layout) *offer {
	if !movable(b.Out[0]) || axisOf(o.Axis, len(b.Out[0].Dims)) != 1 || !wholeBlocks(b.In, l) {
		return nil
	}
	x := offerCopy(b.Out[0], l)
	for i := range b.In {
		x.in = append(x.in, i)
	}
	return x
}

// offerSplit accepts values split along their channels.
func offerSplit(o *array.Split, b *device.Binding, l device.Layout) *offer {
	if !movable(b.In[0]) || axisOf(o.Axis, len(b.In[0].Dims)) != 1 || !wholeBlocks(b.Out, l) {
		return nil
	}
	x := offerCopy(b.In[0], l)
	x.in = []int{0}
	return x
}

func offerCopy(v *op.Value, l device.Layout) *offer {
	n, blocks := elementCounts(v, l)
	each := eltwiseElement
	if isByte(v.DType) {
		each = byteElement
	}
	return &offer{out: true, plain: each * n, blocked: each * blocks}
}

// wholeBlocks reports whether all parts are movable and all but the last have whole blocks of
// channels.
func wholeBlocks(parts []*op.Value, l device.Layout) bool {
	for i, v := range parts {
		if !movable(v) {
			return false
		}
		if c, _ := v.Dims[1].Value(); c%l.Block() != 0 && i < len(parts)-1 {
			return false
		}
	}
	return true
}

// bindBlockedParts copies parts to the whole if join is true, else from it. The blocks of an image
// follow each other in both.
func bindBlockedParts(b *binder, parts []*op.Value, join bool) error {
	l := b.OutLayout(0)
	whole := b.In[0]
	if join {
		whole = b.Out[0]
	}
	s, _ := whole.Dims.Concrete()
	images, image := s[0], l.Extents(s)[1:].Len()
	at := 0
	var shares []device.Share
	for i, v := range parts {
		s, _ := v.Dims.Concrete()
		n := l.Extents(s)[1:].Len()
		c := array.Copy{From: graph.Known(at), To: graph.Known(0), Axes: []array.CopyAxis{
			{N: graph.Known(images), From: graph.Known(image), To: graph.Known(n)},
			{N: graph.Known(n), From: graph.Known(1), To: graph.Known(1)},
		}}
		src, dst := b.in(0), b.out(i)
		if join {
			c.From, c.To, c.Axes[0].From, c.Axes[0].To = c.To, c.From, c.Axes[0].To, c.Axes[0].From
			src, dst = b.in(i), b.out(0)
		}
		if err := b.copy(whole.DType, []array.Copy{c}, src, dst); err != nil {
			return err
		}
		shares = append(shares, device.Share{Operand: i, Offset: whole.DType.Bytes(at)})
		at += n
	}
	switch {
	case images > 1:
	case join:
		b.step.Joins = shares
	default:
		b.step.Splits = shares
	}
	return nil
}

// mostOffered bounds, in bytes, the table of an axis that offerResize looks at.
const mostOffered = 1 << 20

// offerResize accepts values resampled neither along images nor along channels.
func offerResize(o *vision.Resize, b *device.Binding, l device.Layout) *offer {
	if !blockable(b.In[0]) || !blockable(b.Out[0]) || !b.Shape(0)[:2].Equal(b.OutShape(0)[:2]) {
		return nil
	}
	for i := 1; i < len(b.In); i++ {
		if b.Has(i) && o.Reads(i) && b.Const(i) == nil {
			return nil
		}
	}
	tables, err := lower.ResizeTables(o, b, func(bytes int) error {
		if bytes > mostOffered {
			return device.Refuse("the places and weights of an axis take %d bytes", bytes)
		}
		return nil
	})
	if err != nil || len(tables) == 0 {
		return nil
	}
	lines := 0
	for _, t := range tables {
		if t.Axis < 2 || t.Outside != nil {
			return nil
		}
		lines += t.Taps
	}
	n, blocks := elementCounts(b.Out[0], l)
	times := eltwiseElement * float64(max(lines, 1))
	return &offer{in: []int{0}, out: true, plain: times * n, blocked: times * blocks}
}

// bindBlockedResize resamples the spatial axes of blocks. The channels of a block are the last
// axis.
func bindBlockedResize(o *vision.Resize, b *binder) error {
	tables, err := b.dev.resizeTables(o, b.Binding)
	if err != nil {
		return err
	}
	return b.physical().resample(o.IsNearest(), tables)
}
