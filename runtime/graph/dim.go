package graph

import "slices"

// Dim is the extent of an axis: a number, an expression over symbols such as batch or (height+1)/2,
// or unknown. The zero Dim is the number 0. An expression has one form, however it was built: a+b
// is b+a, and 2*(n+1)-n is n+2. Only equalities that depend on rounding may be missed: n-n/2 is not
// (n+1)/2. A Dim is immutable; Same compares two. If a result does not fit an int, or an expression
// is too large, it is unknown.
type Dim struct {
	_ [0]func() // not comparable: == would compare pointers
	n int       // the number, or the constant of the sum
	x *sum      // nil for a number
}

// unknown is the sum of an unknown Dim.
var unknown = &sum{}

// Known returns the extent n.
func Known(n int) Dim { return Dim{n: n} }

// Symbol returns an extent with a name. Two axes with the same name have the same extent.
func Symbol(name string) Dim {
	if name == "" || name == unknownText {
		return Unknown()
	}
	a := &atom{kind: symbol, name: name, size: 1 + len(name)/symbolUnit}
	return Dim{x: &sum{terms: []term{{k: 1, of: []*atom{a}}}, size: 1 + a.size}}
}

// Unknown returns an unknown extent. It equals no other.
func Unknown() Dim { return Dim{x: unknown} }

// Value returns the number, or 0 and false if d is not a number.
func (d Dim) Value() (int, bool) {
	if d.x != nil {
		return 0, false
	}
	return d.n, true
}

// IsKnown reports whether d is a number.
func (d Dim) IsKnown() bool { return d.x == nil }

// IsUnknown reports whether d is unknown.
func (d Dim) IsUnknown() bool { return d.x == unknown }

// Is reports whether d is the number n.
func (d Dim) Is(n int) bool { return d.x == nil && d.n == n }

// Same reports whether d and e are known to be equal.
func (d Dim) Same(e Dim) bool {
	return d.n == e.n && d.x != unknown && e.x != unknown && (d.x == e.x || compareSums(d.x, e.x) == 0)
}

// Exceeds reports whether d is known to be e plus a positive number.
func (d Dim) Exceeds(e Dim) bool { return d.n > e.n && Dim{x: d.x}.Same(Dim{x: e.x}) }

// NonNegative reports whether d is known not to be negative, given that symbols are not.
func (d Dim) NonNegative() bool {
	switch {
	case d.IsKnown():
		return d.n >= 0
	case d.IsUnknown():
		return false
	case d.n >= 0 && !slices.ContainsFunc(d.x.terms, term.negative):
		return true
	}
	if args := spread(maximum, nil, d); len(args) > 1 {
		return slices.ContainsFunc(args, Dim.NonNegative)
	}
	args := spread(minimum, nil, d)
	return len(args) > 1 && !slices.ContainsFunc(args, func(x Dim) bool { return !x.NonNegative() })
}

// Add returns d + e.
func (d Dim) Add(e Dim) Dim { return d.plus(e, 1) }

// Sub returns d - e.
func (d Dim) Sub(e Dim) Dim { return d.plus(e, -1) }

// Mul returns d * e.
func (d Dim) Mul(e Dim) Dim {
	switch {
	case d.Is(0), e.Is(0):
		return Known(0)
	case d.IsUnknown(), e.IsUnknown():
		return Unknown()
	case d.Is(1):
		return e
	case e.Is(1):
		return d
	case d.IsKnown():
		return Known(0).plus(e, d.n)
	case e.IsKnown():
		return Known(0).plus(d, e.n)
	}
	return multiply(d, e)
}

// Div returns the quotient rounded down. It is unknown if e is the number 0. An expression is
// assumed not to be 0 as a divisor: n/n is 1.
func (d Dim) Div(e Dim) Dim {
	switch {
	case e.Is(0), d.IsUnknown(), e.IsUnknown():
		return Unknown()
	case e.Is(1):
		return d
	case d.IsKnown() && e.IsKnown():
		if q, ok := floorDiv(d.n, e.n); ok {
			return Known(q)
		}
		return Unknown()
	}
	return divide(d, e)
}

// Min returns the smaller of d and e.
func (d Dim) Min(e Dim) Dim {
	if d.IsKnown() && e.IsKnown() {
		return Known(min(d.n, e.n))
	}
	return extreme(minimum, d, e)
}

// Max returns the larger of d and e.
func (d Dim) Max(e Dim) Dim {
	if d.IsKnown() && e.IsKnown() {
		return Known(max(d.n, e.n))
	}
	return extreme(maximum, d, e)
}

// Cap returns the smaller of d and the number n.
func (d Dim) Cap(n int) Dim { return d.Min(Known(n)) }

// CapOf reports whether d is the smaller of an expression e and a number, and returns the number.
func (d Dim) CapOf(e Dim) (n int, ok bool) {
	if d.IsKnown() || e.IsKnown() || d.IsUnknown() || e.IsUnknown() {
		return 0, false
	}
	for _, x := range spread(minimum, nil, d) {
		if n, ok := x.Value(); ok && e.Cap(n).Same(d) {
			return n, true
		}
	}
	return 0, false
}
