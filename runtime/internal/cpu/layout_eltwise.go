package cpu

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
	"github.com/nacre-ml/nacre/runtime/internal/ops/arith"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var blockedEltwiseRows = []blockedRow{
	blockedRowFor("unary", offerUnary, func(o *arith.Unary, b *binder) error { return b.Map(lower.Unary(o, b.physical())) }),
	blockedRowFor("clip",
		func(o *arith.Clip, b *device.Binding, l device.Layout) *offer { return offerUnary(&o.Unary, b, l) },
		func(o *arith.Clip, b *binder) error { return bindPhysical(o, b, bindClip) }),
	blockedRowFor("variadic", offerVariadic,
		func(o *arith.Variadic, b *binder) error { return lower.Variadic(o, b.physical()) }),
	blockedRowFor("binary", offerBinary, bindBlockedBinary),
}

// bindPhysical binds a function of elements on blocks, padding included.
func bindPhysical[T op.Op](o T, b *binder, bind func(o T, b *binder) error) error {
	return bind(o, b.physical())
}

// offerUnary accepts functions from float32 to float32.
func offerUnary(_ *arith.Unary, b *device.Binding, l device.Layout) *offer {
	if !blockable(b.In[0]) || !blockable(b.Out[0]) {
		return nil
	}
	n, blocks := elementCounts(b.In[0], l)
	return &offer{in: []int{0}, out: true, plain: eltwiseElement * n, blocked: eltwiseElement * blocks}
}

// offerVariadic accepts operands of the same extents.
func offerVariadic(_ *arith.Variadic, b *device.Binding, l device.Layout) *offer {
	if !blockable(b.Out[0]) {
		return nil
	}
	n, blocks := elementCounts(b.Out[0], l)
	times := eltwiseElement * float64(len(b.In))
	x := &offer{out: true, plain: times * n, blocked: times * blocks}
	for i := range b.In {
		if !b.Shape(i).Equal(b.OutShape(0)) {
			return nil
		}
		x.in = append(x.in, i)
	}
	return x
}

// sharing is how an operand of a binary function is broadcast to a blocked one.
type sharing int

const (
	sharesNot   sharing = iota // not broadcast: it has the extents of the result
	sharesOne                  // one number
	sharesPixel                // one number per channel
	sharesOther                // otherwise; no row computes this
)

// sharingOf returns how an operand is broadcast to y. Its extents are aligned at y's last axis.
func sharingOf(operand, y tensor.Shape) sharing {
	switch {
	case operand.Equal(y):
		return sharesNot
	case operand.Len() == 1:
		return sharesOne
	}
	channel := len(operand) - (len(y) - 1)
	if channel < 0 || operand[channel] != y[1] || operand[channel+1:].Len() != 1 {
		return sharesOther
	}
	if channel == 1 && operand[0] != 1 && operand[0] != y[0] {
		return sharesOther
	}
	return sharesPixel
}

// blockedPair returns the extents of both operands of a binary function, aligned at the last axis
// of the result, and how each is broadcast to it.
func blockedPair(o *arith.Binary, b *device.Binding) (shapes [2]tensor.Shape, how [2]sharing, ok bool) {
	right, err := o.Right(b.In[0].Dims, b.In[1].Dims)
	if err != nil {
		return shapes, how, false
	}
	y := b.OutShape(0)
	for i, d := range []graph.Dims{b.In[0].Dims, right} {
		s, known := d.Concrete()
		if !known {
			return shapes, how, false
		}
		shapes[i], how[i] = s, sharingOf(s, y)
		if how[i] == sharesOther {
			return shapes, how, false
		}
	}
	return shapes, how, how[0] == sharesNot || how[1] == sharesNot
}

// offerBinary accepts float32 operands with the extents of the result, with one number, or with one
// number per channel.
func offerBinary(o *arith.Binary, b *device.Binding, l device.Layout) *offer {
	if !blockable(b.Out[0]) || b.DType(0) != tensor.F32 || o.Bits || o.Result != tensor.Invalid {
		return nil
	}
	_, how, ok := blockedPair(o, b)
	if !ok {
		return nil
	}
	n, blocks := elementCounts(b.Out[0], l)
	x := &offer{out: true, plain: eltwiseElement * n, blocked: eltwiseElement * blocks}
	for i, h := range how {
		switch h {
		case sharesNot:
			x.in = append(x.in, i)
		case sharesPixel:
			// An operand with all axes of the result is blocked too. Another one is laid out in
			// memory like blocks, provided that blocks have no padding.
			if blockable(b.In[i]) && len(b.In[i].Dims) == len(b.Out[0].Dims) {
				x.in = append(x.in, i)
			} else if b.OutShape(0)[1]%l.Block() != 0 {
				return nil
			}
			planes := float64(b.OutShape(0)[:2].Len())
			x.plain += channelPlane * planes
			x.blocked += 2 * channelPlane * planes / float64(l.Block())
		}
	}
	return x
}

func bindBlockedBinary(o *arith.Binary, b *binder) error {
	block := b.OutLayout(0).Block()
	shapes, how, ok := blockedPair(o, b.Binding)
	if !ok {
		return device.Refuse("extents %v and %v", b.In[0].Dims, b.In[1].Dims)
	}
	x := b.physical()
	k := b.function(tensor.F32, o.Func)
	var dims [2]graph.Dims
	for i, h := range how {
		switch h {
		case sharesNot:
			dims[i] = x.In[i].Dims
		case sharesPixel:
			if dims[i] = x.In[i].Dims; b.InLayout(i) == device.Plain {
				dims[i] = pixelDims(shapes[i], len(b.OutShape(0)), block)
			}
		}
	}
	left, right := x.in(0), x.in(1)
	if o.Swap {
		left, right, dims[0], dims[1] = right, left, dims[1], dims[0]
	}
	same := storage{bytes: 4}
	return b.pairs(k, same, same, same, left, right, b.out(0), x.Out[0].Dims, dims[0], dims[1])
}

// pixelDims returns the extents of one number per channel, aligned with the blocks of a value of
// that rank.
func pixelDims(s tensor.Shape, rank, block int) graph.Dims {
	dims := graph.Dims{}
	if len(s) == rank {
		dims = append(dims, graph.Known(s[0]))
		s = s[1:]
	}
	dims = append(dims, graph.Known(s[0]/block))
	for range s[1:] {
		dims = append(dims, graph.Known(1))
	}
	return append(dims, graph.Known(block))
}
