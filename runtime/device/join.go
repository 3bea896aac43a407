package device

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
)

// Joining returns the binding of a node that computes by operator o what the second node does
// from the operands of the first and, behind them, those of the second but its input 0, which
// the first computes. Name is how plans call the operator, of domain nacre.
func Joining(first, second *Binding, o op.Op, name string) *Binding {
	a, b := first.Node, second.Node
	n := &graph.Node{
		Name: b.Name, Domain: "nacre", Op: name, Version: 1,
		Inputs: slices.Concat(a.Inputs, b.Inputs[1:]), Outputs: b.Outputs,
	}
	d := &Binding{Op: o, Row: &op.Row{Domain: n.Domain, Name: n.Op}, Node: n, In: slices.Concat(first.In, second.In[1:]), Out: second.Out, Bound: second.Bound}
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
