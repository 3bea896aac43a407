package graph_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
)

var (
	known  = graph.Known
	parsed = graph.ParseDim
)

func symbols(names string) []graph.Dim {
	var list []graph.Dim
	for _, s := range strings.Fields(names) {
		list = append(list, graph.Symbol(s))
	}
	return list
}

func TestDimForm(t *testing.T) {
	v := symbols("a b n m")
	a, b, n, m := v[0], v[1], v[2], v[3]
	one, two, four := known(1), known(2), known(4)
	for _, c := range []struct {
		want string
		d    graph.Dim
	}{
		{"0", graph.Dim{}},
		{"a+b", a.Add(b)},
		{"a+b", b.Add(a)},
		{"n+2", two.Mul(n.Add(one)).Sub(n)},
		{"n", n.Mul(four).Div(four)},
		{"0", n.Sub(n)},
		{"1", n.Div(n)},
		{"2*n+2", n.Add(one).Mul(two)},
		{"n*n-1", n.Add(one).Mul(n.Sub(one))},
		{"8-n", known(8).Sub(n)},
		{"a-b+1", a.Sub(b).Add(one)},
		{"-n", n.Mul(known(-1))},
		{"-n-3", n.Mul(known(-1)).Sub(known(3))},
		{"(n+1)/2", n.Sub(one).Div(two).Add(one)},
		{"n/4", n.Div(two).Div(two)},
		{"(n+2)/4", n.Div(two).Add(one).Div(two)},
		{"n/2", n.Mul(two).Add(one).Div(four)},
		{"n+n/2", n.Mul(known(6)).Div(four)},
		{"2*(n/2)", n.Div(two).Mul(two)},
		{"m*(n/2)", m.Mul(n.Div(two))},
		{"(n/2)*(n/2)", n.Div(two).Mul(n.Div(two))},
		{"n/2-n", n.Mul(known(-1)).Div(two)},
		{"(a+b)/2-b", a.Sub(b).Div(two)},
		{"n", n.Mul(m).Div(m)},
		{"n+1", n.Add(one).Mul(m).Div(m)},
		{"n+1", n.Mul(n).Sub(one).Div(n.Sub(one))},
		{"n/m", n.Mul(a).Div(m.Mul(a))},
		{"8/n", known(8).Div(n)},
		{"n/(a*b)", n.Div(a.Mul(b))},
		{"n/(m/2)", n.Div(m.Div(two))},
		{"(n/m)/2", n.Div(m).Div(two)},
		{"2", n.Add(one).Mul(two).Div(n.Add(one))},
		{"-n/2", known(0).Sub(n.Div(two))},
		{"min(n,8)", n.Cap(8)},
		{"min(n,4)", n.Cap(8).Cap(4)},
		{"min(n,7)+1", n.Add(one).Cap(8)},
		{"min(n,4)+1", n.Cap(8).Add(one).Cap(5)},
		{"2*min(n,4)", n.Mul(two).Cap(8)},
		{"n", n.Min(n.Add(one))},
		{"n+1", n.Max(n.Add(one))},
		{"max(n,3)-3", n.Sub(known(3)).Max(known(0))},
		{"min(a,b,n)", n.Min(b.Min(a))},
		{"max(a,b)", b.Max(a).Max(a)},
		{"min(max(n,1),8)", n.Max(one).Min(known(8))},
		{"max(a,b)/2", a.Max(b).Div(two)},
		{"?", n.Add(graph.Unknown())},
		{"0", graph.Unknown().Mul(known(0))},
		{"?", graph.Unknown().Sub(graph.Unknown())},
		{"?", n.Div(known(0))},
		{"batch-size", graph.Symbol("batch-size")},
		{`2*"batch-size"`, graph.Symbol("batch-size").Mul(two)},
	} {
		if c.d.String() != c.want {
			t.Errorf("got %v, want %s", c.d, c.want)
		}
		if again := parsed(c.d.String()); !c.d.IsUnknown() && c.d.Text() != "batch-size" && !again.Same(c.d) {
			t.Errorf("%v is read as %v", c.d, again)
		}
	}
}

func TestDimCompare(t *testing.T) {
	v := symbols("a b n m")
	a, b, n, m := v[0], v[1], v[2], v[3]
	exceeds := func(d, e graph.Dim, want bool) {
		t.Helper()
		if d.Exceeds(e) != want {
			t.Errorf("%v exceeds %v: %v", d, e, !want)
		}
	}
	exceeds(a.Add(b).Add(known(1)), b.Add(a), true)
	exceeds(b.Add(a), a.Add(b), false)
	exceeds(n, n.Sub(known(1)), true)
	exceeds(n, m, false)
	exceeds(n, known(0), false)
	exceeds(known(2), known(1), true)
	exceeds(graph.Unknown(), known(-1), false)
	exceeds(graph.Unknown(), graph.Unknown(), false)
	capOf := func(d, e graph.Dim, want int, ok bool) {
		t.Helper()
		if got, is := d.CapOf(e); got != want || is != ok {
			t.Errorf("%v as a part of %v: %d, %v", d, e, got, is)
		}
	}
	capOf(n.Cap(8), n, 8, true)
	capOf(n.Add(known(1)).Cap(8), known(1).Add(n), 8, true)
	capOf(b.Add(a).Mul(known(2)).Cap(8), a.Add(b).Mul(known(2)), 8, true)
	capOf(n.Cap(8), m, 0, false)
	capOf(n.Min(m), n, 0, false)
	capOf(n.Min(m).Cap(8), m.Min(n), 8, true)
	capOf(known(8), n, 0, false)
	capOf(graph.Unknown(), n, 0, false)
	for d, want := range map[string]bool{"0": true, "-1": false, "n": true, "n-1": false, "n/m": true, "max(n-5,0)": true, "max(n-5,-1)": false, "min(n,m-1)": false,
		"min(n,m)": true, "max(-1,n)": true, "a-b": false, "(n+1)/2": true, "?": false} {
		if parsed(d).NonNegative() != want {
			t.Errorf("%s is not negative: %v", d, !want)
		}
	}
	if graph.Unknown().Same(graph.Unknown()) || n.Same(known(0)) || n.Same(m) || !n.Same(parsed("n")) {
		t.Error("Same")
	}
	if graph.Symbol("a+b").Key() == a.Add(b).Key() || a.Add(b).Key() != b.Add(a).Key() {
		t.Error("Key")
	}
}

func TestDimSymbols(t *testing.T) {
	d := parsed("min(seq, 8)*batch + (seq+past)/heads + 3")
	if got := d.Symbols(); !slices.Equal(got, []string{"batch", "heads", "past", "seq"}) {
		t.Errorf("got %v", got)
	}
	if known(3).Symbols() != nil || graph.Unknown().Symbols() != nil {
		t.Error("symbols of what has none")
	}
	with := func(name string) (graph.Dim, bool) {
		switch name {
		case "seq":
			return known(9), true
		case "past":
			return parsed("batch-1"), true
		}
		return graph.Dim{}, false
	}
	if got := d.Subst(with); got.String() != "(batch+8)/heads+8*batch+3" && got.String() != "8*batch+(batch+8)/heads+3" {
		t.Errorf("got %v", got)
	}
	if got := parsed("n/seq").Subst(func(string) (graph.Dim, bool) { return known(0), true }); !got.IsUnknown() {
		t.Errorf("got %v", got)
	}
}

func TestDimEval(t *testing.T) {
	values := map[string]int{"n": 5, "m": 2, "big": math.MaxInt, "zero": 0}
	lookup := func(name string) (int, bool) { n, ok := values[name]; return n, ok }
	for text, want := range map[string]int{"7": 7, "n*m+1": 11, "(n+1)/4": 1, "(-n)/m": -3, "min(n,m)*max(n,m,9)": 18,
		"big-1": math.MaxInt - 1} {
		if got, ok := parsed(text).Eval(lookup); !ok || got != want {
			t.Errorf("%s: got %d, %v", text, got, ok)
		}
	}
	for _, text := range []string{"?", "other", "n+other", "min(n,other)", "n/zero", "big+1", "big*2", "(n+other)/2"} {
		if got, ok := parsed(text).Eval(lookup); ok {
			t.Errorf("%s: got %d", text, got)
		}
	}
	d := parsed("(min(n,8)*m+3)/2-n")
	if n := testing.AllocsPerRun(20, func() { d.Eval(lookup) }); n != 0 {
		t.Errorf("Eval allocates %v times", n)
	}
	x, y := known(12), known(5)
	if n := testing.AllocsPerRun(20, func() {
		x.Add(y).Sub(y).Mul(y).Div(y).Min(y).Max(x).Cap(3)
		d.Add(y).Same(d)
	}); n != 0 {
		t.Errorf("numbers allocate %v times", n)
	}
}

func TestDimLimits(t *testing.T) {
	n, most, least := graph.Symbol("n"), known(math.MaxInt), known(math.MinInt)
	for i, d := range []graph.Dim{
		most.Add(known(1)), least.Sub(known(1)), known(0).Sub(least), most.Mul(known(2)), least.Mul(known(-1)), known(-1).Mul(least), least.Div(known(-1)),
		n.Mul(most).Mul(known(2)), n.Mul(most).Add(n), n.Add(most).Add(known(1)), n.Mul(least).Sub(n), n.Mul(least).Mul(known(-1)),
	} {
		if !d.IsUnknown() {
			t.Errorf("%d: got %v", i, d)
		}
	}
	if d := known(-1).Sub(least); !d.Is(math.MaxInt) {
		t.Errorf("got %v", d)
	}
	grow := map[string]func(d graph.Dim, i int) graph.Dim{
		"terms":    func(d graph.Dim, i int) graph.Dim { return d.Add(graph.Symbol(strings.Repeat("x", i+1))) },
		"factors":  func(d graph.Dim, i int) graph.Dim { return d.Mul(n) },
		"products": func(d graph.Dim, i int) graph.Dim { return d.Mul(d.Add(graph.Symbol(strings.Repeat("y", i+1)))) },
		"depth":    func(d graph.Dim, i int) graph.Dim { return d.Add(known(1)).Div(d.Mul(n).Add(known(2))) },
		"extremes": func(d graph.Dim, i int) graph.Dim { return d.Min(graph.Symbol(strings.Repeat("z", i+1))).Mul(n) },
		"names":    func(d graph.Dim, i int) graph.Dim { return d.Add(graph.Symbol(strings.Repeat("w", 1000*(i+1)))) },
	}
	for name, f := range grow {
		d, steps := n, 0
		for ; steps < 200 && !d.IsUnknown(); steps++ {
			if d = f(d, steps); len(d.String()) > 1<<14 {
				t.Fatalf("%s: %d bytes", name, len(d.String()))
			}
		}
		if steps < 3 || !d.IsUnknown() {
			t.Errorf("%s: unknown %v after %d steps", name, d.IsUnknown(), steps)
		}
	}
}

// TestUnknownIsNoOther compares unknown extents to others, 0 among them.
func TestUnknownIsNoOther(t *testing.T) {
	for _, d := range []graph.Dim{graph.Known(0), graph.Known(1), graph.Symbol("n"), graph.Unknown(),
		graph.Symbol("n").Add(graph.Known(2))} {
		if d.Same(graph.Unknown()) || graph.Unknown().Same(d) {
			t.Errorf("%v is the same as an unknown extent", d)
		}
		if graph.Unknown().Exceeds(d) || d.Exceeds(graph.Unknown()) {
			t.Errorf("%v and an unknown extent exceed each other", d)
		}
	}
}
