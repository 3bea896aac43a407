package kit

import (
	"unsafe"

	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// StridedAxis is one axis of a strided copy: its extent, and the steps in elements to the next
// index in the source and in the destination. A step From of 0 repeats elements.
type StridedAxis struct{ N, From, To int }

// Strided describes a copy: for every index i below the extents, element DstAt + Σ i·To of Dst
// becomes element SrcAt + Σ i·From of Src. The axes are in the order of the destination, outermost
// first.
type Strided struct {
	Src, Dst     *tensor.Tensor
	SrcAt, DstAt int
	Axes         []StridedAxis
}

// Width returns the bytes of one element; 0 for strings and elements smaller than a byte.
func Width(d tensor.DType) int { return d.Bits() / 8 }

// aligned returns t, or a copy, with elements at a multiple of their width.
func aligned(t *tensor.Tensor) *tensor.Tensor {
	if a := min(Width(t.DType()), 8); a > 1 && uintptr(t.Pointer())%uintptr(a) != 0 {
		return t.Clone()
	}
	return t
}

// CopyStrided copies elements of any type in Go. Sources and destinations have one element type and
// do not overlap, and no two copies write the same element. It counts its work on pace.
func CopyStrided(pace *op.Pace, list ...Strided) {
	for _, s := range list {
		axes, empty := collapse(s.Axes)
		if empty {
			continue
		}
		s.Axes = axes
		switch d := s.Dst.DType(); Width(d) {
		case 0:
			copyEach(pace, s)
		case 1:
			copyElements[uint8](pace, s)
		case 2:
			copyElements[uint16](pace, s)
		case 4:
			copyElements[uint32](pace, s)
		case 8:
			copyElements[uint64](pace, s)
		default:
			copyElements[[2]uint64](pace, s)
		}
	}
}

// copyElements copies elements as numbers of their width.
func copyElements[T any](pace *op.Pace, s Strided) {
	copyAlong(pace, elementsOf[T](s.Dst), elementsOf[T](aligned(s.Src)), s.Axes, s.SrcAt, s.DstAt)
}

// elementsOf returns the elements of an aligned tensor as values of their width.
func elementsOf[T any](t *tensor.Tensor) []T {
	var one T
	return unsafe.Slice((*T)(t.Pointer()), len(t.Bytes())/int(unsafe.Sizeof(one)))
}

func copyAlong[T any](pace *op.Pace, dst, src []T, axes []StridedAxis, from, to int) {
	if len(axes) == 0 {
		dst[to] = src[from]
		return
	}
	a := axes[0]
	switch {
	case len(axes) > 1:
		for i := range a.N {
			copyAlong(pace, dst, src, axes[1:], from+i*a.From, to+i*a.To)
		}
	case a.From == 1 && a.To == 1:
		pace.Work(8 + a.N/4)
		copy(dst[to:to+a.N], src[from:])
	default:
		pace.Work(8 + 2*a.N)
		for range a.N {
			dst[to] = src[from]
			from, to = from+a.From, to+a.To
		}
	}
}

// collapse returns the axes that have an extent other than 1. It joins neighbours if one continues
// the other. empty is true if there is no element.
func collapse(axes []StridedAxis) (list []StridedAxis, empty bool) {
	list = make([]StridedAxis, 0, len(axes))
	for _, a := range axes {
		switch last := len(list) - 1; {
		case a.N == 0:
			return nil, true
		case a.N == 1:
		case last >= 0 && list[last].From == a.N*a.From && list[last].To == a.N*a.To:
			list[last] = StridedAxis{list[last].N * a.N, a.From, a.To}
		default:
			list = append(list, a)
		}
	}
	return list, false
}

// copyEach copies strings or elements smaller than a byte.
func copyEach(pace *op.Pace, s Strided) {
	l := s.Dst.DType().Layout()
	if l == nil {
		from, to := s.Src.Strings(), s.Dst.Strings()
		EachElement(pace, s.Axes, s.SrcAt, s.DstAt, func(src, dst int) { to[dst] = from[src] })
		return
	}
	from, to := s.Src.Bytes(), s.Dst.Bytes()
	EachElement(pace, s.Axes, s.SrcAt, s.DstAt, func(src, dst int) { l.Set(to, dst, l.At(from, src)) })
	clearTail(s.Dst)
}

// clearTail clears the unused bits of the last byte, as layouts require.
func clearTail(t *tensor.Tensor) {
	b, bits := t.Bytes(), t.DType().Bits()
	if used := t.Len() * bits % 8; used > 0 {
		b[len(b)-1] &= 1<<used - 1
	}
}

// EachElement calls f with the source and the destination index of every element of a copy.
func EachElement(pace *op.Pace, axes []StridedAxis, src, dst int, f func(src, dst int)) {
	if len(axes) == 0 {
		f(src, dst)
		return
	}
	a := axes[0]
	pace.Work(8 * a.N)
	for i := range a.N {
		EachElement(pace, axes[1:], src+i*a.From, dst+i*a.To, f)
	}
}

// GatherBlocks copies blocks by number: with src [outer,n,block] and dst [outer,len(index),block],
// dst[o,j] = src[o,index[j]]. The caller has checked the index. It counts its work on pace.
func GatherBlocks(pace *op.Pace, src, dst *tensor.Tensor, index []int64, outer, n, block int) {
	switch d := dst.DType(); Width(d) {
	case 0:
		for j, x := range index {
			CopyStrided(pace, Strided{Src: src, Dst: dst, SrcAt: int(x) * block, DstAt: j * block,
				Axes: []StridedAxis{{outer, n * block, len(index) * block}, {block, 1, 1}}})
		}
	case 1:
		gatherBlocks[uint8](pace, src, dst, index, outer, n, block)
	case 2:
		gatherBlocks[uint16](pace, src, dst, index, outer, n, block)
	case 4:
		gatherBlocks[uint32](pace, src, dst, index, outer, n, block)
	case 8:
		gatherBlocks[uint64](pace, src, dst, index, outer, n, block)
	default:
		gatherBlocks[[2]uint64](pace, src, dst, index, outer, n, block)
	}
}

// GatherBytes is GatherBlocks for blocks of bytes.
func GatherBytes(pace *op.Pace, src, dst []byte, index []int64, outer, n, block int) {
	gatherAll(pace, src, dst, index, outer, n, block)
}

func gatherBlocks[T any](pace *op.Pace, src, dst *tensor.Tensor, index []int64, outer, n, block int) {
	gatherAll(pace, elementsOf[T](aligned(src)), elementsOf[T](dst), index, outer, n, block)
}

func gatherAll[T any](pace *op.Pace, from, to []T, index []int64, outer, n, block int) {
	for o := range outer {
		part, row := from[o*n*block:], to[o*len(index)*block:]
		for first, end := range pace.Stretches(len(index), 4+block/4) {
			if block == 1 {
				gather(row[first:], part, index[first:end])
				continue
			}
			for j, x := range index[first:end] {
				copy(row[(first+j)*block:][:block], part[int(x)*block:])
			}
		}
	}
}

func gather[T any](to, from []T, index []int64) {
	for j, x := range index {
		to[j] = from[x]
	}
}

// CopyElement copies one element between tensors of one type.
func CopyElement(dst *tensor.Tensor, to int, src *tensor.Tensor, from int) {
	w, l := Width(dst.DType()), dst.DType().Layout()
	switch {
	case w > 0:
		copy(dst.Bytes()[to*w:][:w], src.Bytes()[from*w:])
	case l != nil:
		l.Set(dst.Bytes(), to, l.At(src.Bytes(), from))
	default:
		dst.Strings()[to] = src.Strings()[from]
	}
}

// CopyInto copies the elements of x to y, a tensor of the same type and size, unless both have the
// same memory.
func CopyInto(y, x *tensor.Tensor) {
	if y.DType() == tensor.String {
		copy(y.Strings(), x.Strings())
	} else if y.Pointer() != x.Pointer() {
		copy(y.Bytes(), x.Bytes())
	}
}
