package openinfer

import (
	"github.com/nacre-ml/nacre/internal/elements"
	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// number lists the types in which elements are computed.
type number interface {
	int64 | uint64 | float32 | float64
}

// block is the number of elements computed at a time. It is a multiple of the elements in a byte.
const block = 1024

// share is the least number of elements for a further thread. It is a multiple of block.
const share = 16 * block

// typeNamed returns the element type that an attribute names.
func typeNamed(n *op.Node, attr string, allowed op.Types) (tensor.DType, error) {
	d, err := tensor.ParseDType(n.Str(attr, ""))
	if err != nil || !allowed.Has(d) {
		return tensor.Invalid, graph.Errorf(graph.ErrFormat, "attribute %s is %q; it must be one of %v", attr,
			n.Str(attr, ""), allowed)
	}
	return d, nil
}

// load stores the elements of t from element at on in dst.
func load[C number](dst []C, t *tensor.Tensor, at int) { elements.Get(dst, t, at) }

// store sets the elements of t from element at on. Integers keep their low bits.
func store[C number](t *tensor.Tensor, at int, src []C) {
	if t.DType() != tensor.F8E5M2 {
		elements.Put(t, at, src)
		return
	}
	for i, dst := 0, t.Bytes()[at:]; i < len(src); i++ {
		dst[i] = eighth(src[i])
	}
}

// eighth rounds a number to an 8-bit float. All NaNs give one code.
func eighth[C number](v C) byte {
	if v != v {
		return 0x7d
	}
	return packed.E5M2.Code(elements.Odd(float64(v)), false)
}

// clearTail clears the bits of the last byte that belong to no element.
func clearTail(t *tensor.Tensor) {
	if used := t.Len() * t.DType().Bits() % 8; used > 0 {
		b := t.Bytes()
		b[len(b)-1] &= 1<<used - 1
	}
}
