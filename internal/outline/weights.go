package outline

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Totals are sums over nodes, and over the nodes of their graphs.
type Totals struct {
	Nodes      int     `json:"nodes"` // without constants
	Parameters int     `json:"parameters"`
	Bytes      int     `json:"weight_bytes"`
	Work       float64 `json:"work"` // multiplications and additions, as in Node
}

// Add adds other totals.
func (t *Totals) Add(o Totals) {
	t.Nodes += o.Nodes
	t.Parameters += o.Parameters
	t.Bytes += o.Bytes
	t.Work += o.Work
}

// Totals returns the sums over a node of graph g. A function counts where it is first called, and
// the work of a graph once.
func (o *Outline) Totals(n *Node) Totals {
	t := Totals{Nodes: 1, Work: n.Work}
	for _, w := range n.Weights {
		t.Parameters += w.Count
		t.Bytes += w.Bytes
	}
	for _, b := range n.Bodies {
		if b.Name != "function" {
			t.Add(o.Sum(o.Graphs[b.Graph]))
		}
	}
	return t
}

// Sum returns the sums over all nodes of a graph.
func (o *Outline) Sum(g *Graph) (t Totals) {
	for _, n := range g.Nodes {
		if n.Constant {
			continue
		}
		t.Add(o.Totals(n))
	}
	return t
}

// weigh gives a node the weights that it takes and no node before: initializers, also of graphs
// around its own, constants that constant nodes have or take, and tensors and lists of floats among its
// attributes.
func (b *builder) weigh(g *Graph, n *Node) {
	if n.Constant {
		return
	}
	for _, name := range n.Inputs {
		b.take(n, g, name)
	}
	for _, a := range n.Attrs {
		b.attribute(n, n.Label()+"."+a.Name, a)
	}
}

// take gives a node the constant of a name.
func (b *builder) take(n *Node, g *Graph, name string) {
	for ; g != nil && name != ""; g = g.outer {
		if i, ok := g.makers[name]; ok {
			b.derive(n, g, name, g.Nodes[i])
			return
		}
		if !g.constants[name] {
			continue
		}
		if v := g.types[name]; v != nil && v.Const != nil {
			b.tensor(n, name, v.Const)
			return
		}
		for _, w := range g.Sparse {
			if w.Name == name {
				b.sparse(n, name, w.Tensor)
			}
		}
		return
	}
}

// derive gives a node the constants that a constant node computes a value from.
func (b *builder) derive(n *Node, g *Graph, name string, constant *Node) {
	if !constant.Constant || b.taken[constant] {
		return
	}
	b.taken[constant] = true
	for _, in := range constant.Inputs {
		b.take(n, g, in)
	}
	for _, a := range constant.Attrs {
		b.attribute(n, name, a)
	}
}

func (b *builder) attribute(n *Node, name string, a *graph.Attr) {
	switch a.Kind {
	case graph.AttrTensor:
		b.tensor(n, name, a.Tensor)
	case graph.AttrTensors:
		for _, t := range a.Tensors {
			b.tensor(n, name, t)
		}
	case graph.AttrSparse:
		b.sparse(n, name, a.Sparse)
	case graph.AttrFloats:
		if !b.taken[a] {
			b.taken[a] = true
			n.Weights = append(n.Weights, &Weight{Name: name, Count: len(a.Floats), Bytes: 4 * len(a.Floats)})
		}
	}
}

func (b *builder) sparse(n *Node, name string, t *graph.SparseTensor) {
	if t != nil {
		b.tensor(n, name, t.Values)
		b.tensor(n, name+" indices", t.Indices)
	}
}

func (b *builder) tensor(n *Node, name string, t *tensor.Tensor) {
	if t != nil && !b.taken[t] {
		b.taken[t] = true
		n.Weights = append(n.Weights, weightOf(name, t))
	}
}

func weightOf(name string, t *tensor.Tensor) *Weight {
	w := &Weight{Name: name, Tensor: t, Bytes: t.Size()}
	for _, s := range t.Strings() {
		w.Bytes += len(s)
	}
	if !slices.Contains([]tensor.DType{tensor.I64, tensor.U64, tensor.Bool, tensor.String}, t.DType()) {
		w.Count = t.Len()
	}
	return w
}
