package onnx

import (
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestForeign refuses networks of another format with operators that ONNX does not have.
func TestForeign(t *testing.T) {
	b := graph.NewBuilder("network")
	x := b.Input("x", graph.TensorOf(tensor.I1, graph.Dims{}))
	cond := b.Input("cond", graph.TensorOf(tensor.Bool, graph.Dims{}))
	body := b.Body("body")
	body.Output(body.Node("other", "inner", []string{x}, 1)[0], "z", graph.TensorOf(tensor.F32, graph.Dims{}))
	y := b.Node("", "If", []string{cond}, 1, graph.GraphAttr("then_branch", body.Graph()), graph.GraphAttr("else_branch", body.Graph()))[0]
	y = b.Node("other", "outer", []string{y}, 1)[0]
	b.Output(b.Node("com.microsoft", "Gelu", []string{y}, 1)[0], "y", graph.TensorOf(tensor.F32, graph.Dims{}))
	m := b.Model(&graph.Model{Format: "other"})
	_, err := Target(m, container.Options{})
	for _, want := range []string{"other.inner, other.outer", "int1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	m.Format = ""
	if _, err := Target(m, container.Options{}); err == nil || strings.Contains(err.Error(), "other") ||
		!strings.Contains(err.Error(), "int1") {
		t.Errorf("a network of no format: %v, want only int1 refused", err)
	}
	m.Format = Name
	if _, err := Target(m, container.Options{}); err != nil {
		t.Errorf("a network of an ONNX file: %v", err)
	}
	m.Format = "other"
	if _, err := Target(m, container.Options{DropGraph: true}); err != nil {
		t.Errorf("without its graph: %v", err)
	}
}
