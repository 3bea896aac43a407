package onnx

import (
	"maps"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// refuseForeign refuses the operators and element types of another format's network that
// ONNX does not have.
func refuseForeign(m *graph.Model, refused *container.Refusals) {
	if m.Format == Name {
		return
	}
	operators, types := map[string]bool{}, map[string]bool{}
	foreign(m.Graph, operators, types)
	if len(operators) > 0 {
		refused.Add("ONNX has no operators that mean what these of the network do: %s", listed(operators))
	}
	if len(types) > 0 {
		refused.Add("values of the network have elements of types that ONNX does not have: %s", listed(types))
	}
}

func listed(set map[string]bool) string {
	return strings.Join(slices.Sorted(maps.Keys(set)), ", ")
}

// foreign notes the operators of domains that are neither the standard's nor ONNX Runtime's,
// and the element types that only other formats have.
func foreign(g *graph.Graph, operators, types map[string]bool) {
	note := func(d tensor.DType) {
		if d.Valid() && !slices.Contains(tensor.DTypes(), d) {
			types[d.String()] = true
		}
	}
	for _, v := range slices.Concat(g.Inputs, g.Outputs) {
		note(v.Type.DType)
	}
	for _, n := range g.Nodes {
		if n.Domain != "" && !strings.HasPrefix(n.Domain, "ai.onnx") && n.Domain != "com.microsoft" {
			operators[n.Domain+"."+n.Op] = true
		}
		for _, a := range n.Attrs {
			if a.Tensor != nil {
				note(a.Tensor.DType())
			}
			for _, body := range a.Subgraphs() {
				foreign(body, operators, types)
			}
		}
	}
}
