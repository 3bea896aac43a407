package array

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
)

// sameDerivative is the rule of Identity.
func sameDerivative(_ op.Derivation, _ *graph.Node, dy string, _ int) (string, error) { return dy, nil }

// viewDerivative is the rule of operators that only change the shape.
var viewDerivative = kit.OfFirst(func(d op.Derivation, dy, x, _ string) string { return kit.ReshapeTo(d, dy, x) })

var expandDerivative = kit.OfFirst(func(d op.Derivation, dy, x, _ string) string { return kit.SumTo(d, dy, x) })

func transposeDerivative(d op.Derivation, n *graph.Node, dy string, _ int) (string, error) {
	perm := n.Attr("perm")
	if perm == nil {
		return d.Add("Transpose", []string{dy}), nil
	}
	back := &graph.Attr{Name: "perm", Kind: graph.AttrInts, Ints: make([]int64, len(perm.Ints))}
	for i, p := range perm.Ints {
		if p < 0 || p >= int64(len(back.Ints)) {
			return "", graph.Errorf(graph.ErrFormat, "node %q has the perm %v", n.Label(), perm.Ints)
		}
		back.Ints[p] = int64(i)
	}
	return d.Add("Transpose", []string{dy}, back), nil
}
