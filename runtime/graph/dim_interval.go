package graph

// Interval returns the least and the greatest value of d for symbols in the intervals that lookup
// returns. It bounds term by term, so that the true interval may be smaller. ok is false if a
// symbol has no interval, if d is unknown or may divide by 0, or if an intermediate result does not
// fit an int.
func (d Dim) Interval(lookup func(symbol string) (low, high int, ok bool)) (low, high int, ok bool) {
	if d.IsKnown() {
		return d.n, d.n, true
	}
	if d.IsUnknown() {
		return 0, 0, false
	}
	low, high = d.n, d.n
	for _, t := range d.x.terms {
		l, h := t.k, t.k
		for _, a := range t.of {
			al, ah, ok := a.interval(lookup)
			if !ok {
				return 0, 0, false
			}
			if l, h, ok = multiplied(l, h, al, ah); !ok {
				return 0, 0, false
			}
		}
		if low, ok = mulAdd(low, l, 1); !ok {
			return 0, 0, false
		}
		if high, ok = mulAdd(high, h, 1); !ok {
			return 0, 0, false
		}
	}
	return low, high, true
}

// multiplied returns the interval of products of numbers from two intervals.
func multiplied(l, h, al, ah int) (low, high int, ok bool) {
	for i, p := range [4][2]int{{l, al}, {l, ah}, {h, al}, {h, ah}} {
		n, ok := mulAdd(0, p[0], p[1])
		if !ok {
			return 0, 0, false
		}
		if i == 0 {
			low, high = n, n
		}
		low, high = min(low, n), max(high, n)
	}
	return low, high, true
}

func (a *atom) interval(lookup func(symbol string) (low, high int, ok bool)) (low, high int, ok bool) {
	if a.kind == symbol {
		return lookup(a.name)
	}
	if low, high, ok = a.args[0].Interval(lookup); !ok {
		return 0, 0, false
	}
	for _, x := range a.args[1:] {
		l, h, ok := x.Interval(lookup)
		if !ok {
			return 0, 0, false
		}
		switch a.kind {
		case minimum:
			low, high = min(low, l), min(high, h)
		case maximum:
			low, high = max(low, l), max(high, h)
		case quotient:
			if low, high, ok = divided(low, high, l, h); !ok {
				return 0, 0, false
			}
		}
	}
	return low, high, true
}

// divided returns the interval of quotients, rounded down, by numbers of by to most.
func divided(l, h, by, most int) (low, high int, ok bool) {
	if by < 1 {
		return 0, 0, false
	}
	for i, p := range [4][2]int{{l, by}, {l, most}, {h, by}, {h, most}} {
		q, ok := floorDiv(p[0], p[1])
		if !ok {
			return 0, 0, false
		}
		if i == 0 {
			low, high = q, q
		}
		low, high = min(low, q), max(high, q)
	}
	return low, high, true
}
