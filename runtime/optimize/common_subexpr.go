package optimize

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// commonBytes bounds the size of constants that are compared. Comparing weights
// would read them from the file, and equal weights are rare.
const commonBytes = 1 << 12

// commonSubexpr merges nodes that apply the same operator to the same values, and
// equal constants.
func commonSubexpr(s *Scope) (*Edit, error) {
	e := newEdit()
	s.commonConstants(e)
	first := map[string]*graph.Node{}
	for _, n := range s.Nodes {
		key, ok := s.expression(n, e)
		if !ok {
			continue
		}
		m := first[key]
		if m == nil {
			first[key] = n
			continue
		}
		e.share(s, n, m)
	}
	return e, nil
}

// share removes node n and renames its outputs to those of m, which computes the
// same. It does nothing if an output of n must keep its name, or if a subgraph
// redefines the name of an output of m.
func (e *Edit) share(s *Scope, n, m *graph.Node) {
	if len(n.Outputs) == 1 {
		e.bypass(s, n, m.Outputs[0])
		return
	}
	for i, name := range n.Outputs {
		if s.isOutput(e.name(name)) || s.inner[e.name(m.Outputs[i])] {
			return
		}
	}
	e.Replace[n] = nil
	for i, name := range n.Outputs {
		if name != "" {
			e.Rename[name] = e.name(m.Outputs[i])
		}
	}
}

// commonConstants renames each small constant to the first equal one.
func (s *Scope) commonConstants(e *Edit) {
	seed := maphash.MakeSeed()
	first := map[uint64][]*graph.Initializer{}
	inputs := map[string]bool{}
	for _, v := range s.Graph.Inputs {
		inputs[v.Name] = true
	}
	for _, init := range s.Graph.Initializers {
		t := init.Tensor
		if t.Size() > commonBytes || t.Strings() != nil || inputs[init.Name] {
			continue
		}
		h := maphash.Bytes(seed, t.Bytes())
		i := slices.IndexFunc(first[h], func(other *graph.Initializer) bool { return equalTensors(t, other.Tensor) })
		switch {
		case i < 0:
			first[h] = append(first[h], init)
		case !s.isOutput(init.Name) && !s.inner[first[h][i].Name]:
			e.Rename[init.Name] = first[h][i].Name
			e.Drop[init.Name] = true
		}
	}
}

func equalTensors(a, b *tensor.Tensor) bool {
	return a.DType() == b.DType() && a.Shape().Equal(b.Shape()) && slices.Equal(a.Strings(), b.Strings()) && bytes.Equal(a.Bytes(), b.Bytes())
}

// expression returns a text that is equal for nodes that compute the same; ok is
// false if the node must not be shared.
func (s *Scope) expression(n *graph.Node, e *Edit) (key string, ok bool) {
	row, _, err := s.Registry.Find(n)
	if err != nil || row.Impure || len(subgraphs(n)) > 0 {
		return "", false
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%q.%q:%q-%d", n.Domain, n.Op, n.Overload, n.Version)
	for _, name := range n.Inputs {
		fmt.Fprintf(&b, " %q", e.name(name))
	}
	for _, name := range n.Outputs {
		fmt.Fprint(&b, " ", name != "")
	}
	list := slices.Clone(n.Attrs)
	slices.SortFunc(list, func(x, y *graph.Attr) int { return strings.Compare(x.Name, y.Name) })
	for _, a := range list {
		text, ok := constantText(a)
		if !ok {
			return "", false
		}
		fmt.Fprintf(&b, " %q=%d%s", a.Name, a.Kind, text)
	}
	return b.String(), true
}

// constantText returns a text that differs between values of an attribute; ok is
// false if its kind has none.
func constantText(a *graph.Attr) (text string, ok bool) {
	switch a.Kind {
	case graph.AttrFloat:
		return fmt.Sprintf("%b", a.Float), true
	case graph.AttrInt:
		return fmt.Sprint(a.Int), true
	case graph.AttrString:
		return fmt.Sprintf("%q", a.Str), true
	case graph.AttrFloats:
		return fmt.Sprintf("%b", a.Floats), true
	case graph.AttrInts:
		return fmt.Sprint(a.Ints), true
	case graph.AttrStrings:
		return fmt.Sprintf("%q", a.Strs), true
	}
	return "", false
}
