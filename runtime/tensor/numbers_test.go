package tensor_test

import (
	"testing"

	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestNumbers reads zeros of every type. All but strings and complex numbers have numbers.
func TestNumbers(t *testing.T) {
	for _, d := range tensor.AllDTypes() {
		n := 3
		if b := d.Blocks(); b != nil {
			n = b.Elements
		}
		at := tensor.Numbers(tensor.New(d, n))
		if k := d.Kind(); (at == nil) != (k == tensor.Text || k == tensor.Complex) {
			t.Errorf("%v: numbers are there: %v", d, at != nil)
		}
		// Code 0 of powers of two and of signs is not zero.
		if at == nil || d == tensor.F8E8M0 || d.Layout() != nil && d.Layout().Binary {
			continue
		}
		if at(2) != 0 {
			t.Errorf("%v: a zero is read as %g", d, at(2))
		}
	}
}
