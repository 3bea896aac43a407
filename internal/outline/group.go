package outline

import (
	"context"
	"fmt"
	"strconv"
)

// Group is nodes of a graph that belong together: a scope of names, blocks that repeat, or one such
// block. No path between two nodes of a group leaves it.
type Group struct {
	Name  string // such as encoder, layer.0, or layer.0..11
	Times int    // the number of items, if they are blocks that are equal but for their numbers
	Items []Item // in an order in which they can run
}

// Item is a group, or the number of a node.
type Item struct {
	Group *Group
	Node  int
}

// Nodes calls f with each node of the group in order.
func (g *Group) Nodes(f func(node int)) {
	for _, it := range g.Items {
		it.Nodes(f)
	}
}

// Nodes calls f with the node, or each node of the group.
func (it Item) Nodes(f func(node int)) {
	if it.Group == nil {
		f(it.Node)
		return
	}
	it.Group.Nodes(f)
}

// Find calls f for each node with the groups around it, the outermost first, without the group
// itself.
func (g *Group) Find(f func(within []*Group, node int)) { g.find(nil, f) }

func (g *Group) find(within []*Group, f func(within []*Group, node int)) {
	for _, it := range g.Items {
		if it.Group == nil {
			f(within, it.Node)
			continue
		}
		it.Group.find(append(within[:len(within):len(within)], it.Group), f)
	}
}

// group sets Root.
func (g *Graph) group(ctx context.Context) error {
	g.scopes()
	f := &folder{ctx: ctx, g: g, at: make([]int, len(g.Nodes)), kinds: map[string]int{}, known: map[Item]int{}}
	items, err := f.fold(g.drawn(), 0)
	g.Root = &Group{Items: items}
	return err
}

// folder is the state of group.
type folder struct {
	ctx   context.Context
	g     *Graph
	at    []int          // by node, its place in the list that is worked on; valid for its nodes alone
	kinds map[string]int // numbers of signatures
	known map[Item]int   // kinds of items
}

// fold returns the items for nodes that share their first depth scopes.
func (f *folder) fold(nodes []int, depth int) ([]Item, error) {
	if err := f.ctx.Err(); err != nil {
		return nil, err
	}
	key := func(node int) string {
		if scope := f.g.Nodes[node].scope; len(scope) > depth {
			return scope[depth]
		}
		return ""
	}
	parts := f.partition(nodes, key)
	seen := map[string]int{}
	items := make([]Item, 0, len(parts))
	for _, p := range parts {
		if p.key == "" || len(p.nodes) == 1 {
			for _, n := range p.nodes {
				items = append(items, Item{Node: n})
			}
			continue
		}
		inner, err := f.fold(p.nodes, depth+1)
		if err != nil {
			return nil, err
		}
		name := p.key
		if seen[name]++; seen[name] > 1 {
			name = fmt.Sprintf("%s (part %d)", name, seen[name])
		}
		items = append(items, Item{Group: groupOf(name, inner)})
	}
	return f.repeats(items), nil
}

// groupOf returns a group of items. A group whose only item is a group takes its place.
func groupOf(name string, items []Item) *Group {
	if len(items) == 1 && items[0].Group != nil {
		only := items[0].Group
		return &Group{Name: name + "/" + only.Name, Times: only.Times, Items: only.Items}
	}
	return &Group{Name: name, Items: items}
}

// kind returns a number that equal items share: items with the same operators, attributes and shapes
// of weights in the same order, and names that differ in numbers alone.
func (f *folder) kind(it Item) int {
	if n, ok := f.known[it]; ok {
		return n
	}
	text := ""
	if it.Group == nil {
		text = f.g.signature(f.g.Nodes[it.Node])
	} else {
		text = strconv.Quote(pattern(it.Group.Name))
		for _, inner := range it.Group.Items {
			text += " " + strconv.Itoa(f.kind(inner))
		}
	}
	n, ok := f.kinds[text]
	if !ok {
		n = len(f.kinds)
		f.kinds[text] = n
	}
	f.known[it] = n
	return n
}
