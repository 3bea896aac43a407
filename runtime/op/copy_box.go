package op

import (
	"slices"
	"unsafe"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// copyAxis is one axis of a box: its extent and the steps, in elements, to the next
// index in the source and in the destination. A step from of 0 repeats elements.
type copyAxis struct{ n, from, to int }

// box is elements to copy: for every index i below the extents, element
// dstAt + Σ i·to of dst becomes element srcAt + Σ i·from of src. The axes stand
// outermost first in the destination.
type box struct {
	src, dst     *tensor.Tensor
	srcAt, dstAt int
	axes         []copyAxis
}

// mover copies boxes of one element type. Ops that move elements embed it, and
// with it get a Prepare that looks at input 0.
type mover struct{ kernel bindings.Kernel }

// Prepare chooses the kernel for the element type of input 0.
func (m *mover) Prepare(c *Prepare) error { return m.prepare(c, c.DType(0)) }

func (m *mover) prepare(c *Prepare, d tensor.DType) (err error) {
	if w := width(d); w > 0 {
		m.kernel, err = c.Kernel(bindings.TransposeOp(w))
	}
	return err
}

// width is the bytes of one element; 0 for strings and elements below a byte.
func width(d tensor.DType) int { return d.Bits() / 8 }

// aligned returns t with its elements at a multiple of their width, as the
// kernels of csrc/move need.
func aligned(t *tensor.Tensor) *tensor.Tensor {
	if a := min(width(t.DType()), 8); a > 1 && uintptr(t.Pointer())%uintptr(a) != 0 {
		return t.Clone()
	}
	return t
}

// move copies the boxes. Sources and destinations have one element type and do
// not overlap, nor do the destinations of two boxes.
func (m *mover) move(c *Run, list ...box) {
	if len(list) == 0 {
		return
	}
	if d := list[0].dst.DType(); width(d) > 0 {
		m.moveBytes(c, width(d), list)
	} else {
		moveEach(list)
	}
}

func (m *mover) moveBytes(c *Run, width int, list []stridedCopy) {
	boxes := make([]bindings.Box, 0, len(list))
	var from, src *tensor.Tensor
	for _, b := range list {
		axes, empty := collapse(b.axes)
		if empty {
			continue
		}
		if from != b.src {
			from, src = b.src, aligned(b.src)
		}
		one := bindings.Box{Src: src.Pointer(), Dst: b.dst.Pointer(), SrcAt: b.srcAt, DstAt: b.dstAt}
		boxes = appendBox(boxes, one, axes)
	}
	bindings.MoveBoxes(m.kernel, width, boxes, c.Pool)
}

// appendBox adds b with those axes to the list; when there are more than a Box
// can have, a Box for every index of the outermost.
func appendBox(list []bindings.Box, b bindings.Box, axes []copyAxis) []bindings.Box {
	if len(axes) > bindings.BoxAxes {
		for range axes[0].n {
			list = appendBox(list, b, axes[1:])
			b.SrcAt += axes[0].from
			b.DstAt += axes[0].to
		}
		return list
	}
	b.Axes = len(axes)
	for i, a := range axes {
		b.Extent[i], b.From[i], b.To[i] = a.n, a.from, a.to
	}
	return append(list, b)
}

// collapse returns the axes without those of extent 1, neighbours joined where
// one continues the other; empty is true when there is no element.
func collapse(axes []copyAxis) (list []copyAxis, empty bool) {
	list = make([]copyAxis, 0, len(axes))
	for _, a := range axes {
		switch last := len(list) - 1; {
		case a.n == 0:
			return nil, true
		case a.n == 1:
		case last >= 0 && list[last].from == a.n*a.from && list[last].to == a.n*a.to:
			list[last] = copyAxis{list[last].n * a.n, a.from, a.to}
		default:
			list = append(list, a)
		}
	}
	return list, false
}

// moveEach copies strings and elements below a byte.
func moveEach(list []stridedCopy) {
	for _, b := range list {
		l := b.dst.DType().Layout()
		if l == nil {
			from, to := b.src.Strings(), b.dst.Strings()
			eachElement(b.axes, b.srcAt, b.dstAt, func(src, dst int) { to[dst] = from[src] })
			continue
		}
		from, to := b.src.Bytes(), b.dst.Bytes()
		eachElement(b.axes, b.srcAt, b.dstAt, func(src, dst int) { l.Set(to, dst, l.At(from, src)) })
		clearTail(b.dst)
	}
}

// clearTail makes the unused bits of the last byte zero, as layouts have them.
func clearTail(t *tensor.Tensor) {
	b, bits := t.Bytes(), t.DType().Bits()
	if used := t.Len() * bits % 8; used > 0 {
		b[len(b)-1] &= 1<<used - 1
	}
}

func eachElement(axes []copyAxis, src, dst int, copyOne func(src, dst int)) {
	if len(axes) == 0 {
		copyOne(src, dst)
		return
	}
	a := axes[0]
	for i := range a.n {
		eachElement(axes[1:], src+i*a.from, dst+i*a.to, copyOne)
	}
}

// permuted is the box that writes the source, seen as a tensor of that shape, to
// the destination with its axes in the order perm.
func permuted(src, dst *tensor.Tensor, shape tensor.Shape, perm []int) box {
	from := shape.Strides()
	axes := make([]copyAxis, len(perm))
	to := 1
	for i, p := range slices.Backward(perm) {
		axes[i] = copyAxis{shape[p], from[p], to}
		to *= shape[p]
	}
	return stridedCopy{src: src, dst: dst, axes: axes}
}

// fill writes the first element of value to every element of dst.
func (m *mover) fill(c *Run, dst, value *tensor.Tensor) {
	m.move(c, stridedCopy{src: value, dst: dst, axes: []copyAxis{{dst.Len(), 0, 1}}})
}

// gather copies blocks by number: with src [outer,n,block] and dst
// [outer,len(index),block], dst[o,j] = src[o,index[j]], the index checked.
func gather(c *Run, src, dst *tensor.Tensor, index []int64, outer, n, block int) {
	d := dst.DType()
	if width(d) > 0 {
		bindings.MoveGather(src.Pointer(), index, dst.Pointer(), outer, n, block*width(d), c.Pool)
		return
	}
	list := make([]stridedCopy, 0, len(index))
	for j, x := range index {
		list = append(list, stridedCopy{src: src, dst: dst, srcAt: int(x) * block, dstAt: j * block,
			axes: []copyAxis{{outer, n * block, len(index) * block}, {block, 1, 1}}})
	}
	moveEach(list)
}

// int64s returns scratch memory for n numbers, not cleared.
func (c *Run) int64s(n int) ([]int64, error) {
	b, err := c.Mem.Scratch(8 * n)
	if err != nil || n == 0 {
		return nil, err
	}
	return unsafe.Slice((*int64)(unsafe.Pointer(unsafe.SliceData(b))), n), nil
}
