package op

import (
	"strings"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// ownUse describes operators that runtimes put into graphs for their own use, by domain, or by
// domain and name.
var ownUse = map[string]string{
	"com.microsoft.nchwc":     "computes in blocked layouts of one kind of CPU",
	"com.ms.internal.nhwc":    "computes in the layout of one kind of device",
	"com.microsoft.EPContext": "holds code that was compiled for one kind of device",
	".MemcpyFromHost":         "copies between the memories of one machine",
	".MemcpyToHost":           "copies between the memories of one machine",
}

// unportable says why a node's operator is not in files for other programs, and how to get such a
// file. For other operators it is empty.
func unportable(n *graph.Node) string {
	what := ownUse[n.Domain]
	switch {
	case what != "":
	case n.Domain == "com.microsoft.dml" || n.Domain == "com.microsoft" && strings.HasPrefix(n.Op, "Dml"):
		what = "is part of a graph for DirectML"
	default:
		what = ownUse[key(n.Domain, n.Op)]
	}
	if what == "" {
		return ""
	}
	return what + ": ONNX Runtime put it into a graph that it optimised for itself and saved " +
		"(SessionOptions.optimized_model_filepath). " +
		"Take the original model, or save that again on the CPU with SessionOptions.graph_optimization_level = " +
		"ORT_ENABLE_EXTENDED"
}
