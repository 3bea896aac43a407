package optimize

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// facts keeps the results of inference over the main graph of a model from one edit to the next.
// Inference of the edited graph infers the nodes that are new and the nodes with new facts about
// their inputs. A nil facts keeps nothing.
type facts struct {
	last, now known
}

// known is the results of one inference.
type known struct {
	inputs    map[*graph.Value]*op.Value
	constants map[*tensor.Tensor]*op.Value
	nodes     map[*graph.Node]inferred
}

// inferred is the result of inference of a node.
type inferred struct {
	in, out []*op.Value
	bytes   int // of computed outputs
}

// begin begins an inference.
func (f *facts) begin() {
	if f != nil {
		f.last, f.now = f.now, known{map[*graph.Value]*op.Value{}, map[*tensor.Tensor]*op.Value{}, map[*graph.Node]inferred{}}
	}
}

// end ends an inference. It forgets results of the inference before that did not recur.
func (f *facts) end() {
	if f != nil {
		f.last = known{}
	}
}

// input returns the fact about a graph input: make's, unless the last inference had the input.
func (f *facts) input(v *graph.Value, make func() *op.Value) *op.Value {
	if f == nil {
		return make()
	}
	x := f.last.inputs[v]
	if x == nil {
		x = make()
	}
	f.now.inputs[v] = x
	return x
}

// constant returns the fact about a constant.
func (f *facts) constant(t *tensor.Tensor) *op.Value {
	if f == nil {
		return op.Known(t)
	}
	x := f.last.constants[t]
	if x == nil {
		x = op.Known(t)
	}
	f.now.constants[t] = x
	return x
}

// of returns the last result for a node.
func (f *facts) of(n *graph.Node) (x inferred, met bool) {
	if f == nil {
		return x, false
	}
	x, met = f.last.nodes[n]
	return x, met
}

// note keeps the result for a node.
func (f *facts) note(n *graph.Node, x inferred) {
	if f != nil {
		f.now.nodes[n] = x
	}
}
