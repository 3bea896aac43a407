package plan

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/op"
)

// Check reports the first node of a validated model that Compile refuses, and the first value with
// a declared type other than the type that its node computes. Unlike Compile, it also checks nodes
// that no output needs, unless the registry lacks their operator.
//
// Declared extents may differ from the computed extents. Exporters leave stale ones, no plan uses
// them, and ONNX Runtime accepts such files.
//
// The returned model has types for the outputs of graphs in nodes. A node that never runs its graph
// uses them. Passes may learn more, but do not change these types.
func Check(m *graph.Model, registry *op.Registry, dev device.Device) (*graph.Model, error) {
	c := &compiler{Program: &Program{File: m.File, device: dev}, registry: registry, ids: map[string]int{},
		check: &check{unrun: map[*graph.Graph][]*graph.Value{}}}
	if err := c.compile(m.Graph, nil); err != nil {
		return nil, err
	}
	noted := *m
	noted.Graph = c.check.noted(m.Graph)
	return &noted, nil
}

// check is the state of Check for one graph.
type check struct {
	types map[string]graph.Type // types that the file declares for outputs and inner values
	live  map[*graph.Node]bool  // nodes that outputs need

	unrun map[*graph.Graph][]*graph.Value // outputs of the graphs of nodes, shared by all graphs
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

// skips reports whether a node is not checked. No output needs such a node, and the registry lacks
// its operator or an earlier skipped node computes one of its inputs.
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

// declared returns an error if the file declares another type for a value than it has.
func (k *check) declared(name string, has graph.Type) error {
	if t := k.types[name]; !t.SameElements(has) {
		return graph.Errorf(graph.ErrFormat, "%q is declared to be %v, and is %v", name, t, has)
	}
	return nil
}
