package graph

import "slices"

// maxSteps bounds the terms that divide moves out of a quotient.
const maxSteps = 64

// divide returns d/e rounded down. e is not 0, and d or e is an expression. Terms that e divides
// move out of the quotient: (n+5)/2 is (n+1)/2+2.
func divide(d, e Dim) Dim {
	if e.parts()[0].k < 0 {
		if d, e = Known(0).Sub(d), Known(0).Sub(e); d.IsUnknown() || e.IsUnknown() {
			return Unknown()
		}
	}
	whole := Known(0)
	for range maxSteps {
		t, ok := d.whole(e.parts()[0])
		if !ok {
			break
		}
		whole, d = whole.Add(t), d.Sub(t.Mul(e))
		if whole.IsUnknown() || d.IsUnknown() {
			return Unknown()
		}
	}
	if n, ok := e.Value(); ok {
		return whole.Add(d.over(n))
	}
	return whole.Add(d.overSum(e))
}

// whole returns the quotient of a term of d by a term: the first quotient that is not 0. ok is
// false if there is none.
func (d Dim) whole(by term) (Dim, bool) {
	for _, t := range d.parts() {
		rest, ok := without(t.of, by.of)
		if !ok {
			continue
		}
		if k, ok := floorDiv(t.k, by.k); ok && k != 0 {
			if len(rest) == 0 {
				return Known(k), true
			}
			return newDim(0, []term{{k: k, of: rest}}), true
		}
	}
	return Dim{}, false
}

// over returns d/n rounded down as one quotient.
func (d Dim) over(n int) Dim {
	if d.IsKnown() {
		return d.Div(Known(n))
	}
	g := n
	for _, t := range d.terms() {
		g = gcd(g, t.k)
	}
	if g > 1 {
		return d.reduced(g, nil).Div(Known(n / g))
	}
	if q := d.nested(n); !q.IsUnknown() {
		return q
	}
	return single(newAtom(quotient, d, Known(n)))
}

// nested returns d/n as one quotient if one term of d is itself a quotient by a number: (h/2+1)/2
// is (h+2)/4. Otherwise it is unknown.
func (d Dim) nested(n int) Dim {
	var inner *atom
	for _, t := range d.terms() {
		if t.k != 1 || len(t.of) != 1 || t.of[0].kind != quotient || !t.of[0].args[1].IsKnown() {
			continue
		}
		if inner != nil {
			return Unknown()
		}
		inner = t.of[0]
	}
	if inner == nil {
		return Unknown()
	}
	by := inner.args[1]
	return d.Sub(single(inner)).Mul(by).Add(inner.args[0]).Div(by.Mul(Known(n)))
}

// overSum returns d/e rounded down, after removing the factors that both share.
func (d Dim) overSum(e Dim) Dim {
	if d.Is(0) {
		return d
	}
	g, of := content(append(d.parts(), e.parts()...))
	if g > 1 || len(of) > 0 {
		return d.reduced(g, of).Div(e.reduced(g, of))
	}
	return single(newAtom(quotient, d, e))
}

// content returns the greatest number and the atoms that divide all terms.
func content(terms []term) (g int, of []*atom) {
	first := true
	for _, t := range terms {
		if t.k == 0 {
			continue
		}
		g = gcd(g, t.k)
		if first {
			of, first = t.of, false
			continue
		}
		rest := t.of
		of = slices.DeleteFunc(slices.Clone(of), func(a *atom) bool {
			less, ok := without(rest, []*atom{a})
			rest = less
			return !ok
		})
	}
	return g, of
}

// reduced returns d with all terms divided by g, rounded down, and by of, exactly.
func (d Dim) reduced(g int, of []*atom) Dim {
	n, _ := floorDiv(d.n, g)
	terms := make([]term, 0, len(d.terms()))
	for _, t := range d.terms() {
		rest, _ := without(t.of, of)
		k, _ := floorDiv(t.k, g)
		if len(rest) == 0 {
			n += k // the only such term: if of has atoms, d has no constant
			continue
		}
		terms = append(terms, term{k: k, of: rest})
	}
	return newDim(n, terms)
}

// without returns the factors of a that are not in by. ok is false if a lacks one of by.
func without(a, by []*atom) ([]*atom, bool) {
	if len(by) == 0 {
		return a, true
	}
	rest := make([]*atom, 0, len(a))
	for _, x := range a {
		if len(by) > 0 && compareAtoms(x, by[0]) == 0 {
			by = by[1:]
			continue
		}
		rest = append(rest, x)
	}
	return rest, len(by) == 0
}

// gcd returns the greatest common divisor. It is negative if that is the least int.
func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	if a < 0 {
		return -a
	}
	return a
}
