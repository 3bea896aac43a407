package graph

import (
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestBuilder builds a network with a weight, a state and a branch.
func TestBuilder(t *testing.T) {
	b := NewBuilder("net")
	vector := TensorOf(tensor.F32, Dims{Known(3)})
	x := b.Input("x", vector)
	past := b.State("past", "present", -1, vector)
	w := &Initializer{Name: "w", Tensor: tensor.New(tensor.F32, 3)}
	h := b.Op("Mul", []string{x, b.Weight(w)})
	h = b.Name(b.Op("Add", []string{h, b.Weight(w)}), "hidden")
	if again := b.Float(2); again != b.Float(2) {
		t.Error("equal constants are two")
	}
	yes, no := b.Body("yes"), b.Body("no")
	yes.Output(yes.Op("Add", []string{h, b.Float(2)}), "y", vector)
	no.Output(no.Op("Identity", []string{h}), "n", vector)
	cond := tensor.New(tensor.Bool)
	if one, other := b.Op("Add", []string{h, h}), b.Node("other", "add", []string{h, h}, 1)[0]; one == other {
		t.Errorf("operators whose names differ in case both make %q", one)
	}
	y := b.Node("", "If", []string{b.Constant(cond)}, 1, GraphAttr("then_branch", yes.Graph()),
		GraphAttr("else_branch", no.Graph()))[0]
	b.Output(y, "y", vector)
	b.Output(h, "present", vector)
	b.Output(b.Node("com.microsoft", "Gelu", []string{past}, 1)[0], "g", vector)
	m := b.Model(&Model{Format: "test"})
	if err := Validate(m); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := Dump(&text, m); err != nil {
		t.Fatal(err)
	}
	if want := []State{{"past", "present", -1}}; !slices.Equal(m.States, want) {
		t.Errorf("states are %v, want %v", m.States, want)
	}
	if want := []Opset{{"", StandardVersion}, {"com.microsoft", 1}, {"other", 1}}; !slices.Equal(m.Opsets, want) {
		t.Errorf("operator sets are %v, want %v", m.Opsets, want)
	}
	if len(m.Graph.Initializers) != 1 {
		t.Errorf("there are %d initializers, want 1", len(m.Graph.Initializers))
	}
	names := map[string]bool{}
	for _, n := range m.Graph.Nodes {
		for _, o := range n.Outputs {
			if names[o] {
				t.Errorf("%q is made twice:\n%s", o, &text)
			}
			names[o] = true
		}
	}
	for _, name := range []string{"hidden", "present", "y", "g"} {
		if !names[name] {
			t.Errorf("no node makes %q:\n%s", name, &text)
		}
	}
}

// TestBuilderKeepsNames names and uses a value before it becomes an output.
func TestBuilderKeepsNames(t *testing.T) {
	b := NewBuilder("net")
	scalar := TensorOf(tensor.F32, Dims{})
	x := b.Input("x", scalar)
	h := b.Op("Neg", []string{x})
	used := b.Op("Abs", []string{h})
	b.Output(h, "h", scalar)
	b.Output(used, "used", scalar)
	b.Output(x, "same", scalar)
	b.Output(b.Float(1), "one", scalar)
	if b.Float(1) == "one" {
		t.Error("a shared constant was renamed")
	}
	if err := Validate(b.Model(&Model{})); err != nil {
		t.Error(err)
	}
}
