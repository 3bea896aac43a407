package optimize

import (
	"fmt"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// foldGrowth bounds the bytes of a folded result beyond those of its inputs: a
// constant that expands is cheaper to compute than to keep.
const foldGrowth = 1 << 20

// foldConst computes nodes whose inputs are all constants.
func foldConst(m *graph.Model, c Context) (*Edit, error) {
	consts := map[string]*tensor.Tensor{}
	for _, init := range m.Graph.Initializers {
		consts[init.Name] = init.Tensor
	}
	e := &Edit{Replace: map[*graph.Node][]*graph.Node{}}
	for _, n := range m.Graph.Nodes {
		out, err := fold(n, consts, c)
		if err != nil {
			return nil, fmt.Errorf("node %q (%s): %w", n.Label(), n.OpName(), err)
		}
		if out == nil {
			continue
		}
		e.Replace[n] = nil
		for i, name := range n.Outputs {
			if name != "" {
				consts[name] = out[i]
				e.Add = append(e.Add, &graph.Initializer{Name: name, Tensor: out[i]})
			}
		}
	}
	return e, nil
}

// fold returns the outputs of a node, or nil if it is not to be folded. Nodes
// that cannot be bound are left for the planner, which reports them with all
// that is known there.
func fold(n *graph.Node, consts map[string]*tensor.Tensor, c Context) ([]*tensor.Tensor, error) {
	in := make([]*tensor.Tensor, len(n.Inputs))
	bytes := 0
	for i, name := range n.Inputs {
		if name == "" {
			continue
		}
		if in[i] = consts[name]; in[i] == nil {
			return nil, nil
		}
		bytes += len(in[i].Bytes())
	}
	o, row, err := c.Registry.New(n)
	if err != nil || row.Makes || row.Impure {
		return nil, nil
	}
	values := op.Values(in)
	if row.CheckTypes(values) != nil {
		return nil, nil
	}
	inferred, err := op.InferOutputs(o, n, values)
	if err != nil {
		return nil, nil
	}
	for i, v := range inferred {
		shape, ok := v.Dims.Concrete()
		if n.Outputs[i] != "" && (!ok || v.DType.Bytes(shape.Len()) > bytes+foldGrowth) {
			return nil, nil
		}
	}
	return op.Eval(c.Registry, n, c.ISA, nil, in)
}
