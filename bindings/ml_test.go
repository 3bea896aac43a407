package bindings

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

func TestRBFVariants(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, s := range [][3]int{{1, 1, 1}, {3, 5, 7}, {2, 16, 16}, {5, 3, 17}, {7, 40, 130}, {300, 20, 65}, {0, 4, 4}, {4, 0, 4}} {
		rows, width, n := s[0], s[1], s[2]
		stride := (n + MLPad - 1) / MLPad * MLPad
		x, v := randomFloats(r, rows*width), randomFloats(r, width*stride)
		for _, gamma := range []float32{0.3, 0, -0.01, 50} {
			checkVariants(t, "f32_rbf", fmt.Sprint(s, gamma), rows*n, 1e-30, 3e-4, func(k Kernel, p *Pool, out []float32) {
				RBFF32(k, p, x, rows, width, v, n, gamma, out)
			})
			out := make([]float32, rows*n)
			RBFF32(scalarOf(t, "f32_rbf"), nil, x, rows, width, v, n, gamma, out)
			for i, got := range out {
				sum := 0.0
				for f := range width {
					d := float64(x[i/n*width+f]) - float64(v[f*stride+i%n])
					sum += d * d
				}
				if want := math.Exp(-float64(gamma) * sum); math.Abs(float64(got)-want) > 1e-30+1e-4*want {
					t.Fatalf("%v gamma %v: element %d is %v, not %v", s, gamma, i, got, want)
				}
			}
		}
	}
}
