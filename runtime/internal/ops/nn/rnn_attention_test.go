package nn

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestTanhSum compares tanhSum with the tangent of the sum, for small and large numbers, infinities
// and NaN.
func TestTanhSum(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	inf := math.Inf(1)
	list := []float64{0, 1e-9, -1e-9, 149, -149, 151, -151, 800, -800, inf, -inf, math.NaN()}
	for range 50 {
		list = append(list, r.NormFloat64()*3)
	}
	for _, x := range angles(list) {
		for _, y := range angles(list) {
			got, want := tanhSum(x, y), math.Tanh(x.v+y.v)
			if math.IsNaN(got) != math.IsNaN(want) || math.Abs(got-want) > 1e-15 {
				t.Errorf("tanh(%g + %g) is %g, not %g", x.v, y.v, got, want)
			}
		}
	}
}
