package container

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// TestEscape checks that no two names become the same.
func TestEscape(t *testing.T) {
	holds := func(name string) error {
		if name == "" || strings.HasPrefix(name, "_") || strings.ContainsFunc(name, func(r rune) bool { return r > 0x7e }) {
			return errors.New("is bad")
		}
		return nil
	}
	cases := []struct{ in, want string }{
		{"", "%"}, {"%", "%25"}, {"a b", "a b"}, {"é", "%C3%A9"}, {"\xff\n", "%FF%0A"}, {"_x", "%5Fx"}, {"%5Fx", "%255Fx"}, {"x_", "x_"}, {"%C3%A9", "%25C3%25A9"},
	}
	met := map[string]bool{}
	for _, c := range cases {
		got := Escape(c.in, holds)
		if got != c.want || holds(got) != nil || met[got] {
			t.Errorf("%q becomes %q, want %q", c.in, got, c.want)
		}
		met[got] = true
	}
	g := &graph.Graph{}
	for _, c := range cases {
		g.Initializers = append(g.Initializers, &graph.Initializer{Name: c.in})
	}
	var r Refusals
	names := Options{Rename: true}.Names(g, holds, &r)
	if r.Err() != nil || names[1] != "%25" || names[2] != "a b" {
		t.Errorf("names %q, %v", names, r.Err())
	}
	g.Initializers = g.Initializers[1:3]
	if names := (Options{Rename: true}).Names(g, holds, &r); r.Err() != nil || !slices.Equal(names, []string{"%", "a b"}) {
		t.Errorf("without a reason names become %q, %v", names, r.Err())
	}
	g.Initializers = append(g.Initializers, &graph.Initializer{Name: "é"}, &graph.Initializer{Name: "a b"})
	Options{}.Names(g, holds, &r)
	if err := r.Err(); err == nil || !strings.Contains(err.Error(), `"é" is bad`) || !strings.Contains(err.Error(), `"a b" is there more than once`) {
		t.Errorf("refused: %v", err)
	}
}

func TestTensorsOnly(t *testing.T) {
	m := &graph.Model{
		Sizes: []graph.Size{{Name: "size"}}, Functions: []*graph.Function{{}},
		Graph: &graph.Graph{
			Inputs: []*graph.Value{{Name: "x"}}, Values: []*graph.Value{{Name: "value"}}, Meta: []graph.Pair{{Key: "meta"}},
			Sparse:       []*graph.SparseInitializer{{Name: "sparse"}},
			Initializers: []*graph.Initializer{{Name: "w", Meta: []graph.Pair{{Key: "of w"}}}},
		},
	}
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{}, "graph sparse size value meta of w"},
		{Options{DropGraph: true}, "sparse size meta of w"},
		{Options{DropMeta: true}, "graph sparse"},
		{Options{DropMeta: true, DropGraph: true}, "sparse"},
	} {
		var r Refusals
		c.o.TensorsOnly(m, &r)
		lines := strings.Split(r.Err().Error(), "\n")
		words := strings.Split(strings.Replace(c.want, "of w", "of_w", 1), " ")
		if len(lines) != len(words) {
			t.Errorf("%+v: %q", c.o, lines)
			continue
		}
		for i, w := range words {
			if !strings.Contains(lines[i], strings.Replace(w, "_", " ", 1)) {
				t.Errorf("%+v: %q, want %s", c.o, lines[i], w)
			}
		}
	}
}

// TestDescribed writes models whose descriptions no file of tensors holds.
func TestDescribed(t *testing.T) {
	m := &graph.Model{Producer: "p", ProducerVer: "1", Domain: "d", Version: 7, Doc: "about", Graph: &graph.Graph{
		Doc: "more", Initializers: []*graph.Initializer{{Name: "w", Doc: "weight"}}, Quant: []*graph.QuantAnnotation{{Tensor: "q"}},
	}}
	refusals := func(o Options) string {
		var r Refusals
		if o.TensorsOnly(m, &r); r.Err() == nil {
			return ""
		}
		return r.Err().Error()
	}
	for _, o := range []Options{{}, {DropGraph: true}} {
		text := refusals(o)
		for _, what := range []string{"producer (", "producer's version", "domain", "model's version (7)", "documentation (\"about\")", "graph's documentation", "tensor \"w\"", "quantisation of \"q\""} {
			if !strings.Contains(text, what) {
				t.Errorf("%+v: no %q in %s", o, what, text)
			}
		}
	}
	if text := refusals(Options{DropMeta: true}); text != "" {
		t.Errorf("left out: %s", text)
	}
	m.Graph.Nodes = []*graph.Node{{}}
	if text := refusals(Options{DropGraph: true}); strings.Contains(text, "producer") {
		t.Errorf("a graph leaves its producer: %s", text)
	}
}
