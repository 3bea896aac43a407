package device

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
)

// Joining returns the binding of a node that computes both nodes by operator o. Its inputs are
// those of the first node, then those of the second without input 0, the result of the first. Plans
// print name as its operator, in domain nacre.
func Joining(first, second *Binding, o op.Op, name string) *Binding {
	a, b := first.Node, second.Node
	n := &graph.Node{
		Name: b.Name, Domain: "nacre", Op: name, Version: 1,
		Inputs: slices.Concat(a.Inputs, b.Inputs[1:]), Outputs: b.Outputs,
	}
	d := &Binding{Op: o, Row: &op.Row{Domain: n.Domain, Name: n.Op}, Node: n, In: slices.Concat(first.In, second.In[1:]),
		Out: second.Out, Bound: second.Bound}
	for i := range first.In {
		d.InLayouts = append(d.InLayouts, first.InLayout(i))
	}
	for i := range second.In[1:] {
		d.InLayouts = append(d.InLayouts, second.InLayout(i+1))
	}
	for i := range second.Out {
		d.OutLayouts = append(d.OutLayouts, second.OutLayout(i))
	}
	return d
}
