package graph

import "slices"

// Eval returns the value of d for the symbols' values that lookup returns. ok is false if a symbol
// is missing, if d is unknown or divides by 0, or if an intermediate result does not fit an int.
func (d Dim) Eval(lookup func(symbol string) (int, bool)) (int, bool) {
	if d.x == nil {
		return d.n, true
	}
	if d.x == unknown {
		return 0, false
	}
	total := d.n
	for _, t := range d.x.terms {
		p := t.k
		for _, a := range t.of {
			n, ok := a.eval(lookup)
			if !ok {
				return 0, false
			}
			if p, ok = mulAdd(0, p, n); !ok {
				return 0, false
			}
		}
		var ok bool
		if total, ok = mulAdd(total, p, 1); !ok {
			return 0, false
		}
	}
	return total, true
}

func (a *atom) eval(lookup func(symbol string) (int, bool)) (int, bool) {
	if a.kind == symbol {
		return lookup(a.name)
	}
	result, ok := a.args[0].Eval(lookup)
	for _, x := range a.args[1:] {
		n, known := x.Eval(lookup)
		if !ok || !known {
			return 0, false
		}
		switch a.kind {
		case quotient:
			result, ok = floorDiv(result, n)
		case minimum:
			result = min(result, n)
		case maximum:
			result = max(result, n)
		}
	}
	return result, ok
}

// Symbols returns the names of the symbols of d, sorted, each once.
func (d Dim) Symbols() []string {
	list := d.symbols(nil)
	slices.Sort(list)
	return slices.Compact(list)
}

func (d Dim) symbols(list []string) []string {
	for _, t := range d.terms() {
		for _, a := range t.of {
			if a.kind == symbol {
				list = append(list, a.name)
			}
			for _, x := range a.args {
				list = x.symbols(list)
			}
		}
	}
	return list
}

// Subst returns d with symbols replaced by the extents that lookup returns. Other symbols remain.
func (d Dim) Subst(lookup func(symbol string) (Dim, bool)) Dim {
	if d.IsKnown() || d.IsUnknown() {
		return d
	}
	out := Known(d.n)
	for _, t := range d.x.terms {
		p := Known(t.k)
		for _, a := range t.of {
			p = p.Mul(a.subst(lookup))
		}
		out = out.Add(p)
	}
	return out
}

func (a *atom) subst(lookup func(symbol string) (Dim, bool)) Dim {
	if a.kind == symbol {
		if d, ok := lookup(a.name); ok {
			return d
		}
		return single(a)
	}
	result := a.args[0].Subst(lookup)
	for _, x := range a.args[1:] {
		switch x := x.Subst(lookup); a.kind {
		case quotient:
			result = result.Div(x)
		case minimum:
			result = result.Min(x)
		case maximum:
			result = result.Max(x)
		}
	}
	return result
}
