package cases

import (
	"fmt"
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Near compares tensors. Numbers may differ by the tolerance times the largest finite number of
// want; NaN and infinities must be the same, unless loose is set. Loose is for results of graphs
// that add in other orders, where sums of large numbers may overflow.
func Near(want, got *tensor.Tensor, tolerance float64, loose bool) error {
	if got == nil || want.DType() != got.DType() || !want.Shape().Equal(got.Shape()) {
		return fmt.Errorf("%v, want %v", got, want)
	}
	if !slices.Equal(want.Strings(), got.Strings()) {
		return fmt.Errorf("%.200q, want %.200q", got.Strings(), want.Strings())
	}
	x, ok := kit.Numbers(want)
	y, _ := kit.Numbers(got)
	if !ok {
		return nil
	}
	largest := 1e-3
	for _, v := range x {
		if a := math.Abs(v); a > largest && !math.IsInf(a, 0) {
			largest = a
		}
	}
	for i := range x {
		switch {
		case math.IsNaN(x[i]) && math.IsNaN(y[i]) || x[i] == y[i]:
		case loose && (math.IsNaN(x[i]) || math.IsInf(x[i], 0)):
		case !(math.Abs(x[i]-y[i]) <= tolerance*largest):
			return fmt.Errorf("element %d of %v is %v, want %v", i, want, y[i], x[i])
		}
	}
	return nil
}
