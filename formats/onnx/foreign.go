package onnx

import (
	"maps"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// refuseForeign refuses operators and element types that ONNX does not have, in the network of
// another format. A model of no format may have operators of its own domains, as an ONNX file may.
func refuseForeign(m *graph.Model, refused *container.Refusals) {
	if m.Format == Name {
		return
	}
	operators, types := map[string]bool{}, map[string]bool{}
	foreign(m.Graph, operators, types)
	if m.Format != "" && len(operators) > 0 {
		refused.Add("ONNX has no operators with the meaning of these in the network: %s", listed(operators))
	}
	if len(types) > 0 {
		refused.Add("values of the network have elements of types that ONNX does not have: %s", listed(types))
	}
}

func listed(set map[string]bool) string {
	return strings.Join(slices.Sorted(maps.Keys(set)), ", ")
}

// foreign adds the operators of domains other than the standard's and ONNX Runtime's to operators,
// and the element types that only other formats have to types.
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
