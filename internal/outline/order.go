package outline

import (
	"container/heap"
	"slices"
)

// part is nodes of a level that become one item, in an order in which they can run.
type part struct {
	key   string // empty for one node on its own
	nodes []int
}

// mostPieces is the number of pieces up to which groups that had to be cut are joined again.
const mostPieces = 600

// partition splits nodes by key into parts, in an order in which the parts can run. Nodes without a
// key are parts of their own. If a path leaves a group and comes back, the group is cut.
func (f *folder) partition(nodes []int, key func(node int) string) []part {
	for k, n := range nodes {
		f.at[n] = k
	}
	p := &partition{f: f, nodes: nodes, of: make([]int, len(nodes)), keys: make([]string, len(nodes))}
	for k, n := range nodes {
		p.keys[k] = key(n)
	}
	p.number()
	if p.take() {
		p.number()
	}
	p.cut()
	return p.parts()
}

// partition is nodes with the numbers of their parts.
type partition struct {
	f     *folder
	nodes []int
	of    []int // by place in nodes
	keys  []string
	count int
}

// number gives the nodes of a key a part, and each node without one its own.
func (p *partition) number() {
	numbers := map[string]int{}
	p.count = 0
	for k, name := range p.keys {
		number, ok := numbers[name]
		if !ok || name == "" {
			number = p.count
			p.count++
			numbers[name] = number
		}
		p.of[k] = number
	}
}

// take gives nodes without a key on ways that leave a group and come back the key of the group. It
// reports whether there are any.
func (p *partition) take() bool {
	const several = "\x00"
	circle := circles(p.edges())
	above, below := make([]string, len(p.nodes)), make([]string, len(p.nodes))
	merge := func(list []string, k int, key string) {
		if list[k] == "" {
			list[k] = key
		} else if key != "" && list[k] != key {
			list[k] = several
		}
	}
	each := func(k int, visit func(b int)) {
		p.before(k, func(b int) {
			if c := circle[p.of[k]]; c >= 0 && c == circle[p.of[b]] {
				visit(b)
			}
		})
	}
	nearest := func(list []string, k int) string {
		if p.keys[k] != "" {
			return p.keys[k]
		}
		return list[k]
	}
	for k := range p.nodes {
		each(k, func(b int) { merge(above, k, nearest(above, b)) })
	}
	for k := len(p.nodes) - 1; k >= 0; k-- {
		each(k, func(b int) { merge(below, b, nearest(below, k)) })
	}
	taken := false
	for k, name := range above {
		if p.keys[k] == "" && name != "" && name != several && name == below[k] {
			p.keys[k], taken = name, true
		}
	}
	return taken
}

// before calls visit with the places of the nodes of the level that node at place k follows.
func (p *partition) before(k int, visit func(k int)) {
	for _, n := range p.f.g.Nodes[p.nodes[k]].before {
		if at := p.f.at[n]; at < len(p.nodes) && p.nodes[at] == n {
			visit(at)
		}
	}
}

// edges returns, by part, the parts that follow it.
func (p *partition) edges() [][]int {
	out := make([][]int, p.count)
	for k, to := range p.of {
		p.before(k, func(b int) {
			if from := p.of[b]; from != to && (len(out[from]) == 0 || out[from][len(out[from])-1] != to) {
				out[from] = append(out[from], to)
			}
		})
	}
	return out
}

// cut gives the nodes of parts that follow each other in a circle new parts: the number of changes
// of part on the longest way to a node tells pieces of a group apart, so that ways lead from lower to
// higher pieces. Then pieces of a group are joined if no way between them leaves them.
func (p *partition) cut() {
	circle := circles(p.edges())
	type piece struct{ part, changes int }
	numbers := map[piece]int{}
	changes := make([]int, len(p.nodes))
	old, groups := slices.Clone(p.of), map[int][]int{}
	for k := range p.nodes {
		c := circle[old[k]]
		if c < 0 {
			continue
		}
		p.before(k, func(b int) {
			if circle[old[b]] != c {
				return
			}
			n := changes[b]
			if old[b] != old[k] {
				n++
			}
			changes[k] = max(changes[k], n)
		})
		id := piece{old[k], changes[k]}
		number, ok := numbers[id]
		if !ok {
			if number = p.count; len(groups[old[k]]) == 0 {
				number = old[k]
			} else {
				p.count++
			}
			numbers[id] = number
			groups[old[k]] = append(groups[old[k]], number)
		}
		p.of[k] = number
	}
	if len(numbers) > mostPieces {
		return
	}
	for k := range p.nodes {
		list := groups[old[k]]
		delete(groups, old[k]) // once, in the order of the nodes
		for i := 1; i < len(list); i++ {
			if p.joinable(list[0], list[i]) {
				p.join(list[0], list[i])
				continue
			}
			list = list[i:]
			i = 0
		}
	}
}

// joinable reports whether no way from a to b, or back, leads through other parts.
func (p *partition) joinable(a, b int) bool {
	out := p.edges()
	reaches := func(from, to int) bool {
		seen := make([]bool, p.count)
		stack := []int{}
		for _, x := range out[from] {
			if x != to {
				stack = append(stack, x)
			}
		}
		for len(stack) > 0 {
			x := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if x == to {
				return true
			}
			if !seen[x] {
				seen[x] = true
				stack = append(stack, out[x]...)
			}
		}
		return false
	}
	return !reaches(a, b) && !reaches(b, a)
}

func (p *partition) join(a, b int) {
	for k, x := range p.of {
		if x == b {
			p.of[k] = a
		}
	}
}

// parts returns the parts, of those that can follow the one with the earliest node first.
func (p *partition) parts() []part {
	list := make([]part, p.count)
	first := make([]int, p.count)
	for k, number := range p.of {
		if len(list[number].nodes) == 0 {
			first[number], list[number].key = k, p.keys[k]
		}
		list[number].nodes = append(list[number].nodes, p.nodes[k])
	}
	out, waits := p.edges(), make([]int, p.count)
	for _, to := range out {
		for _, x := range to {
			waits[x]++
		}
	}
	ready := &queue{first: first}
	for number := range list {
		if waits[number] == 0 && len(list[number].nodes) > 0 {
			heap.Push(ready, number)
		}
	}
	ordered := make([]part, 0, p.count)
	for ready.Len() > 0 {
		number := heap.Pop(ready).(int)
		ordered = append(ordered, list[number])
		for _, x := range out[number] {
			if waits[x]--; waits[x] == 0 {
				heap.Push(ready, x)
			}
		}
	}
	return ordered
}

// queue is parts that can run, with the earliest on top.
type queue struct {
	list  []int
	first []int // by part
}

func (q *queue) Len() int           { return len(q.list) }
func (q *queue) Less(i, j int) bool { return q.first[q.list[i]] < q.first[q.list[j]] }
func (q *queue) Swap(i, j int)      { q.list[i], q.list[j] = q.list[j], q.list[i] }
func (q *queue) Push(x any)         { q.list = append(q.list, x.(int)) }
func (q *queue) Pop() any {
	x := q.list[len(q.list)-1]
	q.list = q.list[:len(q.list)-1]
	return x
}

// circles returns, for each vertex of a graph, the number of the circle that it is on with others,
// or -1 (strong components by Tarjan's algorithm, without recursion).
func circles(out [][]int) []int {
	t := &tarjan{out: out, index: make([]int, len(out)), low: make([]int, len(out)), tried: make([]int, len(out)), circle: make([]int, len(out))}
	for v := range out {
		t.circle[v] = -1
	}
	for v := range out {
		if t.index[v] == 0 {
			t.from(v)
		}
	}
	return t.circle
}

type tarjan struct {
	out        [][]int
	index, low []int // from 1; 0 before a visit, and low is 0 after the component is complete
	tried      []int // successors that were looked at
	circle     []int
	stack      []int // vertices of components that are not complete
	next       int
	found      int
}

// from visits a vertex and all that follow it.
func (t *tarjan) from(v int) {
	t.enter(v)
	for path := []int{v}; len(path) > 0; {
		v := path[len(path)-1]
		if t.tried[v] < len(t.out[v]) {
			w := t.out[v][t.tried[v]]
			t.tried[v]++
			if t.index[w] == 0 {
				t.enter(w)
				path = append(path, w)
			} else if t.low[w] > 0 {
				t.low[v] = min(t.low[v], t.low[w])
			}
			continue
		}
		path = path[:len(path)-1]
		low := t.low[v]
		if low == t.index[v] {
			t.complete(v)
		} else {
			u := path[len(path)-1]
			t.low[u] = min(t.low[u], low)
		}
	}
}

func (t *tarjan) enter(v int) {
	t.next++
	t.index[v], t.low[v] = t.next, t.next
	t.stack = append(t.stack, v)
}

// complete takes the component that begins with v off the stack.
func (t *tarjan) complete(v int) {
	at := len(t.stack) - 1
	for t.stack[at] != v {
		at--
	}
	part := t.stack[at:]
	for _, w := range part {
		t.low[w] = 0
		if len(part) > 1 {
			t.circle[w] = t.found
		}
	}
	t.found++
	t.stack = t.stack[:at]
}
