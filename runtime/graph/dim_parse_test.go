package graph_test

import (
	"math"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
)

var dimTexts = []struct{ text, want string }{
	{"past_sequence_length + 1", "past_sequence_length+1"},
	{"batch_size * 2", "2*batch_size"},
	{"(height+1)/2", "(height+1)/2"},
	{"batch", "batch"},
	{"p2o.DynamicDimension.0", "p2o.DynamicDimension.0"},
	{"4", "4"},
	{"sequence + past", "past+sequence"},
	{"s0**2", "s0*s0"},
	{"((s53 - 1)//2) + 1", "(s53+1)/2"},
	{"floor(h/2 - 1/2) + 1", "(h+1)/2"},
	{"ceiling(h/2)", "(h+1)/2"},
	{"Max(1, s0)", "max(s0,1)"},
	{"Min(s0, s1 - 1)", "min(s0+1,s1)-1"},
	{"-n + 2", "2-n"},
	{"a - (b - c)", "a+c-b"},
	{`"batch-size"*2`, `2*"batch-size"`},
	{"n-n", "0"},
}

// notDims are texts that are not expressions.
var notDims = []string{
	"past len", "2x", "x 2", "n+", "(n", "n)", "n++m", "a,b", "f(n)", "min()", "min(a", "n**0", "n**99", "n**m", "1/2", "h/2 - 1/2", "floor(a/b)",
	"0.5*n", "n/0", "None?", "a|b", "9223372036854775807+1", "99999999999999999999", "\xff", `"a`, "floor(n/2", "n*", " ",
	strings.Repeat("(", 99) + "n" + strings.Repeat(")", 99), strings.Repeat("n+", 400) + "n",
}

func TestParseDim(t *testing.T) {
	for _, c := range dimTexts {
		d := graph.ParseDim(c.text)
		if d.String() != c.want {
			t.Errorf("%q is %v, want %s", c.text, d, c.want)
		}
		if !d.IsKnown() && d.Text() != c.text {
			t.Errorf("%q has the text %q", c.text, d.Text())
		}
		if e := d.Add(graph.Known(1)); e.Text() != e.String() {
			t.Errorf("%v has the text %q", e, e.Text())
		}
	}
	for _, text := range notDims {
		if d := graph.ParseDim(text); !d.Same(graph.Symbol(text)) || d.Text() != text {
			t.Errorf("%q is %v", text, d)
		}
	}
	for _, text := range []string{"", "?"} {
		if d := graph.ParseDim(text); !d.IsUnknown() {
			t.Errorf("%q is %v", text, d)
		}
	}
}

func FuzzParseDim(f *testing.F) {
	for _, c := range dimTexts {
		f.Add(c.text)
	}
	for _, text := range notDims {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d := graph.ParseDim(text)
		if !d.IsUnknown() && !d.IsKnown() && d.Text() != text {
			t.Errorf("%q has the text %q", text, d.Text())
		}
		if d.Same(graph.Symbol(text)) {
			return
		}
		if again := graph.ParseDim(d.Key()); len(d.Key()) <= 256 && !d.IsUnknown() && !again.Same(d) {
			t.Errorf("%q is %v, which is read as %v", text, d, again)
		}
		d.Eval(func(string) (int, bool) { return math.MinInt, true })
		if e := d.Add(d).Sub(d); !e.IsUnknown() && !e.Same(d) {
			t.Errorf("%v and itself less itself are %v", d, e)
		}
	})
}
