package vulkan_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
	"github.com/nacre-ml/nacre/runtime/vulkan"
)

// TestQuotients compares Div with float64: of random numbers of all exponents, and of numbers whose
// quotients are as near to the middle of two floats as any.
func TestQuotients(t *testing.T) {
	const n = 1 << 16
	r := rand.New(rand.NewPCG(5, 255))
	u, v := make([]float32, n), make([]float32, n)
	for i := range u {
		v[i] = float32(math.Ldexp(1+r.Float64(), r.IntN(60)-30))
		u[i] = float32(math.Ldexp(1+r.Float64(), r.IntN(60)-30))
		if i%2 == 0 { // the numbers beside the middle of q and the next float, times v
			q := float64(1 + r.Float32())
			u[i] = float32(float64(v[i]) * (q + 0x1p-24))
			u[i] = math.Float32frombits(math.Float32bits(u[i]) + uint32(i/2%3) - 1)
		}
		if i%3 == 0 {
			v[i] = -v[i]
		}
	}
	u[0], v[0] = 5, 255
	copy(u[1:], []float32{0, float32(math.Copysign(0, -1)), 1, float32(math.Inf(1)), 1e38, 1e-38, 3})
	copy(v[1:], []float32{3, 7, float32(math.Inf(-1)), 3, 1e-30, 1e30, 0x1p-126})
	s := &single{device: open(t, vulkan.Options{Everything: true}), registry: standard.Registry(), constant: isParameter,
		offload: map[string]int{}}
	node := &graph.Node{Name: "div", Op: "Div", Version: 14, Inputs: []string{"u", "v"}, Outputs: []string{"y"}}
	out, err := s.eval(node, []*tensor.Tensor{tensorOf(t, u, n), tensorOf(t, v, n)})
	if err != nil {
		t.Fatal(err)
	}
	if s.offload["Div"] != 1 {
		t.Fatal("the device did not compute the node")
	}
	y, err := tensor.Data[float32](out[0])
	if err != nil {
		t.Fatal(err)
	}
	wrong := 0
	for i := range y {
		want := float32(float64(u[i]) / float64(v[i]))
		if y[i] != want && math.Abs(float64(want)) >= 0x1p-126 { // devices may take smaller ones for 0
			if wrong++; wrong < 9 {
				t.Errorf("%x / %x is %x, want %x", u[i], v[i], y[i], want)
			}
		}
	}
	t.Logf("%d of %d quotients are wrong", wrong, n)
}
