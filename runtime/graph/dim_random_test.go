package graph_test

import (
	"math/rand/v2"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// expression is an extent and its value for given values of its symbols. valid is false if it
// divides by 0.
type expression struct {
	d     graph.Dim
	value int
	valid bool
}

type dimMaker struct {
	*rand.Rand
	values [3]int
}

var dimNames = [3]string{"a", "b", "c"}

func (m *dimMaker) lookup(name string) (int, bool) {
	for i, s := range dimNames {
		if s == name {
			return m.values[i], true
		}
	}
	return 0, false
}

// some returns a random expression of at most that depth.
func (m *dimMaker) some(depth int) expression {
	if depth == 0 || m.IntN(5) == 0 {
		if i := m.IntN(5); i < 3 {
			return expression{graph.Symbol(dimNames[i]), m.values[i], true}
		}
		n := m.IntN(13) - 4
		return expression{graph.Known(n), n, true}
	}
	return m.apply(m.IntN(6), m.some(depth-1), m.some(depth-1))
}

// apply applies an operator both to the extents and to the values.
func (m *dimMaker) apply(op int, x, y expression) expression {
	z := expression{valid: x.valid && y.valid}
	switch op {
	case 0:
		z.d, z.value = x.d.Add(y.d), x.value+y.value
	case 1:
		z.d, z.value = x.d.Sub(y.d), x.value-y.value
	case 2:
		z.d, z.value = x.d.Mul(y.d), x.value*y.value
	case 3:
		z.d = x.d.Div(y.d)
		if z.valid = z.valid && y.value != 0; z.valid {
			z.value = (x.value - ((x.value%y.value)+y.value)%y.value) / y.value
		}
	case 4:
		z.d, z.value = x.d.Min(y.d), min(x.value, y.value)
	case 5:
		z.d, z.value = x.d.Max(y.d), max(x.value, y.value)
	}
	return z
}

// TestDimRandom compares expressions to integers.
func TestDimRandom(t *testing.T) {
	m := &dimMaker{Rand: rand.New(rand.NewPCG(1, 2))}
	checked := 0
	for range 20000 {
		for i := range m.values {
			m.values[i] = m.IntN(16) - 3
		}
		x := m.some(1 + m.IntN(4))
		if x.d.IsUnknown() || !x.valid {
			continue
		}
		if got, ok := x.d.Eval(m.lookup); !ok || got != x.value {
			t.Fatalf("%v is %d with %v, not %d (%v)", x.d, x.value, m.values, got, ok)
		}
		if again := graph.ParseDim(x.d.Key()); !again.Same(x.d) {
			t.Fatalf("%v is read as %v", x.d, again)
		}
		numbers := x.d.Subst(func(name string) (graph.Dim, bool) { n, ok := m.lookup(name); return graph.Known(n), ok })
		if !numbers.Is(x.value) {
			t.Fatalf("%v is %v with %v, not %d", x.d, numbers, m.values, x.value)
		}
		if same := x.d.Subst(func(string) (graph.Dim, bool) { return graph.Dim{}, false }); !same.Same(x.d) {
			t.Fatalf("%v is %v built again", x.d, same)
		}
		checked++
	}
	if checked < 10000 {
		t.Errorf("%d expressions checked", checked)
	}
}

// TestDimLaws checks that algebraically equal expressions have one form.
func TestDimLaws(t *testing.T) {
	m := &dimMaker{Rand: rand.New(rand.NewPCG(3, 4)), values: [3]int{2, 3, 5}}
	checked := 0
	for range 5000 {
		x, y, z := m.some(2).d, m.some(2).d, m.some(2).d
		k := graph.Known(m.IntN(9) + 1)
		for law, sides := range map[string][2]graph.Dim{
			"x+y":       {x.Add(y), y.Add(x)},
			"x*y":       {x.Mul(y), y.Mul(x)},
			"min(x,y)":  {x.Min(y), y.Min(x)},
			"max(x,y)":  {x.Max(y), y.Max(x)},
			"(x+y)+z":   {x.Add(y).Add(z), x.Add(y.Add(z))},
			"(x*y)*z":   {x.Mul(y).Mul(z), x.Mul(y.Mul(z))},
			"x*(y+z)":   {x.Mul(y.Add(z)), x.Mul(y).Add(x.Mul(z))},
			"x-y":       {x.Sub(y).Add(y), x},
			"x*k/k":     {x.Mul(k).Div(k), x},
			"x*y/y":     {x.Mul(y).Div(y), x},
			"(x+y*z)/z": {x.Add(y.Mul(z)).Div(z), x.Div(z).Add(y)},
			"(x+y*k)/k": {x.Add(y.Mul(k)).Div(k), x.Div(k).Add(y)},
		} {
			if sides[0].IsUnknown() || sides[1].IsUnknown() {
				continue
			}
			if !sides[0].Same(sides[1]) || sides[0].Key() != sides[1].Key() {
				t.Fatalf("%s: %v and %v, with x = %v, y = %v, z = %v, k = %v", law, sides[0], sides[1], x, y, z, k)
			}
			checked++
		}
	}
	if checked < 30000 {
		t.Errorf("%d pairs checked", checked)
	}
}

// linear returns a random sum of symbols with coefficients of at least least.
func (m *dimMaker) linear(least int) graph.Dim {
	d := graph.Known(m.IntN(7) - 3)
	for _, name := range dimNames {
		d = d.Add(graph.Symbol(name).Mul(graph.Known(m.IntN(5) + least)))
	}
	return d
}

// TestDimLinear checks laws that hold for sums of symbols.
func TestDimLinear(t *testing.T) {
	m := &dimMaker{Rand: rand.New(rand.NewPCG(5, 6))}
	for range 2000 {
		x, y, z := m.linear(-2), m.linear(-2), m.linear(-2)
		j, k := graph.Known(m.IntN(5)+1), graph.Known(m.IntN(5)+1)
		if a, b := x.Min(y).Min(z), z.Min(x).Min(y); !a.Same(b) {
			t.Fatalf("%v and %v", a, b)
		}
		if a, b := x.Max(y).Max(z), z.Max(x).Max(y); !a.Same(b) {
			t.Fatalf("%v and %v", a, b)
		}
		if a, b := x.Div(j), x.Mul(k).Div(j.Mul(k)); !a.Same(b) {
			t.Fatalf("%v and %v", a, b)
		}
		if a, b := x.Div(j).Div(k), x.Div(j.Mul(k)); !a.Same(b) {
			t.Fatalf("%v and %v", a, b)
		}
		if a, b := x.Min(y).Add(z), x.Add(z).Min(y.Add(z)); !a.Same(b) {
			t.Fatalf("%v and %v", a, b)
		}
	}
}
