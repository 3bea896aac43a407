package vulkan_test

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	vk "github.com/nacre-ml/nacre/bindings/vulkan"
	"github.com/nacre-ml/nacre/internal/byname"
	"github.com/nacre-ml/nacre/internal/testenv"
	engine "github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/tensor"
	"github.com/nacre-ml/nacre/runtime/vulkan"
)

// convolved computes a convolution by 3x3 filters on a device, or on the CPU if a is nil. How is
// the kernels that computed it.
func convolved(
	t *testing.T, a device.Accelerator, direct bool, in []*tensor.Tensor, pads ...int64,
) (y *tensor.Tensor, how string) {
	t.Helper()
	g := &graph.Graph{Name: "conv", Outputs: []*graph.Value{{Name: "y"}}}
	n := node("Conv", "xwb"[:len(in)], "c", extents("pads", pads...))
	for i, x := range in[:1] {
		g.Inputs = append(g.Inputs, &graph.Value{Name: n.Inputs[i], Type: graph.TensorOf(x.DType(), graph.DimsOf(x.Shape()))})
	}
	for i, x := range in[1:] {
		g.Initializers = append(g.Initializers, &graph.Initializer{Name: n.Inputs[1+i], Tensor: x})
	}
	g.Nodes = []*graph.Node{n, node("Sigmoid", "c", "s"), node("Mul", "cs", "y")}
	s, err := byname.New(&graph.Model{Graph: g}, engine.Options{Accelerator: a, Threads: 1, DirectConv: direct})
	testenv.Need(t, err)
	defer s.Close()
	out, prof, err := s.Profile(context.Background(), map[string]tensor.Value{"x": in[0]})
	if err != nil {
		t.Fatal(err)
	}
	for i := range prof.Steps {
		how += prof.Steps[i].How
	}
	return out["y"].(*tensor.Tensor), how
}

// TestWinograd compares convolutions with float64. Their errors may be three times the errors of
// sums of products.
func TestWinograd(t *testing.T) {
	defer vulkan.AlwaysTransformed()()
	r := rand.New(rand.NewPCG(27, 28))
	a := accelerator(t, open(t, vulkan.Options{Everything: true}))
	for _, c := range []struct {
		x    []int // images, channels, height, width
		f    int
		bias bool
		pads []int64
	}{
		{[]int{1, 16, 16, 16}, 16, true, []int64{1, 1, 1, 1}},
		{[]int{2, 64, 13, 14}, 40, true, []int64{1, 1, 1, 1}},
		{[]int{1, 19, 18, 21}, 17, false, []int64{2, 3, 0, 1}},
		{[]int{3, 100, 11, 19}, 33, true, []int64{0, 0, 0, 0}},
		{[]int{5, 33, 3, 30}, 70, true, []int64{0, 1, 1, 1}},
	} {
		wide := []*tensor.Tensor{random(r, c.x...), random(r, c.f, c.x[1], 3, 3)}
		if c.bias {
			wide = append(wide, random(r, c.f))
		}
		exact := make([]*tensor.Tensor, len(wide))
		for i, x := range wide {
			exact[i] = tensorOf(t, kit.Doubles(x), x.Shape()...)
		}
		want, _ := convolved(t, nil, true, exact, c.pads...)
		errorOf := func(direct bool) float64 {
			y, how := convolved(t, a, direct, wide, c.pads...)
			if strings.Contains(how, "conv/points") == direct {
				t.Errorf("%v: with transforms %v: %s", c.x, !direct, how)
			}
			if strings.Contains(how, "conv/points_filter") {
				t.Errorf("%v: a run transforms constant filters: %s", c.x, how)
			}
			off := 0.0
			for i, w := range kit.Doubles(want) {
				off = max(off, math.Abs(kit.Doubles(y)[i]-w))
			}
			return off
		}
		if off, direct := errorOf(false), errorOf(true); !(off <= 3*direct) {
			t.Errorf("%v: off by %g, direct by %g", c.x, off, direct)
		}
	}
}

// TestWinogradOdd checks that a NaN or an infinity reaches every pixel with a filter that covers
// it, and no pixel of other tiles.
func TestWinogradOdd(t *testing.T) {
	defer vulkan.AlwaysTransformed()()
	const channels, side, row, col = 16, 20, 9, 6
	r := rand.New(rand.NewPCG(29, 30))
	a := accelerator(t, open(t, vulkan.Options{Everything: true}))
	x, w := random(r, 1, channels, side, side), random(r, channels, channels, 3, 3)
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		tensor.View[float32](x)[row*side+col] = float32(v)
		y, how := convolved(t, a, false, []*tensor.Tensor{x, w}, 1, 1, 1, 1)
		if !strings.Contains(how, "conv/points") {
			t.Fatalf("%s computed it", how)
		}
		for i, v := range tensor.View[float32](y) {
			i, j := i/side%side, i%side
			odd := math.IsNaN(float64(v)) || math.IsInf(float64(v), 0)
			met := i >= row-1 && i <= row+1 && j >= col-1 && j <= col+1
			// The tiles with the element among their pixels or around them.
			near := i >= 8 && i <= 11 && j >= 4 && j <= 7
			if met && !odd && v != 0 || odd && !near {
				t.Fatalf("with an element %v at %d,%d, pixel %d,%d is %v", tensor.View[float32](x)[row*side+col], row, col, i, j, v)
			}
		}
	}
}

// TestWinogradChosen checks which devices compute layers of networks by transforms.
func TestWinogradChosen(t *testing.T) {
	large := vk.Caps{MaxInvocations: 1024, MaxGroupSize: [3]int{1024, 1024, 64}, MaxShared: 48 << 10, MaxRange: 1 << 30,
		MaxGroups: [3]int{65535, 65535, 65535}}
	h200, phone := large, large
	h200.Units, phone.MaxInvocations, phone.MaxShared = 132, 128, 16<<10
	for _, tt := range []struct {
		name, device           string
		caps                   vk.Caps
		channels, images, side int
		want                   bool
	}{
		{"132 units", "discrete", h200, 64, 1, 56, false},
		{"132 units", "discrete", h200, 128, 1, 28, false},
		{"132 units", "discrete", h200, 256, 1, 14, false},
		{"132 units", "discrete", h200, 512, 1, 7, false},
		{"132 units", "discrete", h200, 64, 16, 56, true},
		{"132 units", "discrete", h200, 128, 16, 28, true},
		{"a phone", "integrated", phone, 64, 1, 56, true},
		{"a phone", "integrated", phone, 128, 1, 28, true},
		{"software", "cpu", large, 64, 1, 56, true},
		{"software", "cpu", large, 256, 1, 14, true},
		{"software", "cpu", large, 512, 1, 7, false},
		{"software", "cpu", large, 16, 1, 8, false},
	} {
		transformed, direct := vulkan.WinogradTime(tt.caps, tt.device, tt.channels, tt.channels, tt.images, tt.side)
		if got := transformed < direct; got != tt.want {
			t.Errorf("%s, %d channels, %d images of %d pixels: %.1f us by transforms, %.1f without", tt.name, tt.channels,
				tt.images, tt.side, transformed, direct)
		}
	}
}
