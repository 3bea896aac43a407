package plan

import (
	"github.com/nacre-ml/nacre/runtime/device"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// counted returns what an accelerator makes of a node whose extents it counts: each output
// as a vector of the most elements that it can have, and behind them the number that stands
// for the unknown extents. It is nil for a node that is not an op.Counter on inputs of known
// extents.
func (x *inferred) counted() []*op.Value {
	o, ok := x.Op.(op.Counter)
	if !ok {
		return nil
	}
	shapes := make([]tensor.Shape, len(x.in))
	for i, v := range x.in {
		if v == nil {
			continue
		}
		if shapes[i], ok = v.Dims.Concrete(); !ok {
			return nil
		}
	}
	most := o.Most(shapes)
	list := make([]*op.Value, len(x.out), len(x.out)+1)
	for i, v := range x.out {
		if v == nil {
			continue
		}
		if v.Dims == nil {
			return nil
		}
		shape := make(tensor.Shape, len(v.Dims))
		for k, d := range v.Dims {
			if shape[k], ok = d.Value(); !ok {
				shape[k] = most
			}
		}
		if shape.Check() != nil {
			return nil
		}
		list[i] = &op.Value{Type: graph.TensorOf(v.DType, graph.Dims{graph.Known(shape.Len())})}
	}
	return append(list, &op.Value{Type: graph.TensorOf(tensor.I32, graph.Dims{graph.Known(1)})})
}

// count adds a node that an accelerator counts, and one that brings as much of its results as
// there is: a run then has their extents.
func (a *assignment) count(x *inferred) {
	n := *x.Node
	n.Out = make([]int, len(x.most))
	for k, v := range x.most {
		switch {
		case v == nil:
			n.Out[k] = -1
		case k < len(x.Out):
			n.Out[k] = a.extra(v.Type, a.Name(x.Out[k])+" ("+a.other.String()+", the most)")
		default:
			n.Out[k] = a.extra(v.Type, "the count of "+n.Label())
		}
	}
	node := &graph.Node{Name: "download " + n.Label(), Op: "Download", Version: 1, Inputs: make([]string, len(n.Out)), Outputs: n.Outputs}
	fetched := inferred{
		Node: &Node{Node: node, Op: fetch{}, Row: &op.Row{Name: node.Op}, In: n.Out, Out: x.Out},
		in:   x.most, out: x.out, dynamic: true, needed: true,
		inLayouts: device.OffloadLayouts(x.most), outLayouts: make([]device.Layout, len(x.out)), offloaded: &device.Step{Binder: "count"},
	}
	counting := *x
	counting.Node, counting.out, counting.outLayouts, counting.dynamic = &n, x.most, fetched.inLayouts, false
	a.todo = append(a.todo, counting, fetched)
}

// Extents returns the extents of output k of a step that fetches, where count stands for what
// was counted.
func (pl *Plan) Extents(s *Step, k, count int) tensor.Shape {
	dims := pl.Slots[s.Out[k]].Type.Dims
	shape := make(tensor.Shape, len(dims))
	for i, d := range dims {
		var ok bool
		if shape[i], ok = d.Value(); !ok {
			shape[i] = count
		}
	}
	return shape
}

// fetch is the operator of the nodes that bring what an accelerator counted.
type fetch struct{}

// Infer leaves the extents to a run.
func (fetch) Infer(*op.Infer) error { return nil }

// Fetches reports whether the step brings what an accelerator counted: the number is its last
// input, which it reads first.
func (s *Step) Fetches() bool {
	_, ok := s.Op.(fetch)
	return ok
}
