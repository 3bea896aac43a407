package plan

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/device"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
)

// Check reports the first node of a validated model that Compile refuses, and the first value
// whose declared type is not the type that its node computes. Unlike Compile it looks at nodes
// that no output needs too, unless their operator is not there.
//
// Declared extents may differ from the computed extents: exporters leave stale ones, which no
// plan uses, and ONNX Runtime takes such files.
//
// In the model that it returns, outputs of the graphs of nodes have types for nodes that never
// run the graphs. Passes, which may find out more, do not change these.
func Check(m *graph.Model, registry *op.Registry, dev device.Device) (*graph.Model, error) {
	c := &compiler{Program: &Program{File: m.File, device: dev}, registry: registry, ids: map[string]int{}, check: &check{unrun: map[*graph.Graph][]*graph.Value{}}}
	if err := c.compile(m.Graph, nil); err != nil {
		return nil, err
	}
	noted := *m
	noted.Graph = c.check.noted(m.Graph)
	return &noted, nil
}

// check is what Check knows of one graph.
type check struct {
	types map[string]graph.Type // that the file declares of outputs and of values of nodes
	live  map[*graph.Node]bool  // that outputs need

	unrun map[*graph.Graph][]*graph.Value // outputs of the graphs of nodes, of all graphs
}

// begin returns all nodes of the graph in an order in which they can be bound.
func (k *check) begin(g *graph.Graph, live []*graph.Node) []*graph.Node {
	k.types = make(map[string]graph.Type, len(g.Values)+len(g.Outputs))
	for _, v := range slices.Concat(g.Values, g.Outputs) {
		k.types[v.Name] = v.Type
	}
	k.live = make(map[*graph.Node]bool, len(live))
	for _, n := range live {
		k.live[n] = true
	}
	return graph.Sorted(g.Nodes)
}

// skips reports whether a node is not checked: no output needs it, and its operator is not
// there, or a node before it that was skipped computes one of its inputs.
func (k *check) skips(c *compiler, n *graph.Node) bool {
	if k.live[n] {
		return false
	}
	if _, _, err := c.registry.Find(n); err != nil {
		return true
	}
	return slices.ContainsFunc(slices.Concat(n.Inputs, n.Captured()), func(name string) bool {
		_, ok := c.lookup(name)
		return !ok && name != ""
	})
}

// declared compares the type that the file declares of a value with its type.
func (k *check) declared(name string, has graph.Type) error {
	if t := k.types[name]; !t.SameElements(has) {
		return graph.Errorf(graph.ErrFormat, "%q is declared to be %v, and is %v", name, t, has)
	}
	return nil
}
