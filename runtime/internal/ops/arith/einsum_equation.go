package arith

import (
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
)

// equation has the left and right side of an Einstein summation. Letters name axes. An ellipsis
// stands for any number of axes and is not yet expanded.
type equation struct {
	terms    []term
	out      term
	implicit bool // out follows from the terms
}

// term has the axes of one operand: letters before and after an ellipsis.
type term struct {
	before, behind []rune
	ellipsis       bool
}

func parseEquation(s string) (*equation, error) {
	left, right, explicit := strings.Cut(strings.ReplaceAll(s, " ", ""), "->")
	e := &equation{implicit: !explicit}
	var err error
	for _, part := range strings.Split(left, ",") {
		t, err := parseTerm(part)
		if err != nil {
			return nil, err
		}
		e.terms = append(e.terms, t)
	}
	if explicit {
		if e.out, err = parseTerm(right); err != nil {
			return nil, err
		}
		return e, e.checkOut()
	}
	e.out.ellipsis = slices.ContainsFunc(e.terms, func(t term) bool { return t.ellipsis })
	count := map[rune]int{}
	for _, t := range e.terms {
		for _, l := range t.letters() {
			count[l]++
		}
	}
	for l, n := range count {
		if n == 1 {
			e.out.behind = append(e.out.behind, l)
		}
	}
	slices.Sort(e.out.behind)
	return e, nil
}

func parseTerm(s string) (term, error) {
	before, behind, ellipsis := strings.Cut(s, "...")
	t := term{[]rune(before), []rune(behind), ellipsis}
	for _, l := range t.letters() {
		if (l < 'a' || l > 'z') && (l < 'A' || l > 'Z') {
			return t, graph.Errorf(graph.ErrFormat,
				"attribute equation has the term %q; terms are letters and at most one ellipsis", s)
		}
	}
	return t, nil
}

func (t term) letters() []rune { return slices.Concat(t.before, t.behind) }

func (e *equation) checkOut() error {
	seen := map[rune]bool{}
	for _, l := range e.out.letters() {
		if seen[l] || !slices.ContainsFunc(e.terms, func(t term) bool { return slices.Contains(t.letters(), l) }) {
			return graph.Errorf(graph.ErrFormat, "attribute equation has the output axis %q twice, or in no operand", l)
		}
		seen[l] = true
	}
	return nil
}

// named returns a name for every axis of an operand of the given rank: its letter, or a negative
// number for an axis of the ellipsis, -1 for the last.
func (t term) named(rank int) ([]rune, error) {
	letters := len(t.before) + len(t.behind)
	if rank < letters || rank > letters && !t.ellipsis {
		return nil, graph.Errorf(graph.ErrShape, "an operand with %d axes where the equation has %d", rank, letters)
	}
	return t.expand(rank - letters), nil
}

// expand returns the names of the axes if the ellipsis stands for n axes.
func (t term) expand(n int) []rune {
	if !t.ellipsis {
		n = 0
	}
	list := slices.Clone(t.before)
	for i := range n {
		list = append(list, rune(i-n))
	}
	return append(list, t.behind...)
}

// bind names the axes of all operands and of the result, and finds the extent of each name. An
// extent of 1 stretches.
func (e *equation) bind(operands []graph.Dims) (names [][]rune, out []rune, extents map[rune]graph.Dim, err error) {
	if len(operands) != len(e.terms) {
		return nil, nil, nil, graph.Errorf(graph.ErrFormat, "attribute equation has %d terms for %d operands", len(e.terms),
			len(operands))
	}
	extents = map[rune]graph.Dim{}
	wide := 0
	for i, dims := range operands {
		list, err := e.terms[i].named(len(dims))
		if err != nil {
			return nil, nil, nil, err
		}
		names = append(names, list)
		if e.terms[i].ellipsis {
			wide = max(wide, len(dims)-len(e.terms[i].letters()))
		}
		for a, name := range list {
			d := graph.Dims{dims[a]}
			if had, named := extents[name]; named {
				if d, err = op.Broadcast(graph.Dims{had}, d); err != nil {
					return nil, nil, nil, graph.Errorf(graph.ErrShape,
						"operand %d is %v; its axis %d has %v elements where others of that name have %v", i, dims, a, dims[a], had)
				}
			}
			extents[name] = d[0]
		}
	}
	return names, e.out.expand(wide), extents, nil
}
