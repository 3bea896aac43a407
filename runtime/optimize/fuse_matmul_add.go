package optimize

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// fuseMatMulAdd puts a vector that is added to the rows of a product into the
// product's node.
func fuseMatMulAdd(s *Scope) (*Edit, error) {
	e := newEdit()
	for _, n := range s.Nodes {
		add := s.next(n, "Add")
		if !is(n, "MatMul") || add == nil || e.touches(add) || !s.multiplies(n) {
			continue
		}
		if c := s.rowVector(e, add, n); c != "" {
			e.fuse(&graph.Node{
				Name: n.Name, Domain: nacreDomain, Op: "FusedMatMul", Version: 1,
				Inputs: []string{n.Inputs[0], n.Inputs[1], c}, Outputs: add.Outputs,
			}, n, add)
		}
	}
	return e, nil
}

// nacreDomain is the domain of the operators that only passes write.
const nacreDomain = "nacre"

// isFused reports whether the node is one of those operators, of a domain other than
// ONNX's own, that stand for several nodes.
func isFused(n *graph.Node, domain, op string) bool {
	return n != nil && n.Domain == domain && n.Op == op
}

// floatsFused are the element types of operators that stand for several nodes.
var floatsFused = []tensor.DType{tensor.F32, tensor.F64, tensor.F16, tensor.BF16}

// multiplies reports whether a MatMul is one of floats and matrices, not vectors.
func (s *Scope) multiplies(n *graph.Node) bool {
	a, ok := s.rank(n.Inputs[0])
	b, ok2 := s.rank(n.Inputs[1])
	return ok && ok2 && a >= 2 && b >= 2 && slices.Contains(floatsFused, s.dtype(n.Outputs[0]))
}

// other returns the operand of a node with two that is not that value.
func other(n *graph.Node, name string) string {
	if n.Inputs[0] == name {
		return n.Inputs[1]
	}
	return n.Inputs[0]
}

// rowVector returns the name of the vector that a sum with the output of a product
// adds to each row; none if it adds something else.
func (s *Scope) rowVector(e *Edit, add, product *graph.Node) string {
	name := other(add, product.Outputs[0])
	y := s.value(product.Outputs[0]).Dims
	v := s.value(name)
	if add.Attr("broadcast") != nil || y == nil || v.DType != s.dtype(product.Outputs[0]) {
		return ""
	}
	columns := y[len(y)-1]
	if len(v.Dims) == 1 && v.Dims[0].Same(columns) {
		return name
	}
	n, ok := columns.Value()
	if v.Const == nil || !ok || v.Const.Len() != n {
		return ""
	}
	if _, ok := spread(v.Const, len(y), len(y)-1, n); !ok {
		return ""
	}
	flat, err := v.Const.Reshape(tensor.Shape{n})
	if err != nil {
		return ""
	}
	return e.add(s.fresh(name), flat)
}
