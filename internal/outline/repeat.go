package outline

import (
	"fmt"
	"strings"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// longestBlock is the most items of a block that repeats.
const longestBlock = 256

// repeats replaces blocks of items that follow each other and are equal by groups.
func (f *folder) repeats(items []Item) []Item {
	kinds := make([]int, len(items))
	for i, it := range items {
		kinds[i] = f.kind(it)
	}
	cuts := f.cuts(items)
	var out []Item
	for i := 0; i < len(items); {
		at, size, times := best(items, kinds, cuts, i)
		if times == 0 {
			out = append(out, items[i])
			i++
			continue
		}
		out = append(out, items[i:at]...)
		out = append(out, Item{Group: f.repeat(items[at:at+size*times], size)})
		i = at + size*times
	}
	return out
}

// best returns where the most items from i on repeat: the place of the first block, the items of a
// block and the number of blocks, 0 if nothing repeats there. Of the places at which a block may
// begin, it takes the one with the fewest values between blocks.
func best(items []Item, kinds, cuts []int, i int) (at, size, times int) {
	for p := 1; p <= min(longestBlock, (len(items)-i)/2); p++ {
		n := p
		for i+n < len(items) && kinds[i+n] == kinds[i+n-p] {
			n++
		}
		if n/p*p <= size*times || !worth(items[i:], p, n/p) {
			continue
		}
		at, size, times = i, p, n/p
		for o := i + 1; o < i+p && (i+n-o)/p >= max(2, n/p-1) && (n/p > 2 || n%p >= o-i); o++ {
			if cuts[o+p] < cuts[at+p] {
				at, times = o, (i+n-o)/p
			}
		}
	}
	return at, size, times
}

// worth reports whether blocks like the first of items, so many times, are shown as one: a group
// whose number counts up from two times on, other blocks if they are several nodes.
func worth(items []Item, size, times int) bool {
	if times < 2 {
		return false
	}
	block := items[:size]
	if size == 1 {
		if block[0].Group == nil {
			return false
		}
		for k := range times {
			if _, ok := span(block[0].Group.Name, items[k].Group.Name, k); !ok && k > 0 {
				return false
			}
		}
	}
	nodes := 0
	for _, it := range block {
		it.Nodes(func(int) { nodes++ })
	}
	return len(block) == 1 || times > 2 && nodes > 2 || nodes > 7
}

// repeat returns a group of blocks of so many items. Blocks have the names of their largest groups,
// if these count up.
func (f *folder) repeat(items []Item, size int) *Group {
	g := &Group{Times: len(items) / size}
	main, most := 0, 0
	for k, it := range items[:size] {
		nodes := 0
		it.Nodes(func(int) { nodes++ })
		if it.Group != nil && nodes > most {
			main, most = k, nodes
		}
	}
	ok := false
	if most > 0 {
		g.Name, ok = span(items[main].Group.Name, items[len(items)-size+main].Group.Name, g.Times-1)
	}
	if !ok {
		g.Name = fmt.Sprintf("block 0..%d", g.Times-1)
	}
	for k := range g.Times {
		block := items[k*size : (k+1)*size]
		if size > 1 {
			name := fmt.Sprintf("block %d", k)
			if ok {
				name = block[main].Group.Name
			}
			block = []Item{{Group: &Group{Name: name, Items: f.repeats(block)}}}
		}
		g.Items = append(g.Items, block...)
	}
	return g
}

// cuts returns, for each place between items, the number of values that are made before it and used
// from there on.
func (f *folder) cuts(items []Item) []int {
	const none = -1
	at := map[int]int{}
	for i, it := range items {
		it.Nodes(func(n int) { at[n] = i })
	}
	change := make([]int, len(items)+2)
	for i, it := range items {
		it.Nodes(func(n int) {
			for _, name := range f.g.Nodes[n].Outputs {
				last := none
				for _, user := range f.g.users[name] {
					if k, ok := at[user]; ok {
						last = max(last, k)
					}
				}
				if last > i {
					change[i+1]++
					change[last+1]--
				}
			}
		})
	}
	for i := 1; i < len(change); i++ {
		change[i] += change[i-1]
	}
	return change
}

// signature returns text that equal nodes share: the operator, its attributes, the types of constant
// operands, and the operands that are left out.
func (g *Graph) signature(n *Node) string {
	var b strings.Builder
	b.WriteString(n.OpName())
	for _, a := range n.Attrs {
		fmt.Fprintf(&b, ";%q:", a.Name)
		switch a.Kind {
		case graph.AttrFloat:
			fmt.Fprint(&b, a.Float)
		case graph.AttrInt:
			fmt.Fprint(&b, a.Int)
		case graph.AttrString:
			fmt.Fprintf(&b, "%q", a.Str)
		case graph.AttrInts:
			fmt.Fprint(&b, a.Ints)
		case graph.AttrTensor:
			b.WriteString(graph.TensorOf(a.Tensor.DType(), graph.DimsOf(a.Tensor.Shape())).String())
		default:
			b.WriteString(a.Kind.String())
		}
	}
	for _, name := range n.Inputs {
		switch v := g.Type(name); {
		case name == "":
			b.WriteString(";-")
		case v != nil && g.IsConstant(name):
			b.WriteString(";" + v.Type.String())
		default:
			b.WriteString(";x")
		}
	}
	fmt.Fprintf(&b, ";%d", len(n.Outputs))
	return b.String()
}
