package plan

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// counted returns the outputs of a node with extents that an accelerator counts: each output as a
// vector of the most elements that it can have, then the count, which stands for the unknown
// extents. If the node is not an kit.Counter with inputs of known extents, it returns nil.
func (x *inferred) counted() []*op.Value {
	o, ok := x.Op.(kit.Counter)
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

// count adds a node that computes and counts on the accelerator, and a node that copies as many of
// its results as there are. The run then knows their extents.
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
	node := &graph.Node{Name: "download " + n.Label(), Op: "Download", Version: 1, Inputs: make([]string, len(n.Out)),
		Outputs: n.Outputs}
	fetched := inferred{
		Node: &Node{Node: node, Op: fetch{}, Row: &op.Row{Name: node.Op}, In: n.Out, Out: x.Out},
		in:   x.most, out: x.out, dynamic: true, needed: true,
		inLayouts: device.OffloadLayouts(x.most), outLayouts: make([]device.Layout, len(x.out)),
		offloaded: &device.Step{Binder: "count"},
	}
	counting := *x
	counting.Node, counting.out, counting.outLayouts, counting.dynamic = &n, x.most, fetched.inLayouts, false
	a.todo = append(a.todo, counting, fetched)
}

// Extents returns the extents of output k of a step that fetches. count replaces the unknown
// extents.
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

// fetch is the operator of nodes that copy counted results from an accelerator.
type fetch struct{}

// Infer leaves the extents to the run.
func (fetch) Infer(*op.Infer) error { return nil }

// Fetches reports whether the step copies counted results from an accelerator. The count is its
// last input, and it reads the count first.
func (s *Step) Fetches() bool {
	_, ok := s.Op.(fetch)
	return ok
}
