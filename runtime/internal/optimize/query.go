package optimize

import (
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Domains of operators beside the ONNX domain. Operators of nacreDomain appear in rewritten graphs
// only.
const (
	microsoft   = "com.microsoft"
	nacreDomain = "nacre"
)

// Operators of these domains that passes write and match.
const (
	fusedConv  = microsoft + ".FusedConv"
	fusedGemm  = microsoft + ".FusedGemm"
	matMulBias = nacreDomain + ".MatMulBias"
)

// is reports whether n applies one of the operators, named "Op" in the standard domain and
// "domain.Op" elsewhere. If n is nil, it reports false.
func is(n *graph.Node, ops ...string) bool {
	return n != nil && slices.ContainsFunc(ops, func(name string) bool {
		if n.Domain == "" {
			return name == n.Op
		}
		rest, ok := strings.CutPrefix(name, n.Domain)
		return ok && rest == "."+n.Op
	})
}

// row returns the row of a node that binds to an operator.
func (s *Scope) row(n *graph.Node) *op.Row {
	row, _, _ := s.Registry.Find(n)
	return row
}

// attrs returns typed access to the attributes of a node.
func attrs(n *graph.Node) *op.Node { return &op.Node{Node: n} }

// intOr returns an integer attribute. If the node lacks it, it returns def.
func intOr(n *graph.Node, name string, def int64) int64 {
	if a := n.Attr(name); a != nil {
		return a.Int
	}
	return def
}

// floatOr returns a float attribute. If the node lacks it, it returns def.
func floatOr(n *graph.Node, name string, def float32) float64 {
	if a := n.Attr(name); a != nil {
		def = a.Float
	}
	return float64(def)
}

// without returns the attributes without the attributes of the given name.
func without(list []*graph.Attr, name string) []*graph.Attr {
	return slices.DeleteFunc(slices.Clone(list), func(a *graph.Attr) bool { return a.Name == name })
}

// value returns the known facts about a value of this graph or of an enclosing graph. The result is
// never nil. If the type is unknown, its kind is graph.NoType.
func (s *Scope) value(name string) *op.Value {
	for ; s != nil; s = s.outer {
		if s.known == nil {
			s.infer()
		}
		if v, ok := s.known[name]; v != nil {
			return v
		} else if ok {
			break
		}
	}
	return &op.Value{}
}

// constant returns a value that is equal in every run, or nil. The tensor holds all elements, but
// may be unaligned.
func (s *Scope) constant(name string) *tensor.Tensor { return s.value(name).Const }

// scalar returns the number in a constant of one element.
func (s *Scope) scalar(name string) (c float64, ok bool) {
	t := s.constant(name)
	if t == nil || t.Len() != 1 {
		return 0, false
	}
	list, ok := kit.Numbers(t)
	if !ok {
		return 0, false
	}
	return list[0], true
}

// dims returns the extents of a value; nil if the rank is unknown.
func (s *Scope) dims(name string) graph.Dims { return s.value(name).Dims }

// rank returns the number of axes of a value, if it is known.
func (s *Scope) rank(name string) (int, bool) { return s.value(name).Rank() }

// dtype returns the element type of a value; Invalid if it is unknown.
func (s *Scope) dtype(name string) tensor.DType { return s.value(name).DType }

// sameDims reports whether two values are known to have equal extents.
func (s *Scope) sameDims(a, b string) bool {
	x, y := s.dims(a), s.dims(b)
	return x != nil && y != nil && slices.EqualFunc(x, y, graph.Dim.Same)
}

// ints returns a list of integers that older versions of an operator take as an attribute and newer
// ones as input i. If the node omits it, the list is nil. If it is not constant, or has more than
// op.MaxInts elements, ok is false.
func (s *Scope) ints(n *graph.Node, attr string, i int) (list []int, ok bool) {
	if a := n.Attr(attr); a != nil {
		return attrs(n).Ints(attr), a.Kind == graph.AttrInts
	}
	if i >= len(n.Inputs) || n.Inputs[i] == "" {
		return nil, true
	}
	t := s.constant(n.Inputs[i])
	if t == nil || t.Len() > op.MaxInts {
		return nil, false
	}
	list, err := op.Ints(t)
	return list, err == nil
}

// onLastAxis reports whether the axis attribute of a node denotes the last axis of
// a value.
func (s *Scope) onLastAxis(n *graph.Node, of string) bool {
	axis := intOr(n, "axis", 0)
	rank, ok := s.rank(of)
	return axis == -1 || ok && axis == int64(rank-1)
}

// floats are the element types of fused operators.
var floats = []tensor.DType{tensor.F32, tensor.F64, tensor.F16, tensor.BF16}

// narrowFloats are the element types of operators that compute in float32.
var narrowFloats = []tensor.DType{tensor.F32, tensor.F16, tensor.BF16}

// ofType reports whether the element type of a value is one of the types.
func (s *Scope) ofType(name string, types []tensor.DType) bool {
	return slices.Contains(types, s.dtype(name))
}
