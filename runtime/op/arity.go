package op

import (
	"fmt"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// Arity is the number of inputs that an operator takes from version Since on.
type Arity struct {
	Since int
	In    [2]int // fewest and most; Any for no limit
	// Optional reports whether a node may leave out an input that the counts require. Nil means
	// that it may leave out none.
	Optional func(input int) bool
}

// Arity returns the arity of the operator in the given version.
func (row *Row) Arity(version int) Arity {
	a := Arity{In: row.In, Optional: row.Optional}
	for _, later := range row.Later {
		if later.Since <= version {
			a = later
		}
	}
	return a
}

// Needs reports whether a node must have input i. It must if i is below the fewest inputs, or if
// their number has no limit, unless Optional excepts input i.
func (a Arity) Needs(i int) bool {
	return (i < a.In[0] || a.In[1] == Any) && (a.Optional == nil || !a.Optional(i))
}

// check returns an error if n has more or fewer inputs or outputs than version since takes, or
// lacks an input that it needs.
func (row *Row) check(n *graph.Node, since int) error {
	takes := row.Arity(since)
	if outside(len(n.Inputs), takes.In) {
		return graph.Errorf(graph.ErrFormat, "has %d inputs; version %d of the operator takes %s", len(n.Inputs), since,
			span(takes.In))
	}
	if outside(len(n.Outputs), row.Out) {
		return graph.Errorf(graph.ErrFormat, "has %d outputs; the operator has %s", len(n.Outputs), span(row.Out))
	}
	for i, name := range n.Inputs {
		if name == "" && takes.Needs(i) {
			return graph.Errorf(graph.ErrFormat, "input %d is left out; version %d of the operator needs it", i, since)
		}
	}
	return nil
}

func outside(n int, limits [2]int) bool {
	return n < limits[0] || limits[1] != Any && n > limits[1]
}

func span(l [2]int) string {
	switch {
	case l[1] == Any:
		return fmt.Sprintf("%d or more", l[0])
	case l[0] == l[1]:
		return fmt.Sprint(l[0])
	}
	return fmt.Sprintf("%d to %d", l[0], l[1])
}
