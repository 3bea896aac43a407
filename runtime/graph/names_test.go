package graph

import "testing"

// TestNames makes names that no part of a model has.
func TestNames(t *testing.T) {
	body := &Graph{Nodes: []*Node{{Name: "inner", Inputs: []string{"captured"}, Outputs: []string{"x_3"}}}}
	g := &Graph{
		Inputs:       []*Value{{Name: "x"}},
		Initializers: []*Initializer{{Name: "w"}},
		Nodes:        []*Node{{Name: "n", Outputs: []string{"y"}, Attrs: []*Attr{{Name: "body", Kind: AttrGraph, Graph: body}}}},
	}
	names := NamesOf(g)
	for _, c := range [][2]string{
		{"x", "x_2"}, {"x", "x_4"}, {"x", "x_5"}, {"free", "free"}, {"free", "free_2"}, {"inner", "inner_2"}, {"captured", "captured_2"},
		{"w", "w_2"}, {"y", "y_2"}, {"n", "n_2"}, {"x_2", "x_2_2"},
	} {
		if got := names.New(c[0]); got != c[1] {
			t.Errorf("%s gives %s, want %s", c[0], got, c[1])
		}
	}
}
