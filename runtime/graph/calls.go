package graph

// FunctionID identifies a function, and the callee of a node.
type FunctionID struct{ Domain, Name, Overload string }

// ID returns the identity of the function.
func (f *Function) ID() FunctionID { return FunctionID{f.Domain, f.Name, f.Overload} }

// Callee returns the identity of the function that the node calls, if there is such a function.
func (n *Node) Callee() FunctionID { return FunctionID{n.Domain, n.Op, n.Overload} }

// calls reports functions that are defined twice, functions that call themselves, directly or not,
// and chains of calls that are too long.
func (c *checker) calls(functions []*Function) {
	index := make(map[FunctionID]int, len(functions))
	for i, f := range functions {
		if _, twice := index[f.ID()]; twice {
			c.report(nil, "function %q of domain %q is defined more than once", f.Name, f.Domain)
			continue
		}
		index[f.ID()] = i
	}
	w := callWalk{callees: make([][]int, len(functions)), state: make([]visit, len(functions)),
		height: make([]int, len(functions))}
	for i, f := range functions {
		w.callees[i] = callees(f.Nodes, index, nil, 0)
	}
	for i, f := range functions {
		if w.from(i) {
			c.report(nil, "function %q of domain %q calls itself", f.Name, f.Domain)
			return
		}
		if w.height[i] > maxCalls {
			c.report(nil, "function %q of domain %q starts a chain of more than %d calls", f.Name, f.Domain, maxCalls)
			return
		}
	}
}

// callees appends the functions called by nodes and their subgraphs.
func callees(nodes []*Node, index map[FunctionID]int, list []int, depth int) []int {
	if depth > maxNesting {
		return list
	}
	for _, n := range nodes {
		if i, ok := index[n.Callee()]; ok {
			list = append(list, i)
		}
		for _, a := range n.Attrs {
			for _, g := range a.Subgraphs() {
				list = callees(g.Nodes, index, list, depth+1)
			}
		}
	}
	return list
}

// callWalk walks calls depth first, without recursion.
type callWalk struct {
	callees [][]int
	state   []visit
	height  []int // by function, the calls of its longest chain
}

// from walks everything that function i calls. It reports whether there is a cycle.
func (w *callWalk) from(i int) bool {
	if w.state[i] != unseen {
		return false
	}
	w.state[i] = open
	next := map[int]int{} // how many callees of an open function have been walked
	for stack := []int{i}; len(stack) > 0; {
		f := stack[len(stack)-1]
		if next[f] == len(w.callees[f]) {
			w.state[f] = done
			for _, g := range w.callees[f] {
				w.height[f] = max(w.height[f], w.height[g]+1)
			}
			stack = stack[:len(stack)-1]
			continue
		}
		g := w.callees[f][next[f]]
		next[f]++
		switch w.state[g] {
		case open:
			return true
		case unseen:
			w.state[g] = open
			stack = append(stack, g)
		}
	}
	return false
}
