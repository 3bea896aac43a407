package quantize

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// overridableIR is the version of ONNX from which an initializer that is also an input is the input's
// default. Before it, it is a constant.
const overridableIR = 4

// withoutDefaults makes constants of the initializers that are inputs, as a later version of ONNX has
// them.
func withoutDefaults(out *graph.Model, g *graph.Graph) {
	constant := map[string]bool{}
	for _, x := range g.Initializers {
		constant[x.Name] = true
	}
	g.Inputs = slices.DeleteFunc(slices.Clone(g.Inputs), func(v *graph.Value) bool { return constant[v.Name] })
	out.IR = overridableIR
}

// overridable returns the names of the weights of a graph's nodes that are inputs too, in their order.
func overridable(g *graph.Graph) (list []string) {
	all := *g
	all.Inputs = nil
	constants := constantsOf(&all)
	for _, v := range g.Inputs {
		for _, n := range g.Nodes {
			if p, ok := productOf(n, constants); ok && p.weight.Name == v.Name && !slices.Contains(list, v.Name) {
				list = append(list, v.Name)
			}
		}
	}
	return list
}

// coding are the operators that read codes in place of weights.
var coding = []string{
	"MatMulNBits", "GatherBlockQuantized", "QLinearMatMul", "QLinearConv", "MatMulInteger", "ConvInteger", "DequantizeLinear", "QGemm",
	"QAttention", "QMoE", "MatMulIntegerToFloat", "DynamicQuantizeMatMul",
}

// noWeights returns the error for a graph without weights to quantise. Open are weights that are inputs
// too.
func (j *job) noWeights(open []string) error {
	coded := map[string]int{}
	for _, n := range j.graph.Nodes {
		if slices.Contains(coding, n.Op) {
			coded[n.Op]++
		}
	}
	file := j.source.File
	switch {
	case len(open) > 0:
		return graph.Errorf(graph.ErrUnsupported, "%s: all weights are inputs too, so that a run may give others: %s; take them out of the "+
			"graph's inputs (remove_initializer_from_input of ONNX Runtime's tools does) and quantise the result", file, named(open))
	case len(coded) > 0:
		var list []string
		for _, op := range slices.Sorted(maps.Keys(coded)) {
			list = append(list, fmt.Sprintf("%d of %s", coded[op], op))
		}
		return graph.Errorf(graph.ErrUnsupported, "%s is quantised already: its nodes read codes (%s), and errors add up; take the original model",
			file, strings.Join(list, ", "))
	}
	return graph.Errorf(graph.ErrUnsupported,
		"%s has no weights: no MatMul, Gemm or Gather with a constant float matrix, and no Conv with constant filters", file)
}

// named lists names, the first few if there are many.
func named(list []string) string {
	const most = 4
	if n := len(list) - most; n > 1 {
		return fmt.Sprintf("%q and %d more", list[:most], n)
	}
	return fmt.Sprintf("%q", list)
}
