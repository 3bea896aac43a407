package openinfer_test

import (
	"context"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/testenv"
)

// TestFetchAssigned fetches a value that the block entry assigns and that is not an output.
func TestFetchAssigned(t *testing.T) {
	testenv.Need(t, bindings.Available())
	w := written{program: `dynamic { x: f32[2] @init(3.0); } volatile { y: f32[2]; }
block entry { assign t: f32[2]; op add(x, x) >> t; op add(t, x) >> y; }`}
	m, err := w.open(t)
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range ways() {
		o.Outputs = []string{"t"}
		p, err := newStepper(t, m, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			in   map[string]*nacre.Tensor
			want []float64
		}{{map[string]*nacre.Tensor{"x": in([]int{2}, 1, 2)}, []float64{2, 4}}} {
			out, err := p.step(context.Background(), c.in)
			if err != nil {
				t.Fatal(err)
			}
			if got := numbers(out["t"]); len(out) != 1 || !slices.Equal(got, c.want) {
				t.Errorf("%s: got %v of %d outputs, want %v", name, got, len(out), c.want)
			}
		}
	}
}
