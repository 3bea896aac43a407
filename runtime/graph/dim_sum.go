package graph

import (
	"cmp"
	"slices"
)

// Limits of an expression. A larger one is unknown.
const (
	maxSize     = 128 // atoms and terms, including those within atoms
	maxFactors  = 8   // of a term
	maxProducts = 512 // of terms, before they are added up
	symbolUnit  = 32  // bytes of a name that count as one more atom
)

// sum is the terms of an expression without its constant. Terms of the highest degree come first.
// No two terms have the same factors, and no coefficient is 0.
type sum struct {
	terms []term
	size  int
	text  string // the parsed text, for the constant textN; empty if it was not parsed
	textN int
}

// term is the product of a number and of at least one atom, in order.
type term struct {
	k  int
	of []*atom
}

type atomKind uint8

const (
	symbol   atomKind = iota
	quotient          // of two arguments, rounded down
	minimum           // of two arguments or more, in order
	maximum
)

// atom is a factor that is not a sum or a product.
type atom struct {
	kind atomKind
	name string // of a symbol
	args []Dim
	size int
}

func newAtom(kind atomKind, args ...Dim) *atom {
	a := &atom{kind: kind, args: args, size: 1}
	for _, x := range args {
		a.size += 1 + x.size()
	}
	return a
}

// negative reports whether a term may be negative if symbols are not.
func (t term) negative() bool { return t.k < 0 || slices.ContainsFunc(t.of, (*atom).negative) }

func (a *atom) negative() bool {
	if a.kind == maximum {
		return !slices.ContainsFunc(a.args, Dim.NonNegative)
	}
	return slices.ContainsFunc(a.args, func(d Dim) bool { return !d.NonNegative() })
}

// newDim returns n plus the terms, which are sorted.
func newDim(n int, terms []term) Dim {
	if len(terms) == 0 {
		return Known(n)
	}
	size := len(terms)
	for _, t := range terms {
		if len(t.of) > maxFactors {
			return Unknown()
		}
		for _, a := range t.of {
			size += a.size
		}
		if size > maxSize {
			return Unknown()
		}
	}
	return Dim{n: n, x: &sum{terms: terms, size: size}}
}

func (d Dim) size() int {
	if d.x == nil {
		return 0
	}
	return d.x.size
}

func (d Dim) terms() []term {
	if d.x == nil {
		return nil
	}
	return d.x.terms
}

// single returns the expression of one atom.
func single(a *atom) Dim { return newDim(0, []term{{k: 1, of: []*atom{a}}}) }

// plus returns d + k·e.
func (d Dim) plus(e Dim, k int) Dim {
	if d.IsUnknown() || e.IsUnknown() {
		return Unknown()
	}
	n, ok := mulAdd(d.n, e.n, k)
	switch {
	case !ok:
		return Unknown()
	case e.x == nil:
		return Dim{n: n, x: d.x}
	case d.x == nil && k == 1:
		return Dim{n: n, x: e.x}
	}
	terms, ok := merge(d.terms(), e.terms(), func(a, b int) (int, bool) { return mulAdd(a, b, k) })
	if !ok {
		return Unknown()
	}
	return newDim(n, terms)
}

// merge merges sorted terms. f combines the coefficients of a and b for the same factors, 0 if one
// has none. ok is false if f failed.
func merge(a, b []term, f func(a, b int) (int, bool)) ([]term, bool) {
	out := make([]term, 0, len(a)+len(b))
	for len(a) > 0 || len(b) > 0 {
		order := 0
		switch {
		case len(a) == 0:
			order = 1
		case len(b) == 0:
			order = -1
		default:
			order = compareFactors(a[0].of, b[0].of)
		}
		var t term
		var ka, kb int
		if order <= 0 {
			t, ka, a = a[0], a[0].k, a[1:]
		}
		if order >= 0 {
			t, kb, b = b[0], b[0].k, b[1:]
		}
		var ok bool
		if t.k, ok = f(ka, kb); !ok {
			return nil, false
		}
		if t.k != 0 {
			out = append(out, t)
		}
	}
	return out, true
}

// multiply returns the product of two expressions, term by term.
func multiply(d, e Dim) Dim {
	a, b := d.parts(), e.parts()
	if len(a)*len(b) > maxProducts {
		return Unknown()
	}
	n, ok := mulAdd(0, d.n, e.n)
	terms := make([]term, 0, len(a)*len(b))
	for _, t := range a {
		for _, u := range b {
			k, fits := mulAdd(0, t.k, u.k)
			ok = ok && fits && len(t.of)+len(u.of) <= maxFactors
			if len(t.of)+len(u.of) > 0 && k != 0 {
				terms = append(terms, term{k: k, of: joinFactors(t.of, u.of)})
			}
		}
	}
	if terms, fits := collect(terms); ok && fits {
		return newDim(n, terms)
	}
	return Unknown()
}

// parts returns the terms of d, and its constant as a term without factors.
func (d Dim) parts() []term {
	terms := d.terms()
	return append(terms[:len(terms):len(terms)], term{k: d.n})
}

// collect sorts terms and adds up terms with the same factors.
func collect(terms []term) ([]term, bool) {
	slices.SortFunc(terms, func(a, b term) int { return compareFactors(a.of, b.of) })
	out := terms[:0]
	for i := 0; i < len(terms); {
		t := terms[i]
		for i++; i < len(terms) && compareFactors(t.of, terms[i].of) == 0; i++ {
			var ok bool
			if t.k, ok = mulAdd(t.k, terms[i].k, 1); !ok {
				return nil, false
			}
		}
		if t.k != 0 {
			out = append(out, t)
		}
	}
	return out, true
}

func joinFactors(a, b []*atom) []*atom {
	list := append(slices.Clone(a), b...)
	slices.SortFunc(list, compareAtoms)
	return list
}

// compareSums orders sums. It returns 0 for equal sums.
func compareSums(a, b *sum) int {
	if a == b {
		return 0
	}
	x, y := Dim{x: a}.terms(), Dim{x: b}.terms()
	return slices.CompareFunc(x, y, func(t, u term) int {
		return cmp.Or(compareFactors(t.of, u.of), cmp.Compare(t.k, u.k))
	})
}

// compareFactors orders products, more factors first.
func compareFactors(a, b []*atom) int {
	if len(a) != len(b) {
		return len(b) - len(a)
	}
	return slices.CompareFunc(a, b, compareAtoms)
}

func compareAtoms(a, b *atom) int {
	switch {
	case a == b:
		return 0
	case a.kind != b.kind:
		return cmp.Compare(a.kind, b.kind)
	case a.kind == symbol:
		return cmp.Compare(a.name, b.name)
	}
	return slices.CompareFunc(a.args, b.args, compareDims)
}

// compareDims orders expressions, numbers last.
func compareDims(d, e Dim) int {
	if d.IsKnown() != e.IsKnown() {
		return cmp.Compare(e.size(), d.size())
	}
	return cmp.Or(compareSums(d.x, e.x), cmp.Compare(d.n, e.n))
}

// mulAdd returns a + b·k. ok is false if it does not fit an int.
func mulAdd(a, b, k int) (int, bool) {
	if k == -1 {
		return a - b, (a-b < a) == (b > 0)
	}
	p := b * k
	if b != 0 && (p/b != k || b == -1 && p == k && k != 0) {
		return 0, false
	}
	return a + p, (a+p > a) == (p > 0)
}

// floorDiv returns a/b rounded down. ok is false if b is 0 or the result does not fit an int.
func floorDiv(a, b int) (int, bool) {
	if b == 0 || b == -1 && a == -a && a != 0 {
		return 0, false
	}
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q, true
}
