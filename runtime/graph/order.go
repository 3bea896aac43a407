package graph

// Captured returns the names that the node's subgraphs use from surrounding graphs, each once, in
// order of first use.
func (n *Node) Captured() []string {
	var c capture
	for _, a := range n.Attrs {
		c.attr(a, nil)
	}
	return c.names
}

// capture collects the names that graphs use and do not define.
type capture struct {
	names []string
	met   map[string]bool
}

// bound holds the names that a graph defines. outer is the surrounding graph's.
type bound struct {
	names map[string]bool
	outer *bound
}

func (b *bound) has(name string) bool {
	for ; b != nil; b = b.outer {
		if b.names[name] {
			return true
		}
	}
	return false
}

func (c *capture) attr(a *Attr, outer *bound) {
	for _, g := range a.Subgraphs() {
		c.graph(g, outer)
	}
}

func (c *capture) graph(g *Graph, outer *bound) {
	b := &bound{names: make(map[string]bool, len(g.Nodes)+len(g.Inputs)), outer: outer}
	g.defined(func(name string) { b.names[name] = true })
	for _, n := range g.Nodes {
		for _, name := range n.Inputs {
			c.use(name, b)
		}
		for _, a := range n.Attrs {
			c.attr(a, b)
		}
	}
	for _, v := range g.Outputs {
		c.use(v.Name, b)
	}
}

func (c *capture) use(name string, b *bound) {
	if name == "" || c.met[name] || b.has(name) {
		return
	}
	if c.met == nil {
		c.met = map[string]bool{}
	}
	c.met[name] = true
	c.names = append(c.names, name)
}

// defined calls f with every name that the graph itself defines.
func (g *Graph) defined(f func(name string)) {
	for _, v := range g.Inputs {
		f(v.Name)
	}
	for _, t := range g.Initializers {
		f(t.Name)
	}
	for _, t := range g.Sparse {
		f(t.Name)
	}
	for _, n := range g.Nodes {
		for _, name := range n.Outputs {
			f(name)
		}
	}
}

// Live returns the nodes that the graph's outputs need, in Sorted order.
func (g *Graph) Live() []*Node {
	maker := makers(g.Nodes)
	live := make([]bool, len(g.Nodes))
	var stack []int
	visit := func(name string) {
		if i, ok := maker[name]; ok && !live[i] {
			live[i] = true
			stack = append(stack, i)
		}
	}
	for _, o := range g.Outputs {
		visit(o.Name)
	}
	for len(stack) > 0 {
		n := g.Nodes[stack[len(stack)-1]]
		stack = stack[:len(stack)-1]
		for _, name := range n.Inputs {
			visit(name)
		}
		for _, name := range n.Captured() {
			visit(name)
		}
	}
	list := make([]*Node, 0, len(g.Nodes))
	for i, n := range g.Nodes {
		if live[i] {
			list = append(list, n)
		}
	}
	if s := (sorter{nodes: g.Nodes, maker: maker}); !s.unsorted() {
		return list
	}
	return Sorted(list)
}

// Sorted returns the nodes in an order in which each node follows the nodes that compute its inputs
// and the values its subgraphs capture. Otherwise the given order is kept. Nodes on a cycle, for
// which there is no such order, are left to Validate.
func Sorted(nodes []*Node) []*Node {
	s := sorter{nodes: nodes, maker: makers(nodes), state: make([]visit, len(nodes))}
	if !s.unsorted() {
		return nodes
	}
	s.out = make([]*Node, 0, len(nodes))
	for i := range nodes {
		s.from(i)
	}
	return s.out
}

// makers maps every output to the index of the node that computes it, the first of several.
func makers(nodes []*Node) map[string]int {
	m := make(map[string]int, len(nodes))
	for i, n := range nodes {
		for _, name := range n.Outputs {
			if _, twice := m[name]; !twice && name != "" {
				m[name] = i
			}
		}
	}
	return m
}

type visit uint8

const (
	unseen visit = iota
	open
	done
)

// sorter walks depth first, without recursion.
type sorter struct {
	nodes  []*Node
	maker  map[string]int
	state  []visit
	out    []*Node
	cycles []int // nodes that were met again while open
}

// needs returns the nodes that node i must follow.
func (s *sorter) needs(i int) []int {
	list := make([]int, 0, len(s.nodes[i].Inputs))
	for _, names := range [2][]string{s.nodes[i].Inputs, s.nodes[i].Captured()} {
		for _, name := range names {
			if j, ok := s.maker[name]; ok {
				list = append(list, j)
			}
		}
	}
	return list
}

func (s *sorter) unsorted() bool {
	for i, n := range s.nodes {
		for _, names := range [2][]string{n.Inputs, n.Captured()} {
			for _, name := range names {
				if j, ok := s.maker[name]; ok && j >= i {
					return true
				}
			}
		}
	}
	return false
}

// from outputs node i after everything that it needs.
func (s *sorter) from(i int) {
	type frame struct {
		node  int
		needs []int
	}
	if s.state[i] != unseen {
		return
	}
	s.state[i] = open
	stack := []frame{{i, s.needs(i)}}
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if len(top.needs) == 0 {
			s.state[top.node] = done
			s.out = append(s.out, s.nodes[top.node])
			stack = stack[:len(stack)-1]
			continue
		}
		j := top.needs[0]
		top.needs = top.needs[1:]
		switch s.state[j] {
		case unseen:
			s.state[j] = open
			stack = append(stack, frame{j, s.needs(j)})
		case open:
			s.cycles = append(s.cycles, j)
		}
	}
}
