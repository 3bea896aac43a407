package graph

import (
	"fmt"

	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TypeKind is the kind of a value: tensor, sequence, map and so on.
type TypeKind uint8

// The kinds of values.
const (
	NoType TypeKind = iota
	TensorType
	SparseType
	SequenceType
	OptionalType
	MapType
	OpaqueType
)

// Type is the type of a value.
type Type struct {
	Kind   TypeKind
	DType  tensor.DType // of a tensor's or sparse tensor's elements; Invalid when unknown
	Dims   Dims         // of a tensor or sparse tensor
	Elem   *Type        // of a sequence, an optional or a map's values
	Key    tensor.DType // of a map
	Domain string       // of an opaque type
	Name   string       // of an opaque type
}

// TensorOf returns the type of dense tensors.
func TensorOf(d tensor.DType, dims Dims) Type {
	return Type{Kind: TensorType, DType: d, Dims: dims}
}

// String formats the type like float32[batch,3] or sequence(float32[...]).
func (t Type) String() string {
	switch t.Kind {
	case TensorType:
		return fmt.Sprintf("%v%v", t.DType, t.Dims)
	case SparseType:
		return fmt.Sprintf("sparse(%v%v)", t.DType, t.Dims)
	case SequenceType:
		return fmt.Sprintf("sequence(%v)", t.elem())
	case OptionalType:
		return fmt.Sprintf("optional(%v)", t.elem())
	case MapType:
		return fmt.Sprintf("map(%v,%v)", t.Key, t.elem())
	case OpaqueType:
		return fmt.Sprintf("opaque(%s.%s)", t.Domain, t.Name)
	}
	return "unknown"
}

func (t Type) elem() Type {
	if t.Elem == nil {
		return Type{}
	}
	return *t.Elem
}

// SameElements reports whether t and o may have the same kind and element type. An unset kind or
// element type fits any.
func (t Type) SameElements(o Type) bool {
	switch {
	case t.Kind == NoType || o.Kind == NoType:
		return true
	case t.Kind != o.Kind:
		return false
	}
	switch t.Kind {
	case TensorType, SparseType:
		return t.DType == o.DType || t.DType == tensor.Invalid || o.DType == tensor.Invalid
	case OpaqueType:
		return t.Domain == o.Domain && t.Name == o.Name
	}
	return t.Key == o.Key && t.elem().SameElements(o.elem())
}
