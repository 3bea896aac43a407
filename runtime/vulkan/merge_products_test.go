package vulkan_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/tensor"
	"github.com/nacre-ml/nacre/runtime/vulkan"
)

// joinedCase is products of the same rows [rows,k], by weights of one kind.
type joinedCase struct {
	dtype    tensor.DType
	kind     string // codes, Q8_0, Q6_K, wide (float16), down ([k,n]) or along ([n,k]); behind "fast " rows may be rounded
	rows, k  int
	n        []int
	biased   []bool // of each; with zero points where weights are codes
	function string // of the first, times the second; none if empty
	swapped  bool   // the multiplication takes the second product first
	fewer    int    // commands, if they are merged
}

// model returns the products, or their gate.
func (c *joinedCase) model(t *testing.T, r *rand.Rand) *graph.Model {
	g := graph.NewBuilder("joined")
	g.Opset("", 20)
	g.Opset(kit.Microsoft, 1)
	g.Opset(kit.Internal, 1)
	x := g.Input("x", graph.TensorOf(c.dtype, graph.DimsOf(tensor.Shape{c.rows, c.k})))
	x = g.Op("Add", []string{x, x})
	var list []string
	for i, n := range c.n {
		list = append(list, c.product(t, g, r, x, i, n))
	}
	if c.function != "" {
		y := c.activated(g, list[0])
		pair := []string{y, list[1]}
		if c.swapped {
			pair[0], pair[1] = pair[1], pair[0]
		}
		list = []string{g.Op("Mul", pair)}
	}
	for i, y := range list {
		z := g.Op("Neg", []string{y})
		for range 3 { // other values take the memory of the products
			y, z = g.Op("Max", []string{y, z}), g.Op("Min", []string{y, z})
		}
		y = g.Op("Sub", []string{y, z})
		g.Output(y, fmt.Sprint("y", i), graph.TensorOf(c.dtype, graph.DimsOf(tensor.Shape{c.rows, c.n[i]})))
	}
	return g.Model(&graph.Model{IR: 10})
}

func (c *joinedCase) activated(g *graph.Builder, x string) string {
	switch c.function {
	case "swish":
		return g.Op("Mul", []string{x, g.Op("Sigmoid", []string{x})})
	case "gelu_tanh":
		return g.Op("Gelu", []string{x}, text("approximate", "tanh"))
	}
	return g.Op(c.function, []string{x})
}

// product adds product i of x.
func (c *joinedCase) product(t *testing.T, g *graph.Builder, r *rand.Rand, x string, i, n int) string {
	weight := func(name string, w *tensor.Tensor) string {
		if w == nil {
			return ""
		}
		return g.Weight(&graph.Initializer{Name: fmt.Sprint(name, i), Tensor: w})
	}
	node := func(x string, c nodeCase, inputs int) string {
		in := []string{x}
		for k, w := range c.in[1:inputs] {
			in = append(in, weight(fmt.Sprint("w", k), w))
		}
		return g.Node(c.domain, c.op, in, 1, c.attrs...)[0]
	}
	kind := strings.TrimPrefix(c.kind, "fast ")
	switch kind {
	case "codes":
		p := fourBits(t, r, c.dtype, c.rows, n, c.k, 32, c.biased[i], false)
		return node(x, p, len(p.in))
	case "Q8_0", "Q6_K":
		p := inBlocks(t, r, map[string]*packed.Blocks{"Q8_0": packed.Q8_0, "Q6_K": packed.Q6_K}[kind], c.rows, n, c.k)
		return node(x, p, 2+kit.Btoi(c.biased[i]))
	case "down":
		y := g.Op("MatMul", []string{x, weight("w", typed(t, c.dtype, some(r, c.k*n), c.k, n))})
		if c.biased[i] {
			y = g.Op("Add", []string{y, weight("b", typed(t, c.dtype, some(r, n), n))})
		}
		return y
	}
	d := c.dtype
	if kind == "wide" {
		d = tensor.F16
	}
	in := []string{x, weight("w", typed(t, d, some(r, c.k*n), n, c.k))}
	if c.biased[i] {
		in = append(in, weight("b", typed(t, c.dtype, some(r, n), n)))
	}
	if kind == "wide" {
		return g.Node(kit.Internal, "WidenedGemm", in, 1, ints("transB", 1))[0]
	}
	return g.Op("Gemm", in, ints("transB", 1))
}

func (c *joinedCase) accuracy() device.Accuracy {
	return accuracies[strings.HasPrefix(c.kind, "fast ")]
}

// outputs returns the results on a device, and the commands.
func (c *joinedCase) outputs(t *testing.T, m *graph.Model, in map[string]*tensor.Tensor) (map[string]*tensor.Tensor, int) {
	d := open(t, vulkan.Options{Everything: true})
	out, err := rounding(t, m, accelerator(t, d), c.accuracy()).Run(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	n, _ := d.Recorded()
	return out, n
}

// TestJoinedProducts checks that joined products are those of a command each, and near the CPU's.
func TestJoinedProducts(t *testing.T) {
	defer vulkan.JoinedUnits()()
	none, all, mixed := make([]bool, 4), []bool{true, true, true, true}, []bool{true, false, true, false}
	for _, c := range []joinedCase{
		{tensor.F32, "codes", 1, 96, []int{70, 33, 34}, mixed, "", false, 1}, // zero points are another shader's
		{tensor.F32, "codes", 3, 4128, []int{300, 5}, none, "", false, 1},
		{tensor.F32, "codes", 1, 64, []int{20, 30, 10, 40}, all, "", false, 2},
		{tensor.F16, "codes", 2, 96, []int{70, 33, 34}, all, "", false, 2},
		{tensor.BF16, "codes", 1, 96, []int{70, 33}, none, "", false, 1},
		{tensor.F32, "Q8_0", 1, 96, []int{33, 70, 130}, mixed, "", false, 2},
		{tensor.F32, "Q6_K", 7, 512, []int{65, 20}, all, "", false, 1},
		{tensor.F32, "down", 1, 100, []int{64, 36, 128}, mixed, "", false, 2},
		{tensor.F32, "down", 3, 64, []int{41, 99}, none, "", false, 1},
		{tensor.F16, "down", 1, 64, []int{32, 64, 128}, all, "", false, 2},
		{tensor.F32, "along", 2, 70, []int{17, 40, 9}, mixed, "", false, 2},
		{tensor.F32, "codes", 1, 96, []int{70, 70}, none, "swish", false, 2},
		{tensor.F32, "codes", 3, 96, []int{70, 70}, all, "Gelu", true, 3},
		{tensor.F16, "codes", 1, 64, []int{130, 130}, none, "Relu", false, 3},
		{tensor.BF16, "codes", 1, 64, []int{130, 130}, none, "gelu_tanh", false, 3},
		{tensor.F32, "Q6_K", 1, 256, []int{301, 301}, none, "gelu_tanh", false, 3},
		{tensor.F32, "Q8_0", 2, 96, []int{35, 35}, none, "swish", true, 2},
		{tensor.F32, "down", 1, 100, []int{132, 132}, none, "swish", false, 2},
		{tensor.F16, "down", 1, 100, []int{64, 64}, all, "swish", true, 2},
		{tensor.F32, "down", 2, 100, []int{33, 33}, none, "Sigmoid", false, 0}, // the product has the function
		{tensor.F32, "along", 1, 128, []int{150, 150}, all, "swish", false, 2},
		{tensor.F32, "wide", 1, 96, []int{33, 70, 130}, mixed, "", false, 2},
		{tensor.F32, "wide", 1, 128, []int{150, 150}, all, "swish", false, 2},
		{tensor.F32, "fast codes", 1, 4128, []int{70, 33, 34}, all, "", false, 2},
		{tensor.F16, "fast codes", 3, 96, []int{70, 70}, none, "swish", true, 2},
		{tensor.F32, "fast Q8_0", 2, 96, []int{33, 70, 130}, mixed, "", false, 2},
		{tensor.F32, "fast Q6_K", 1, 512, []int{65, 65}, none, "Gelu", true, 3},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			r := rand.New(rand.NewPCG(3, uint64(c.k+c.rows)))
			m, in := c.model(t, r), map[string]*tensor.Tensor{"x": typed(t, c.dtype, some(r, c.rows*c.k), c.rows, c.k)}
			got, joined := c.outputs(t, m, in)
			restore := vulkan.Apart()
			want, apart := c.outputs(t, m, in)
			restore()
			cpu, err := rounding(t, m, nil, c.accuracy()).Run(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			for name := range want {
				if at := differ(got[name], want[name], 0); at >= 0 {
					t.Errorf("%s differs at %d: %s, want %s", name, at, element(got[name], at), element(want[name], at))
				}
				if c.accuracy() == device.AccuracyFast {
					continue // the CPU may round other blocks; TestUnits compares single products
				}
				if at := differ(got[name], cpu[name], max(2e-3, 16*nears[c.dtype])); at >= 0 {
					t.Errorf("%s differs at %d: %s, want %s", name, at, element(got[name], at), element(cpu[name], at))
				}
			}
			fewer := c.fewer
			if d := open(t, vulkan.Options{}); hasNo(t, d, c.dtype.Short()) || c.kind == "wide" && hasNo(t, d, "f16") {
				fewer = 0
			}
			if apart-joined != fewer {
				t.Errorf("%d commands, want %d fewer than %d", joined, fewer, apart)
			}
		})
	}
}
