package optimize

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// inlineIf replaces an If with a constant condition by the nodes of the branch that
// it takes.
func inlineIf(s *Scope) (*Edit, error) {
	in := &brancher{Scope: s, edit: newEdit()}
	for _, n := range s.Nodes {
		if body := taken(n, s.constant); body != nil {
			in.edit.Replace[n] = in.expand(n, body, s.constant)
		}
	}
	return in.edit, nil
}

// taken returns the branch that an If takes in every run, or nil. constant returns the value of a
// name in the scope of the node.
func taken(n *graph.Node, constant func(name string) *tensor.Tensor) *graph.Graph {
	if n.Domain != "" || n.Op != "If" || len(n.Inputs) != 1 {
		return nil
	}
	cond := constant(n.Inputs[0])
	if cond == nil || cond.DType() != tensor.Bool || cond.Len() != 1 {
		return nil
	}
	branch := "else_branch"
	if tensor.View[bool](cond)[0] {
		branch = "then_branch"
	}
	a := n.Attr(branch)
	if a == nil || a.Graph == nil || len(a.Graph.Inputs) > 0 || len(a.Graph.Sparse) > 0 ||
		len(a.Graph.Outputs) != len(n.Outputs) {
		return nil
	}
	return a.Graph
}

type brancher struct {
	*Scope
	edit *Edit
}

// expand returns the nodes of a branch with new names, except that outputs get the names of the
// If's outputs.
func (in *brancher) expand(n *graph.Node, body *graph.Graph, constant func(name string) *tensor.Tensor) []*graph.Node {
	defined, weights, to := map[string]bool{}, map[string]*tensor.Tensor{}, map[string]string{}
	define(body, defined, true)
	for name := range defined {
		to[name] = ""
	}
	for _, init := range body.Initializers {
		weights[init.Name] = init.Tensor
		to[init.Name] = in.edit.add(in.fresh(init.Name), init.Tensor)
	}
	var list []*graph.Node
	for i, v := range body.Outputs {
		out := n.Outputs[i]
		if to[v.Name] == "" && defined[v.Name] && out != "" {
			to[v.Name] = out
		} else if out != "" {
			// The branch returns a captured value, or one value twice.
			list = append(list, &graph.Node{Op: "Identity", Version: n.Version, Inputs: []string{v.Name},
				Outputs: []string{out}})
		}
	}
	for _, m := range body.Nodes {
		for _, name := range m.Outputs {
			if name != "" && to[name] == "" {
				to[name] = in.fresh(name)
			}
		}
	}
	within := func(name string) *tensor.Tensor {
		if defined[name] {
			return weights[name]
		}
		return constant(name)
	}
	for _, m := range body.Nodes {
		if inner := taken(m, within); inner != nil {
			list = append(list, in.expand(m, inner, within)...)
		} else {
			list = append(list, m)
		}
	}
	for i, m := range list {
		list[i] = renamed(m, to)
	}
	return list
}
