package vulkan_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/internal/byname"
	"github.com/nacre-ml/nacre/packed"
	engine "github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
	"github.com/nacre-ml/nacre/runtime/vulkan"
)

// onCPU computes a node without the device.
func onCPU(s *single, n *graph.Node, in []*tensor.Tensor) ([]*tensor.Tensor, error) {
	m, inputs := s.model(n, in)
	e, err := byname.New(m, engine.Options{NoOptimize: true, Threads: 1})
	if err != nil {
		return nil, err
	}
	defer e.Close()
	values, err := e.RunValues(context.Background(), inputs)
	if err != nil {
		return nil, err
	}
	out := make([]*tensor.Tensor, len(n.Outputs))
	for i, name := range n.Outputs {
		out[i], _ = values[name].(*tensor.Tensor)
	}
	return out, nil
}

// ints returns an attribute of an integer.
func ints(name string, v int64) *graph.Attr {
	return &graph.Attr{Name: name, Kind: graph.AttrInt, Int: v}
}

// text returns an attribute of a string.
func text(name, v string) *graph.Attr {
	return &graph.Attr{Name: name, Kind: graph.AttrString, Str: []byte(v)}
}

// picks returns n numbers from -below to below - 1, some of them equal.
func picks(r *rand.Rand, n, below int) []int64 {
	list := make([]int64, n)
	for i := range list {
		list[i] = int64(r.IntN(2*below) - below)
	}
	return list
}

// few returns n numbers with many equals, NaNs, infinities and zeros of both signs.
func few(r *rand.Rand, n int) []float32 {
	odd := []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), 0, 1e-41}
	list := make([]float32, n)
	for i := range list {
		if list[i] = float32(r.IntN(100) - 50); r.IntN(40) == 0 {
			list[i] = float32(odd[r.IntN(len(odd))])
		}
	}
	return list
}

// some returns n numbers between -2 and 2.
func some(r *rand.Rand, n int) []float32 {
	list := make([]float32, n)
	for i := range list {
		list[i] = 4*r.Float32() - 2
	}
	return list
}

// indexNode is a node with its inputs. The device's results may be off by near.
type indexNode struct {
	op    string
	attrs []*graph.Attr
	in    []*tensor.Tensor
	outs  int
	near  float64
}

// orderNodes are nodes that find elements by their order, or join them in it.
func orderNodes(t *testing.T, r *rand.Rand) (list []indexNode) {
	const outer, n, inner = 3, 1031, 5
	shape := []int{outer, n, inner}
	odd := few(r, outer*n*inner)
	values := []*tensor.Tensor{
		tensorOf(t, odd, shape...), tensorOf(t, kit.Convert(odd, packed.ToF16), shape...), tensorOf(t, kit.Convert(odd, packed.ToBF16), shape...),
		tensorOf(t, picks(r, outer*n*inner, 1<<40), shape...), tensorOf(t, kit.Convert(picks(r, outer*n*inner, 100), func(v int64) int8 { return int8(v) }), shape...),
	}
	for _, x := range values {
		for axis := range int64(3) {
			for _, last := range []int64{0, 1} {
				list = append(list, indexNode{op: "ArgMax", attrs: []*graph.Attr{ints("axis", axis), ints("select_last_index", last)}, in: []*tensor.Tensor{x}, outs: 1},
					indexNode{op: "ArgMin", attrs: []*graph.Attr{ints("axis", axis), ints("select_last_index", last)}, in: []*tensor.Tensor{x}, outs: 1})
			}
		}
		for _, largest := range []int64{0, 1} {
			list = append(list, indexNode{op: "TopK", attrs: []*graph.Attr{ints("axis", 1), ints("largest", largest)},
				in: []*tensor.Tensor{x, tensorOf(t, []int64{40}, 1)}, outs: 2})
		}
	}
	for _, k := range []int64{1, 50, 700} {
		for _, shape := range [][]int{{2, 20011}, {8293, 3}} {
			long := tensorOf(t, few(r, shape[0]*shape[1]*2), shape[0], shape[1], 2)
			axis := int64(1)
			if shape[0] > shape[1] {
				axis = 0
			}
			list = append(list, indexNode{op: "TopK", attrs: []*graph.Attr{ints("axis", axis), ints("largest", k%2)},
				in: []*tensor.Tensor{long, tensorOf(t, []int64{k}, 1)}, outs: 2})
		}
	}
	for _, flags := range [][2]int64{{0, 0}, {0, 1}, {1, 0}, {1, 1}} {
		attrs := []*graph.Attr{ints("exclusive", flags[0]), ints("reverse", flags[1])}
		axis := tensorOf(t, []int64{1}, 1)
		list = append(list, indexNode{op: "CumSum", attrs: attrs, in: []*tensor.Tensor{tensorOf(t, some(r, outer*n*inner), shape...), axis}, outs: 1, near: 1e-4},
			indexNode{op: "CumSum", attrs: attrs, in: []*tensor.Tensor{values[3], axis}, outs: 1})
	}
	wide := tensorOf(t, some(r, outer*n*inner), shape...)
	half := tensorOf(t, kit.Convert(some(r, outer*n*inner), packed.ToF16), shape...)
	for _, axes := range [][]int64{{1}, {0, 2}, {0, 1, 2}} {
		for _, name := range []string{"ReduceLogSumExp", "ReduceMean", "ReduceL2"} {
			list = append(list, indexNode{op: name, in: []*tensor.Tensor{wide, tensorOf(t, axes, len(axes))}, outs: 1, near: 1e-5},
				indexNode{op: name, in: []*tensor.Tensor{half, tensorOf(t, axes, len(axes))}, outs: 1, near: 1e-3})
		}
	}
	return list
}

// placeNodes are nodes that move elements by indices, several of them to one place.
func placeNodes(t *testing.T, r *rand.Rand) (list []indexNode) {
	x := tensorOf(t, some(r, 70*90), 70, 90)
	rows := tensorOf(t, picks(r, 3*41, 70), 3, 41)
	elements := tensorOf(t, picks(r, 130*81, 70), 130, 81)
	pairs := tensorOf(t, picks(r, 400*2, 70), 400, 2)
	list = append(list,
		indexNode{op: "Gather", in: []*tensor.Tensor{x, rows}, outs: 1},
		indexNode{op: "GatherElements", in: []*tensor.Tensor{x, elements}, outs: 1},
		indexNode{op: "GatherND", in: []*tensor.Tensor{x, pairs}, outs: 1},
		indexNode{op: "Trilu", in: []*tensor.Tensor{x, tensorOf(t, []int64{-3})}, outs: 1},
	)
	for _, how := range []string{"none", "add", "mul", "max", "min"} {
		attrs := []*graph.Attr{text("reduction", how)}
		list = append(list,
			indexNode{op: "ScatterElements", attrs: attrs, in: []*tensor.Tensor{x, elements, tensorOf(t, some(r, 130*81), 130, 81)}, outs: 1, near: 1e-6},
			indexNode{op: "ScatterND", attrs: attrs, in: []*tensor.Tensor{x, pairs, tensorOf(t, some(r, 400), 400)}, outs: 1, near: 1e-6},
			indexNode{op: "ScatterND", attrs: attrs, in: []*tensor.Tensor{x, tensorOf(t, picks(r, 100, 70), 100, 1), tensorOf(t, some(r, 100*90), 100, 90)}, outs: 1, near: 1e-6})
	}
	return list
}

// TestIndexSizes compares nodes of odd sizes with the CPU: many elements with equals and NaNs among
// them, and many indices of one place.
func TestIndexSizes(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 13))
	s := &compared{&single{device: open(t, vulkan.Options{Everything: true}), registry: standard.Registry(),
		offload: map[string]int{}, test: t, lacking: map[string]int{}}, map[string]int{}, ""}
	known := map[string]bool{"TopK": true, "CumSum": true, "ReduceLogSumExp": true, "ReduceMean": true, "ReduceL2": true}
	for _, c := range slices.Concat(orderNodes(t, r), placeNodes(t, r)) {
		n := &graph.Node{Name: c.op, Op: c.op, Version: 18, Attrs: c.attrs, Inputs: []string{"a", "b", "c"}[:len(c.in)],
			Outputs: []string{"x", "y"}[:c.outs]}
		s.constant = func(i int, _ *tensor.Tensor) bool { return i > 0 && known[c.op] }
		want, err := onCPU(s.single, n, c.in)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.eval(n, c.in)
		if err != nil {
			t.Fatalf("%s %v: %v", c.op, c.in, err)
		}
		s.ran[c.op]++
		for i := range want {
			if at := differ(got[i], want[i], c.near); at >= 0 {
				t.Errorf("output %d of %s %v %v differs at %d: %v", i, c.op, c.in, c.attrs, at, got[i])
			}
		}
	}
	s.checkRan(t)
}

// differ returns the index of the first element of got that differs from want; -1 for none.
// Elements may differ by near times the larger of 1 and the element, and all NaNs are alike. If
// near is 0, the bits must be the same.
func differ(got, want *tensor.Tensor, near float64) int {
	if near == 0 {
		for i, v := range want.Bytes() {
			if v != got.Bytes()[i] {
				return i / (want.DType().Bits() / 8)
			}
		}
		return -1
	}
	a, _ := kit.Numbers(got)
	b, _ := kit.Numbers(want)
	for i, v := range b {
		if v != a[i] && !(math.IsNaN(v) && math.IsNaN(a[i])) && !(math.Abs(v-a[i]) <= near*max(1, math.Abs(v))) {
			return i
		}
	}
	return -1
}

// TestScatterOver compares a chain with the CPU. Its scattered updates may overwrite the data.
func TestScatterOver(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 13))
	chain := func() *graph.Model {
		value := func(name string, d tensor.DType, shape ...int) *graph.Value {
			return &graph.Value{Name: name, Type: graph.TensorOf(d, graph.DimsOf(shape))}
		}
		return &graph.Model{Graph: &graph.Graph{
			Name:   "over",
			Inputs: []*graph.Value{value("x", tensor.F32, 40, 33), value("i", tensor.I64, 25, 1), value("u", tensor.F32, 25, 33)},
			Nodes: []*graph.Node{
				node("Tanh", "x", "a"), node("ScatterND", "aiu", "b"), node("ScatterND", "biu", "c", text("reduction", "add")), node("Neg", "c", "y"),
			},
			Outputs: []*graph.Value{{Name: "y"}},
		}}
	}
	in := map[string]*tensor.Tensor{"x": random(r, 40, 33), "i": tensorOf(t, picks(r, 25, 40), 25, 1),
		"u": random(r, 25, 33)}
	var got [2]*tensor.Tensor
	for i, a := range []device.Accelerator{nil, accelerator(t, open(t, vulkan.Options{Everything: true}))} {
		out, err := session(t, chain(), a).Run(context.Background(), in)
		if err != nil {
			t.Fatal(err)
		}
		got[i] = out["y"]
	}
	if at := differ(got[1], got[0], 1e-5); at >= 0 {
		t.Errorf("element %d differs: %v, want %v", at, got[1], got[0])
	}
}
