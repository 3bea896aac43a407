package outline

import (
	"strconv"
	"strings"
)

// scopes sets the scope of every node: the parts of its name without the last. If few nodes have
// scopes in their names, the names of their weights say where they are, and a node without weights
// is in the scope that its neighbours in the file share.
func (g *Graph) scopes() {
	nodes := g.drawn()
	named := 0
	for _, i := range nodes {
		if g.Nodes[i].scope = scopeOf(g.Nodes[i].Label()); len(g.Nodes[i].scope) > 0 {
			named++
		}
	}
	if 3*named >= len(nodes) {
		return
	}
	known := make([]bool, len(g.Nodes))
	for _, i := range nodes {
		n := g.Nodes[i]
		n.scope = nil
		for _, w := range n.Weights {
			if scope := scopeOf(w.Name); len(scope) > 0 && w.Tensor != nil {
				n.scope, known[i] = scope, true
				break
			}
		}
	}
	var last []string
	for k := 0; k < len(nodes); {
		if known[nodes[k]] {
			last = g.Nodes[nodes[k]].scope
			k++
			continue
		}
		end := k
		for end < len(nodes) && !known[nodes[end]] {
			end++
		}
		if last != nil && end < len(nodes) {
			scope := between(last, g.Nodes[nodes[end]].scope, end-k)
			for _, i := range nodes[k:end] {
				g.Nodes[i].scope = scope
			}
		}
		k = end
	}
}

// between returns the scope of n nodes between nodes of scopes last and next: the scopes that these
// share, or if there are none and n is small, the scopes around the last node.
func between(last, next []string, n int) []string {
	const small = 4
	shared := 0
	for shared < min(len(last), len(next)) && last[shared] == next[shared] {
		shared++
	}
	if shared == 0 && n <= small {
		return last[:max(1, len(last)-1)]
	}
	return last[:shared]
}

// drawn returns the numbers of the nodes that are no constants.
func (g *Graph) drawn() []int {
	list := make([]int, 0, len(g.Nodes))
	for i, n := range g.Nodes {
		if !n.Constant {
			list = append(list, i)
		}
	}
	return list
}

// deepest is the most scopes within each other that are told apart.
const deepest = 24

// scopeOf returns the scopes of a name: /encoder/layer.0/attention/MatMul and
// encoder.layers.0.attention.weight are in encoder, layer.0 and attention. A number belongs to the
// part before it: net.0.1.weight is in net.0 and net.0.1.
func scopeOf(name string) []string {
	separator := "/"
	if !strings.Contains(name, separator) {
		separator = "."
	}
	var parts []string
	numbered := false
	for _, part := range strings.Split(name, separator) {
		switch {
		case part == "":
		case len(parts) == 0 || !isNumber(part):
			parts, numbered = append(parts, part), false
		case numbered:
			parts = append(parts, parts[len(parts)-1]+"."+part)
		default:
			parts[len(parts)-1] += "." + part
			numbered = true
		}
	}
	if len(parts) < 2 {
		return nil
	}
	return parts[:min(len(parts)-1, deepest)]
}

func isNumber(s string) bool { return strings.Trim(s, "0123456789") == "" }

// pattern returns a name with # in place of each number.
func pattern(name string) string {
	parts := numbers(name)
	for i, part := range parts {
		if isNumber(part) {
			parts[i] = "#"
		}
	}
	return strings.Join(parts, "")
}

// span returns the names from first to last, which differ in one number: layer.0..11. ok is false if
// they do not, or last is not n after first.
func span(first, last string, n int) (name string, ok bool) {
	a, b := numbers(first), numbers(last)
	if len(a) != len(b) {
		return "", false
	}
	differ := -1
	for i := range a {
		if a[i] != b[i] {
			if differ >= 0 {
				return "", false
			}
			differ = i
		}
	}
	if differ < 0 {
		return "", false
	}
	from, err := strconv.Atoi(a[differ])
	to, wrong := strconv.Atoi(b[differ])
	if err != nil || wrong != nil || to != from+n {
		return "", false
	}
	return strings.Join(a[:differ+1], "") + ".." + strings.Join(b[differ:], ""), true
}

// numbers splits a name into its numbers and what is between them.
func numbers(name string) []string {
	var parts []string
	for i, r := range name {
		digit := r >= '0' && r <= '9'
		if i == 0 || digit != isNumber(parts[len(parts)-1]) {
			parts = append(parts, "")
		}
		parts[len(parts)-1] += string(r)
	}
	return parts
}
