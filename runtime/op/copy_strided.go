package op

import (
	"unsafe"

	"github.com/nacre-ml/nacre/runtime/tensor"
)

// copyAxis is one axis of a strided copy: its extent and the steps, in elements, to
// the next index in the source and in the destination. A step from of 0 repeats
// elements.
type copyAxis struct{ n, from, to int }

// stridedCopy is elements to copy: for every index i below the extents, element
// dstAt + Σ i·to of dst becomes element srcAt + Σ i·from of src. The axes stand
// outermost first in the destination.
type stridedCopy struct {
	src, dst     *tensor.Tensor
	srcAt, dstAt int
	axes         []copyAxis
}

// width is the bytes of one element; 0 for strings and elements below a byte.
func width(d tensor.DType) int { return d.Bits() / 8 }

// aligned returns t with its elements at a multiple of their width.
func aligned(t *tensor.Tensor) *tensor.Tensor {
	if a := min(width(t.DType()), 8); a > 1 && uintptr(t.Pointer())%uintptr(a) != 0 {
		return t.Clone()
	}
	return t
}

// copyStrided copies elements of any type in Go. Sources and destinations have one
// element type and do not overlap, nor do the destinations of two copies.
func copyStrided(list ...stridedCopy) {
	for _, s := range list {
		axes, empty := collapse(s.axes)
		if empty {
			continue
		}
		s.axes = axes
		switch d := s.dst.DType(); width(d) {
		case 0:
			copyEach(s)
		case 1:
			copyElements[uint8](s)
		case 2:
			copyElements[uint16](s)
		case 4:
			copyElements[uint32](s)
		case 8:
			copyElements[uint64](s)
		default:
			copyElements[[2]uint64](s)
		}
	}
}

// copyElements copies elements as numbers of their width.
func copyElements[T any](s stridedCopy) {
	copyAlong(elementsOf[T](s.dst), elementsOf[T](aligned(s.src)), s.axes, s.srcAt, s.dstAt)
}

// elementsOf is the elements of an aligned tensor as values of their width.
func elementsOf[T any](t *tensor.Tensor) []T {
	var one T
	return unsafe.Slice((*T)(t.Pointer()), len(t.Bytes())/int(unsafe.Sizeof(one)))
}

func copyAlong[T any](dst, src []T, axes []copyAxis, from, to int) {
	if len(axes) == 0 {
		dst[to] = src[from]
		return
	}
	a := axes[0]
	switch {
	case len(axes) > 1:
		for i := range a.n {
			copyAlong(dst, src, axes[1:], from+i*a.from, to+i*a.to)
		}
	case a.from == 1 && a.to == 1:
		copy(dst[to:to+a.n], src[from:])
	default:
		for range a.n {
			dst[to] = src[from]
			from, to = from+a.from, to+a.to
		}
	}
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

// copyEach copies strings or elements below a byte.
func copyEach(s stridedCopy) {
	l := s.dst.DType().Layout()
	if l == nil {
		from, to := s.src.Strings(), s.dst.Strings()
		eachElement(s.axes, s.srcAt, s.dstAt, func(src, dst int) { to[dst] = from[src] })
		return
	}
	from, to := s.src.Bytes(), s.dst.Bytes()
	eachElement(s.axes, s.srcAt, s.dstAt, func(src, dst int) { l.Set(to, dst, l.At(from, src)) })
	clearTail(s.dst)
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

// fillStrided writes the first element of value to every element of dst.
func fillStrided(dst, value *tensor.Tensor) {
	copyStrided(stridedCopy{src: value, dst: dst, axes: []copyAxis{{dst.Len(), 0, 1}}})
}

// gather copies blocks by number: with src [outer,n,block] and dst
// [outer,len(index),block], dst[o,j] = src[o,index[j]], the index checked.
func gather(src, dst *tensor.Tensor, index []int64, outer, n, block int) {
	switch d := dst.DType(); width(d) {
	case 0:
		for j, x := range index {
			copyStrided(stridedCopy{src: src, dst: dst, srcAt: int(x) * block, dstAt: j * block,
				axes: []copyAxis{{outer, n * block, len(index) * block}, {block, 1, 1}}})
		}
	case 1:
		gatherBlocks[uint8](src, dst, index, outer, n, block)
	case 2:
		gatherBlocks[uint16](src, dst, index, outer, n, block)
	case 4:
		gatherBlocks[uint32](src, dst, index, outer, n, block)
	case 8:
		gatherBlocks[uint64](src, dst, index, outer, n, block)
	default:
		gatherBlocks[[2]uint64](src, dst, index, outer, n, block)
	}
}

func gatherBlocks[T any](src, dst *tensor.Tensor, index []int64, outer, n, block int) {
	from, to := elementsOf[T](aligned(src)), elementsOf[T](dst)
	for o := range outer {
		part, row := from[o*n*block:], to[o*len(index)*block:]
		for j, x := range index {
			if block == 1 {
				row[j] = part[x]
			} else {
				copy(row[j*block:][:block], part[int(x)*block:])
			}
		}
	}
}

// int64s returns scratch memory for n numbers, not cleared.
func (c *Run) int64s(n int) ([]int64, error) {
	b, err := c.Mem.Scratch(8 * n)
	if err != nil || n == 0 {
		return nil, err
	}
	return unsafe.Slice((*int64)(unsafe.Pointer(unsafe.SliceData(b))), n), nil
}
