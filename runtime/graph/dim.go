package graph

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Dim is the extent of an axis: a number, an expression over symbols such as
// batch or (height+1)/2, or unknown. The zero Dim is the number 0.
type Dim struct {
	n    int
	expr string
}

const unknownExpr = "?"

// Known is the extent n.
func Known(n int) Dim { return Dim{n: n} }

// Symbol is an extent with a name; two axes with one name are equally long.
func Symbol(name string) Dim {
	if name == "" || name == unknownExpr {
		return Unknown()
	}
	return Dim{expr: name}
}

// Unknown is an extent of which nothing is known, equal to no other.
func Unknown() Dim { return Dim{expr: unknownExpr} }

// Value returns the number, if it is one.
func (d Dim) Value() (int, bool) { return d.n, d.expr == "" }

// IsKnown reports whether d is a number.
func (d Dim) IsKnown() bool { return d.expr == "" }

// IsUnknown reports whether nothing is known of d.
func (d Dim) IsUnknown() bool { return d.expr == unknownExpr }

// Is reports whether d is the number n.
func (d Dim) Is(n int) bool { return d.expr == "" && d.n == n }

// Same reports whether d and e are known to be equal.
func (d Dim) Same(e Dim) bool { return d == e && d.expr != unknownExpr }

// String is the number, the expression, or "?".
func (d Dim) String() string {
	if d.expr == "" {
		return strconv.Itoa(d.n)
	}
	return d.expr
}

// Add returns d + e.
func (d Dim) Add(e Dim) Dim {
	switch {
	case d.IsKnown() && e.IsKnown():
		return Known(d.n + e.n)
	case d.Is(0):
		return e
	case e.Is(0):
		return d
	case e.IsKnown() && e.n < 0:
		return binary(d, "-", Known(-e.n))
	}
	return binary(d, "+", e)
}

// Sub returns d - e.
func (d Dim) Sub(e Dim) Dim {
	switch {
	case e.IsKnown():
		return d.Add(Known(-e.n))
	case d.Same(e):
		return Known(0)
	}
	return binary(d, "-", e)
}

// Mul returns d * e.
func (d Dim) Mul(e Dim) Dim {
	switch {
	case d.IsKnown() && e.IsKnown():
		return Known(d.n * e.n)
	case d.Is(0), e.Is(0):
		return Known(0)
	case d.Is(1):
		return e
	case e.Is(1):
		return d
	}
	return binary(d, "*", e)
}

// Div returns the quotient rounded down; unknown when e is the number 0.
func (d Dim) Div(e Dim) Dim {
	switch {
	case e.Is(0):
		return Unknown()
	case d.IsKnown() && e.IsKnown():
		q := d.n / e.n
		if d.n%e.n != 0 && (d.n < 0) != (e.n < 0) {
			q--
		}
		return Known(q)
	case e.Is(1):
		return d
	case d.Same(e):
		return Known(1)
	}
	return binary(d, "/", e)
}

// Cap returns the smaller of d and the number n.
func (d Dim) Cap(n int) Dim {
	switch {
	case d.IsKnown():
		return Known(min(d.n, n))
	case d.IsUnknown() || len(d.expr) > maxExpr-32:
		return Unknown()
	}
	return Dim{expr: fmt.Sprintf("min(%s,%d)", d.expr, n)}
}

// Exceeds reports whether d is known to be e and a positive number.
func (d Dim) Exceeds(e Dim) bool {
	if e.IsKnown() || e.IsUnknown() {
		return false
	}
	rest, ok := strings.CutPrefix(d.expr, operand(e)+"+")
	n, err := strconv.Atoi(rest)
	return ok && err == nil && n > 0
}

// CapOf reports whether d is the smaller of e and a number, and that number.
func (d Dim) CapOf(e Dim) (n int, ok bool) {
	if e.IsKnown() || e.IsUnknown() {
		return 0, false
	}
	rest, ok := strings.CutPrefix(d.expr, "min("+e.expr+",")
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(strings.TrimSuffix(rest, ")"))
	return n, err == nil && strings.HasSuffix(rest, ")")
}

// maxExpr bounds the text of an expression; longer ones become unknown.
const maxExpr = 120

func binary(a Dim, op string, b Dim) Dim {
	if a.IsUnknown() || b.IsUnknown() {
		return Unknown()
	}
	s := operand(a) + op + operand(b)
	if len(s) > maxExpr {
		return Unknown()
	}
	return Dim{expr: s}
}

func operand(d Dim) string {
	s := d.String()
	if strings.ContainsAny(s, "+-*/") && !strings.HasPrefix(s, "(") {
		return "(" + s + ")"
	}
	if strings.HasPrefix(s, "(") {
		return "(" + s + ")"
	}
	return s
}

// Dims is the extents of a value's axes. A nil Dims is an unknown number of
// axes; a scalar has an empty one that is not nil.
type Dims []Dim

// DimsOf returns the extents of a shape; never nil.
func DimsOf(s tensor.Shape) Dims {
	d := make(Dims, len(s))
	for i, n := range s {
		d[i] = Known(n)
	}
	return d
}

// UnknownDims returns rank unknown extents.
func UnknownDims(rank int) Dims {
	d := make(Dims, rank)
	for i := range d {
		d[i] = Unknown()
	}
	return d
}

// Concrete returns the shape, if every extent is a number.
func (d Dims) Concrete() (tensor.Shape, bool) {
	if d == nil {
		return nil, false
	}
	s := make(tensor.Shape, len(d))
	for i, x := range d {
		n, ok := x.Value()
		if !ok {
			return nil, false
		}
		s[i] = n
	}
	return s, true
}

// Len is the number of elements.
func (d Dims) Len() Dim {
	n := Known(1)
	for _, x := range d {
		n = n.Mul(x)
	}
	return n
}

// String is the form [batch,3,224,224]; [...] when the rank is unknown.
func (d Dims) String() string {
	if d == nil {
		return "[...]"
	}
	parts := make([]string, len(d))
	for i, x := range d {
		parts[i] = x.String()
	}
	return fmt.Sprintf("[%s]", strings.Join(parts, ","))
}

// Eval returns the number that d is.
func (d Dim) Eval(func(symbol string) (int, bool)) (int, bool) { return d.Value() }
