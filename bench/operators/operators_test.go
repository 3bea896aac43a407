package operators

import (
	"maps"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/runtime/op/standard"
)

// TestRows compares the table with the registry. An operator has rows, or a reason to have none.
func TestRows(t *testing.T) {
	list, err := Rows()
	if err != nil {
		t.Fatal(err)
	}
	count, names := map[string]int{}, map[string]bool{}
	for _, r := range list {
		count[r.Op()]++
		if names[r.Name] {
			t.Errorf("two rows are named %s", r.Name)
		}
		names[r.Name] = true
	}
	reasons := maps.Clone(Exempt)
	for _, row := range standard.Registry().Rows() {
		if slices.Contains(ExemptDomains, row.Domain) {
			continue
		}
		op := row.Name
		if row.Domain != "" {
			op = row.Domain + "." + op
		}
		switch reason := Exempt[op]; {
		case count[op] == 0 && reason == "":
			t.Errorf("operator %s has no row: add one to a .txt file of this folder, or a reason to exempt.go", op)
		case count[op] > 0 && reason != "":
			t.Errorf("operator %s has a row, and a reason to have none: %s", op, reason)
		}
		delete(count, op)
		delete(reasons, op)
	}
	for op := range count {
		t.Errorf("there is a row of %s, which is no operator", op)
	}
	for op := range reasons {
		t.Errorf("there is a reason for %s, which is no operator", op)
	}
}

// TestBuild makes every model, with a value for each input of its graph.
func TestBuild(t *testing.T) {
	if testing.Short() {
		t.Skip("fills hundreds of megabytes: not in short runs")
	}
	list, err := Rows()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		m, err := r.Build()
		if err != nil {
			t.Error(err)
			continue
		}
		if len(m.Feeds) != len(m.Graph.Inputs) || len(m.Graph.Outputs) == 0 {
			t.Errorf("row %s: %d inputs, %d values for them, %d outputs", r.Name, len(m.Graph.Inputs), len(m.Feeds),
				len(m.Graph.Outputs))
		}
	}
}

// TestNotation reads words that are no tensor, no attribute and no node.
func TestNotation(t *testing.T) {
	for _, text := range []string{"float33[2]", "float32[2", "int64[2](0)", "int64{a}", "axis=[1,2", "axis=[1]2", "->x",
		"$2"} {
		if _, err := (&Row{Name: "Relu", text: "float32[2] " + text}).Build(); err == nil {
			t.Errorf("%q was read", text)
		}
	}
	m, err := (&Row{Name: "ai.onnx.ml.X@3/form",
		text: "=int64[7]%4*3 string[3]{a,b} k=[1,2]*2 v=[0.5] w=word ->2"}).Build()
	if err != nil {
		t.Fatal(err)
	}
	n := m.Graph.Nodes[0]
	if n.Domain != "ai.onnx.ml" || n.Op != "X" || n.Version != 3 || len(n.Outputs) != 2 || len(n.Attrs) != 3 {
		t.Errorf("%+v", n)
	}
	if got := m.Graph.Initializers[0].Tensor.String(); got != "int64[7]" {
		t.Errorf("the constant is %s", got)
	}
	if !slices.Equal(m.Feeds[0].Strings(), []string{"a", "b", "a"}) ||
		!slices.Equal(n.Attrs[0].Ints, []int64{1, 2, 1, 2}) {
		t.Errorf("%q, %v", m.Feeds[0].Strings(), n.Attrs[0].Ints)
	}
}
