package op

import "testing"

// TestCopy registers operators in a registry and in its copies and checks that each keeps its own.
func TestCopy(t *testing.T) {
	row := func(name string) Row {
		return Row{Domain: "d", Name: name, Since: []int{1}, New: func(*Node) (Op, error) { return nil, nil }}
	}
	register := func(r *Registry, name string) {
		if err := r.Register(row(name)); err != nil {
			t.Fatal(err)
		}
	}
	r := &Registry{}
	register(r, "A")
	a, b := r.Copy(), r.Copy()
	register(a, "B")
	register(r, "C")
	c := a.Copy()
	register(a, "D")
	for i, test := range []struct {
		registry *Registry
		want     []string
	}{{r, []string{"A", "C"}}, {a, []string{"A", "B", "D"}}, {b, []string{"A"}}, {c, []string{"A", "B"}}} {
		rows := test.registry.Rows()
		if len(rows) != len(test.want) {
			t.Errorf("registry %d has %d operators, want %v", i, len(rows), test.want)
			continue
		}
		for k, name := range test.want {
			if rows[k].Name != name {
				t.Errorf("registry %d has operator %s, want %s", i, rows[k].Name, name)
			}
		}
	}
}
