package graph

import "slices"

// maxArgs bounds the arguments of a minimum or maximum.
const maxArgs = 16

// extreme returns the minimum or maximum of two extents. A common addend or factor moves out of it:
// min(n+1,8) is min(n,7)+1.
func extreme(kind atomKind, d, e Dim) Dim {
	if d.IsUnknown() || e.IsUnknown() {
		return Unknown()
	}
	base, args := Known(0), []Dim{d, e}
	for again := true; again; {
		var list []Dim
		for _, x := range args {
			list = spread(kind, list, x)
		}
		if len(list) > maxArgs || slices.ContainsFunc(list, Dim.IsUnknown) {
			return Unknown()
		}
		shared := list[0]
		for _, x := range list[1:] {
			shared = shared.common(x)
		}
		base, args, again = base.Add(shared), list, false
		for i := range args {
			args[i] = args[i].Sub(shared)
			_, inner := args[i].only(kind)
			again = again || inner
		}
	}
	return base.Add(extremeOf(kind, args))
}

// extremeOf returns the minimum or maximum of arguments without a common addend. A common factor
// moves out of it.
func extremeOf(kind atomKind, args []Dim) Dim {
	if len(args) == 1 {
		return args[0]
	}
	if slices.ContainsFunc(args, Dim.IsUnknown) {
		return Unknown()
	}
	var terms []term
	for _, x := range args {
		terms = append(terms, x.parts()...)
	}
	g, _ := content(terms)
	for i := range args {
		args[i] = args[i].reduced(g, nil)
	}
	slices.SortFunc(args, compareDims)
	return single(newAtom(kind, args...)).Mul(Known(g))
}

// spread adds d to the arguments of a minimum or maximum, or the arguments of d if d is one itself.
// It omits arguments that others make redundant.
func spread(kind atomKind, args []Dim, d Dim) []Dim {
	inner, ok := d.only(kind)
	if !ok {
		return addArg(kind, args, d)
	}
	rest := d.Sub(newDim(0, []term{inner}))
	for _, x := range inner.of[0].args {
		args = addArg(kind, args, rest.plus(x, inner.k))
	}
	return args
}

// only returns the single term of d that is a minimum or maximum of that kind, or of the other kind
// with a negative coefficient.
func (d Dim) only(kind atomKind) (found term, ok bool) {
	for _, t := range d.terms() {
		want := kind
		if t.k < 0 {
			want = minimum + maximum - kind
		}
		if len(t.of) != 1 || t.of[0].kind != want {
			continue
		}
		if ok {
			return term{}, false
		}
		found, ok = t, true
	}
	return found, ok
}

// addArg adds an argument. If it differs from another one by a number, only one of them is kept.
func addArg(kind atomKind, args []Dim, d Dim) []Dim {
	for i, x := range args {
		if (Dim{x: x.x}).Same(Dim{x: d.x}) {
			if kind == minimum == (d.n < x.n) {
				args[i] = d
			}
			return args
		}
	}
	return append(args, d)
}

// common returns the terms that both share, with the lesser coefficient of each.
func (d Dim) common(e Dim) Dim {
	terms, _ := merge(d.terms(), e.terms(), func(a, b int) (int, bool) { return min(a, b), true })
	return newDim(min(d.n, e.n), terms)
}
