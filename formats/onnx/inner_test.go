package onnx

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	registry "github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestInnerDomains checks that inner lists every domain of the registry that files may not use. The
// reader refuses nodes of these domains in the main graph, in a subgraph and in a function.
func TestInnerDomains(t *testing.T) {
	for _, row := range registry.Registry().Rows() {
		public := row.Domain == "" || strings.HasPrefix(row.Domain, "ai.onnx.") || strings.HasPrefix(row.Domain, "com.microsoft")
		if public == slices.Contains(inner, row.Domain) {
			t.Fatalf("%s.%s: the domain is %v of files, and inner lists %q", row.Domain, row.Name, public, inner)
		}
	}
	b := graph.NewBuilder("network")
	x := b.Input("x", graph.TensorOf(tensor.F32, graph.Dims{}))
	b.Output(b.Node("", "Neg", []string{x}, 1)[0], "y", graph.TensorOf(tensor.F32, graph.Dims{}))
	for _, domain := range inner {
		bad := &graph.Node{Domain: domain, Op: "add", Version: 1, Inputs: []string{"x"}, Outputs: []string{"z"}}
		body := &graph.Graph{Nodes: []*graph.Node{bad}, Outputs: []*graph.Value{{Name: "z"}}}
		for name, add := range map[string]func(m *graph.Model){
			"graph":  func(m *graph.Model) { m.Graph.Nodes = append(m.Graph.Nodes, bad) },
			"within": func(m *graph.Model) { m.Graph.Nodes[0].Attrs = []*graph.Attr{graph.GraphAttr("body", body)} },
			"function": func(m *graph.Model) {
				m.Functions = []*graph.Function{{Domain: "f", Name: "f", Inputs: []string{"x"}, Nodes: []*graph.Node{bad}}}
			},
		} {
			m := b.Model(&graph.Model{Format: Name, IR: 10, Opsets: []graph.Opset{{Version: 20}, {Domain: "f", Version: 1}}})
			g, n := *m.Graph, *m.Graph.Nodes[0]
			m.Graph, g.Nodes = &g, []*graph.Node{&n}
			add(m)
			var file bytes.Buffer
			if err := Write(&file, m); err != nil {
				t.Fatal(err)
			}
			if _, err := Read(nil, "file", file.Bytes()); !errors.Is(err, graph.ErrUnsupported) || !strings.Contains(err.Error(), domain) {
				t.Errorf("%s in a %s: %v", domain, name, err)
			}
		}
	}
}
