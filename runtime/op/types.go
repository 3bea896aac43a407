package op

import (
	"fmt"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Types is a set of element types.
type Types []tensor.DType

// Has reports whether d is in the set.
func (t Types) Has(d tensor.DType) bool { return t == nil || slices.Contains(t, d) }

// String lists the names.
func (t Types) String() string {
	if t == nil {
		return "any"
	}
	return fmt.Sprint([]tensor.DType(t))
}

// Sets of element types that many rows share.
var (
	Floats   = Types{tensor.F32, tensor.F64, tensor.F16, tensor.BF16}
	Signed   = Types{tensor.I8, tensor.I16, tensor.I32, tensor.I64}
	Unsigned = Types{tensor.U8, tensor.U16, tensor.U32, tensor.U64}
	Integers = slices.Concat(Signed, Unsigned)
	Numeric  = slices.Concat(Floats, Integers)
	Boolean  = Types{tensor.Bool}
)

// ElementType returns the element type that an attribute names, or def if it is missing. A type
// that is not in allowed is an error.
func (n *Node) ElementType(name string, def tensor.DType, allowed Types) (tensor.DType, error) {
	if !n.Has(name) {
		return def, nil
	}
	code := n.Int(name, 0)
	d, ok := tensor.ParseCode(code)
	if !ok {
		return d, graph.Errorf(graph.ErrFormat, "attribute %s is %d, which is no element type; they have codes 1 to %d",
			name, code, len(tensor.DTypes()))
	}
	if !allowed.Has(d) {
		return d, graph.Errorf(graph.ErrUnsupported, "attribute %s asks for elements of type %v; the operator makes %v",
			name, d, allowed)
	}
	return d, nil
}
