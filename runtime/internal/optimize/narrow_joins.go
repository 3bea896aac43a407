package optimize

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// joins has the caches that nodes Concat extend, with the new rows after the past. A narrow one is
// widened for its readers, and attention reads it without the Cast.
type joins struct {
	by    map[*graph.Node]bool // Concat nodes
	wide  map[string]string    // narrow output to the name of its widened elements
	names *graph.Names
}

func newJoins(g *graph.Graph) joins {
	return joins{by: map[*graph.Node]bool{}, wide: map[string]string{}, names: graph.NamesOf(g)}
}

// find adds a state if a Concat extends it along its axis. Only that node may read the input, and
// the elements of both may be read by nodes of the main graph alone.
func (j *joins) find(g *graph.Graph, s graph.State) bool {
	var by *graph.Node
	for _, node := range g.Nodes {
		if slices.Contains(node.Captured(), s.Input) || slices.Contains(node.Captured(), s.Output) {
			return false
		}
		switch at := slices.Index(node.Inputs, s.Input); {
		case slices.Contains(node.Outputs, s.Output):
			axis := node.Attr("axis")
			if !is(node, "Concat") || at != 0 || len(node.Inputs) != 2 || node.Inputs[1] == s.Input || axis == nil ||
				axis.Int != int64(s.Axis) && axis.Int != int64(s.Axis-cacheRank) {
				return false
			}
			by = node
		case at >= 0 && !is(node, "Shape"):
			return false
		}
	}
	if by == nil {
		return false
	}
	j.by[by] = true
	j.wide[s.Output] = j.names.New(s.Output)
	return true
}

// cacheRank is the number of axes of a cache, [batch,heads,rows,size].
const cacheRank = 4

// nodes returns what replaces a node: a Concat of values of type d with its casts, or a reader of
// widened elements.
func (j *joins) nodes(n *graph.Node, d tensor.DType) []*graph.Node {
	own := *n
	own.Inputs = slices.Clone(n.Inputs)
	switch {
	case j.by[n]:
		out := n.Outputs[0]
		own.Inputs[1] = j.names.New(n.Inputs[1])
		return []*graph.Node{cast(n.Inputs[1], own.Inputs[1], d), &own, cast(out, j.wide[out], tensor.F32)}
	case is(n, "Shape") || !slices.ContainsFunc(n.Inputs, func(name string) bool { return j.wide[name] != "" }):
		return []*graph.Node{n}
	}
	for i, name := range n.Inputs {
		if wide := j.wide[name]; wide != "" {
			own.Inputs[i] = wide
		}
	}
	return []*graph.Node{&own}
}

// cast returns the node that converts a value to type d.
func cast(from, to string, d tensor.DType) *graph.Node {
	return &graph.Node{Op: "Cast", Version: 13, Inputs: []string{from}, Outputs: []string{to},
		Attrs: []*graph.Attr{typeAttr("to", d)}}
}
