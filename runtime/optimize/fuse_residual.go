package optimize

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// fuseResidual puts a value of the same shape that is added to a convolution or a
// product into its node.
func fuseResidual(s *Scope) (*Edit, error) {
	e := newEdit()
	for _, n := range s.Nodes {
		add := s.next(n, "Add")
		if add == nil || e.touches(n, add) || add.Attr("broadcast") != nil {
			continue
		}
		by := s.fusible(n)
		y, z := n.Outputs[0], other(add, n.Outputs[0])
		if by == nil || by.Op == "FusedGemm" || len(by.Inputs) > 3 || s.dtype(z) != s.dtype(y) || !s.sameDims(z, y) {
			continue
		}
		for len(by.Inputs) < 3 {
			by.Inputs = append(by.Inputs, "")
		}
		by.Inputs = append(by.Inputs, z)
		by.Outputs = add.Outputs
		e.fuse(by, n, add)
	}
	return e, nil
}

// fusible returns a copy of a convolution or a product of floats as a node that
// takes in what follows it, or nil. It has no activation yet.
func (s *Scope) fusible(n *graph.Node) *graph.Node {
	if !slices.Contains(floatsFused, s.dtype(n.Outputs[0])) {
		return nil
	}
	r := *n
	r.Inputs = slices.Clone(n.Inputs)
	switch {
	case is(n, "Conv"):
		r.Domain, r.Op, r.Version = microsoft, "FusedConv", 1
	case is(n, "Gemm"):
		r.Domain, r.Op, r.Version = microsoft, "FusedGemm", 1
		r.Attrs = without(n.Attrs, "broadcast")
	case is(n, "MatMul") && s.multiplies(n):
		r.Domain, r.Op, r.Version = nacreDomain, "FusedMatMul", 1
	case isFused(n, microsoft, "FusedConv"), isFused(n, microsoft, "FusedGemm"), isFused(n, nacreDomain, "FusedMatMul"):
		if attrs(n).Str("activation", "") != "" {
			return nil
		}
		r.Attrs = without(n.Attrs, "activation")
	default:
		return nil
	}
	return &r
}
