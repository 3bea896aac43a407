package vulkan

import (
	"fmt"

	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/arith"
	"github.com/nacre-ml/nacre/runtime/internal/ops/array"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/ops/vision"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var countRows = []row{
	rowFor("count", bindCompress),
	rowFor("count", bindNonZero),
	rowFor("count", bindUnique),
	rowFor("count", bindSuppress),
}

// count returns the operand for the number that a step counts: the output after the node's own. If
// the extents are known there is none, and count returns scratch.
func (b *binder) count() device.Operand {
	if n := len(b.Node.Outputs); b.Wants(n) {
		return b.out(n)
	}
	return b.temp(4)
}

// sumsPiece is the number of elements that one workgroup sums.
const sumsPiece = 1024

// wordsOf returns scratch for n words that sums may add up.
func (b *binder) wordsOf(n int) device.Operand {
	if n > sumsPiece {
		n = (n + sumsPiece - 1) / sumsPiece * sumsPiece
	}
	return b.temp(4 * n)
}

// sums adds dispatches of running sums of the n words of x, which wordsOf returned. Word i of the
// result is the sum of words 0 to i.
func (b *binder) sums(n int, x device.Operand) device.Operand {
	y := b.wordsOf(n)
	if n <= sumsPiece {
		b.running(1, n, false, x, y)
		return y
	}
	pieces := (n + sumsPiece - 1) / sumsPiece
	last, before := b.temp(4*pieces), b.temp(4*pieces)
	b.running(pieces, sumsPiece, false, x, y)
	b.Note(b.strided(tensor.U32, sumsPiece-1, 0, []axisSteps{{pieces, sumsPiece, 1}}, y, last))
	b.running(1, pieces, true, last, before)
	var w words
	w.int(n, sumsPiece)
	b.Note(b.flat("count/sums", "place", n, nil, w, before, y))
	return y
}

// running adds a dispatch of running sums of words along lanes. An exclusive sum leaves out the
// word itself.
func (b *binder) running(lanes, n int, exclusive bool, x, y device.Operand) {
	b.Note(b.loops(2 * ((n + 15) / 16)))
	flags, w := words{}, words{}
	flags.bool(false, exclusive, false)
	flags.int(0)
	w.int(lanes*n, 1, 2, lanes, n)
	w.int(make([]int, runningAxes-2)...)
	b.Note(b.lanes("reduce/running", "u32", lanes, n, flags, w, x, device.Operand{}, y, device.Operand{}))
}

// list adds dispatches that list the places of the ones among n flags, and count them. If a place
// is not below limit, the run fails.
func (b *binder) list(n, limit int, flags, count, fault device.Operand) device.Operand {
	places := b.temp(4 * min(n, limit))
	rank := b.sums(n, flags)
	var w words
	w.int(n, limit)
	b.Note(b.flat("count/list", "place", n, nil, w, rank, places, count, fault))
	return places
}

// set adds a dispatch that makes flags of the elements of input i: 1 for each that is not zero.
func (b *binder) set(i int) device.Operand {
	d, n := b.DType(i), b.Shape(i).Len()
	width := d.Bits()
	if width > 64 || d.Kind() == tensor.Complex {
		b.Note(device.Refuse("elements are %v", d))
	}
	mask := uint32(1<<min(width, 32) - 1)
	if array.HasZeros(d) {
		mask >>= 1
	}
	flags := b.wordsOf(n)
	b.Note(b.flat("count/set", "packed", n, []uint32{uint32(width), mask}, words{uint32(n)}, b.in(i), flags))
	return flags
}

// take adds a dispatch that gathers slices of input 0 along an axis, at the places in list. Count
// holds the number of places, at most most.
func (b *binder) take(s kit.AxisView, most int, list, count device.Operand) error {
	variant := b.widthName(b.DType(0))
	var w words
	w.int(most, s.Outer, s.N, s.Inner)
	return b.flat("count/take", variant, s.Outer*most*s.Inner, nil, w, b.in(0), list, count, b.out(0))
}

func bindCompress(o *array.Compress, b *binder) error {
	shape, axis, err := o.View(b.Shape(0))
	if err != nil {
		return err
	}
	s, n := kit.ViewAlong(shape, axis), b.Shape(1).Len()
	flags := b.set(1)
	count := b.count()
	list := b.list(n, s.N, flags, count, b.fault(fmt.Sprintf("condition %%d holds, the axis has %d elements", s.N)))
	return b.take(s, min(n, s.N), list, count)
}

func bindNonZero(_ array.NonZero, b *binder) error {
	x := b.Shape(0)
	if len(x) > copyAxes {
		return device.Refuse("a value has %d axes", len(x))
	}
	flags := b.set(0)
	count := b.count()
	list := b.list(x.Len(), x.Len(), flags, count, device.Operand{})
	var w words
	w.int(x.Len(), len(x))
	w.int(x...)
	w.int(make([]int, copyAxes-len(x))...)
	return b.flat("count/places", "place", x.Len(), nil, w, list, count, b.out(0))
}

// bindUnique sorts the places of slices, and numbers the groups of equal ones.
func bindUnique(o *arith.Unique, b *binder) error {
	variant, kind := b.ordered(b.DType(0))
	shape, axis, err := o.View(b.Shape(0))
	if err != nil {
		return err
	}
	s := kit.ViewAlong(shape, axis)
	b.Note(b.loops(s.Outer * s.Inner))
	order, err := b.sorted(s, variant, kind)
	if err != nil {
		return err
	}
	var w words
	w.int(s.N, s.Outer, s.Inner)
	heads := b.wordsOf(s.N)
	if err := b.flat("count/heads", variant, s.N, []uint32{kind}, w, b.in(0), order, heads); err != nil {
		return err
	}
	rank := b.sums(s.N, heads)
	inOrder, n := words{}, words{uint32(s.N)}
	inOrder.bool(o.Sorted)
	starts, firsts, firstRank := b.temp(4*s.N), device.Operand{}, device.Operand{}
	if !o.Sorted {
		firsts = b.wordsOf(s.N)
	}
	if err := b.flat("count/starts", "place", s.N, inOrder, n, rank, order, starts, firsts); err != nil {
		return err
	}
	if !o.Sorted {
		firstRank = b.sums(s.N, firsts)
	}
	list, count, wants := b.temp(4*s.N), b.count(), uint32(0)
	outs := []device.Operand{{}, b.out(1), b.out(2)}
	if !o.Short {
		outs = []device.Operand{b.out(1), b.out(2), b.out(3)}
	}
	for i, x := range outs {
		wants |= uint32(kit.Btoi(x.Place != device.None)) << i
	}
	if err := b.flat("count/groups", "place", s.N, append(inOrder, wants), n, rank, order, starts, firstRank, list,
		outs[0], outs[1], outs[2], count); err != nil {
		return err
	}
	if !b.Wants(0) {
		return nil
	}
	return b.take(s, s.N, list, count)
}

// sorted adds dispatches that sort the places of the slices of input 0.
func (b *binder) sorted(s kit.AxisView, variant string, kind uint32) (device.Operand, error) {
	levels := 1
	for 1<<levels < s.N {
		levels++
	}
	order := b.temp(4 << levels)
	for level := 1; level <= levels; level++ {
		for step := level - 1; step >= 0; step-- {
			var w words
			w.int(1<<(levels-1), s.N, s.Outer, s.Inner, 1<<level, 1<<step)
			if err := b.flat("count/order", variant, 1<<(levels-1), []uint32{kind}, w, b.in(0), order); err != nil {
				return order, err
			}
		}
	}
	return order, nil
}

// bindSuppress picks boxes with one workgroup for each class of an image.
func bindSuppress(o *vision.Suppress, b *binder) error {
	if err := o.Check(b.Shape(0), b.Shape(1)); err != nil {
		return device.Refuse("%v", err)
	}
	given := uint32(0)
	for i, d := range []tensor.DType{tensor.I64, tensor.F32, tensor.F32} {
		switch at := i + 2; {
		case !b.Has(at) || b.Shape(at).Len() == 0:
		case b.DType(at) != d || b.Shape(at).Len() != 1:
			return device.Refuse("input %d is %v %v", at, b.DType(at), b.Shape(at))
		default:
			given |= 1 << i
		}
	}
	limit := func(i int) device.Operand {
		if given>>i&1 == 0 {
			return device.Operand{}
		}
		return b.in(i + 2)
	}
	scores := b.Shape(1)
	lanes, n := scores[0]*scores[1], scores[2]
	most := n
	if t := b.Const(2); t != nil && given&1 != 0 {
		most = min(max(int(tensor.View[int64](t.Aligned())[0]), 0), n)
	}
	size := min(256, b.dev.info.Caps.MaxInvocations)
	b.Note(b.loops((most + 1) * ((n + size - 1) / size)))
	center, state, picks, counts := words{}, b.temp(4*lanes*n), b.temp(4*lanes*n), b.wordsOf(lanes)
	center.bool(o.Center)
	var w words
	w.int(lanes, scores[1], n)
	if err := b.dispatch("count/boxes", "f32", size, b.flatGroups(lanes), append(center, given), w, b.in(0), b.in(1),
		limit(0), limit(1), limit(2), state, picks, counts); err != nil {
		return err
	}
	ends := b.sums(lanes, counts)
	w = words{}
	w.int(lanes*n, scores[1], n)
	return b.flat("count/picked", "place", lanes*n, nil, w, picks, ends, b.out(0), b.count())
}
