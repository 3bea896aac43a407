package vulkan_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/plan"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
	"github.com/nacre-ml/nacre/runtime/vulkan"
)

// rangeNode counts from start to limit. The last input may be left out.
func rangeNode(domain string, in ...*tensor.Tensor) nodeCase {
	return nodeCase{domain: domain, op: "Range", in: in, outs: 1}
}

// generatedNodes are nodes that generate elements from a few numbers known only to a run.
func generatedNodes(t *testing.T) (list []nodeCase) {
	floats := [][3]float32{{0, 5, 1}, {2, 1.5, -0.3}, {-7.25, 1000, 0.7}, {1000, -3, -0.125}, {3, 4, 8},
		{0.5, 20000, 0.9}, {2, 2, 1}, {5, 2, 1}}
	wide := [][3]float32{{0, 200000, 1}, {-3e38, 3e38, 1e38}, {3e38, -3e38, -7e37}, {1 << 24, 1<<24 + 5000, 1},
		{0, 1, 1e-5}}
	for _, d := range narrowFloats {
		ranges := floats
		if d != tensor.F16 {
			ranges = append(ranges, wide...)
		}
		for _, x := range ranges {
			if d == tensor.F32 && x[2] > 1e37 {
				x = [3]float32{-1e38, 1e38, 1e37} // longer steps overflow
			}
			list = append(list, rangeNode("", typed(t, d, x[:1]), typed(t, d, x[1:2]), typed(t, d, x[2:])))
		}
	}
	list = append(list, rangeNode(kit.Microsoft, tensorOf(t, []float32{-3.5}), tensorOf(t, []float32{1000}, 1)),
		rangeNode(kit.Microsoft, tensorOf(t, []float32{4}), tensorOf(t, []float32{-3000}, 1), tensorOf(t, []float32{-1.7})),
		rangeNode(kit.Microsoft, tensorOf(t, []int64{-1 << 40}), tensorOf(t, []int64{-1<<40 + 2000})))
	for _, x := range [][3]int64{{7, 4001, 2}, {3000, -3000, -3}, {math.MinInt64, math.MaxInt64, math.MaxInt64 / 999},
		{1 << 40, 1<<40 + 70000, 1}, {math.MaxInt64, 5, -1 << 52}} {
		list = append(list, rangeNode("", tensorOf(t, x[:1]), tensorOf(t, x[1:2]), tensorOf(t, x[2:])))
	}
	for _, x := range [][3]int32{{7, 4001, 2}, {math.MaxInt32, math.MinInt32, -1 << 20}} {
		list = append(list, rangeNode("", tensorOf(t, x[:1]), tensorOf(t, x[1:2]), tensorOf(t, x[2:])))
	}
	for _, x := range [][3]int16{{7, 4001, 2}, {math.MaxInt16, math.MinInt16, -7}} {
		list = append(list, rangeNode("", tensorOf(t, x[:1]), tensorOf(t, x[1:2]), tensorOf(t, x[2:])))
	}
	for _, d := range narrowFloats {
		code, near := int64(d.Code()), nears[d]
		if d == tensor.F32 {
			near = 1e-6
		}
		for _, name := range []string{"HannWindow", "HammingWindow", "BlackmanWindow"} {
			for _, n := range []int64{0, 1, 2, 3, 10, 64, 401, 20011} {
				for _, periodic := range []int64{0, 1} {
					attrs := []*graph.Attr{ints("output_datatype", code), ints("periodic", periodic)}
					list = append(list, nodeCase{op: name, attrs: attrs, in: []*tensor.Tensor{tensorOf(t, []int64{n})}, outs: 1,
						near: near})
				}
			}
		}
		for _, x := range []struct{ bands, length, rate, low, high float32 }{{8, 16, 8192, 0, 4096},
			{80, 400, 16000, 20, 7600}, {1, 1, 1, 0, 0.1}, {13, 201, 8000, 3000, 100}, {0, 16, 8192, 0, 4096},
			{300, 77, 8000, 0, 3900}} {
			in := []*tensor.Tensor{tensorOf(t, []int32{int32(x.bands)}), tensorOf(t, []int32{int32(x.length)}),
				tensorOf(t, []int32{int32(x.rate)}), tensorOf(t, []float32{x.low}), tensorOf(t, []float32{x.high})}
			list = append(list, nodeCase{op: "MelWeightMatrix", attrs: []*graph.Attr{ints("output_datatype", code)}, in: in,
				outs: 1, near: near})
		}
		for _, shape := range [][]int64{{3, 0, 2}, {1}, {7, 301}, {70001}} {
			attrs := []*graph.Attr{{Name: "value", Kind: graph.AttrTensor, Tensor: typed(t, d, []float32{-1.5}, 1)}}
			list = append(list, nodeCase{op: "ConstantOfShape", attrs: attrs,
				in: []*tensor.Tensor{tensorOf(t, shape, len(shape))}, outs: 1})
		}
	}
	return list
}

// TestFoldedNodes checks that nodes with constant inputs, and nodes that make short integers, are
// computed without the device.
func TestFoldedNodes(t *testing.T) {
	s := &single{device: open(t, vulkan.Options{Everything: true}), registry: standard.Registry(),
		offload: map[string]int{}}
	for _, known := range []bool{false, true} {
		s.constant = func(int, *tensor.Tensor) bool { return known }
		list := []nodeCase{rangeNode("", tensorOf(t, []int64{3}), tensorOf(t, []int64{1000}), tensorOf(t, []int64{2})),
			{op: "ConstantOfShape", attrs: []*graph.Attr{{Name: "value", Kind: graph.AttrTensor, Tensor: tensorOf(t, []int64{7}, 1)}}, in: []*tensor.Tensor{tensorOf(t, []int64{5, 3}, 2)}, outs: 1}}
		if known {
			list = append(list, rangeNode("", tensorOf(t, []float32{0}), tensorOf(t, []float32{9}), tensorOf(t, []float32{2})),
				nodeCase{op: "HannWindow", in: []*tensor.Tensor{tensorOf(t, []int64{10})}, outs: 1})
		}
		for _, c := range list {
			n := &graph.Node{Name: c.op, Op: c.op, Version: 17, Attrs: c.attrs, Inputs: []string{"a", "b", "c"}[:len(c.in)],
				Outputs: []string{"y"}}
			want, err := onCPU(s, n, c.in)
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.eval(n, c.in)
			if err != nil {
				t.Fatal(err)
			}
			if at := differ(got[0], want[0], 1e-6); at >= 0 {
				t.Errorf("%s differs at %d", c.op, at)
			}
			if s.offload[c.op] != 0 {
				t.Errorf("%s of constants (%t) ran on the device", c.op, known)
			}
		}
	}
}

// TestRangeOfLengths counts the rows of a growing state.
func TestRangeOfLengths(t *testing.T) {
	rows := func(text string) graph.Type {
		return graph.TensorOf(tensor.F32, graph.Dims{graph.ParseDim(text), graph.Known(5)})
	}
	build := func() *graph.Model {
		return &graph.Model{Graph: &graph.Graph{
			Name:   "rows",
			Inputs: []*graph.Value{{Name: "x", Type: rows("s")}, {Name: "p", Type: rows("past")}},
			Initializers: []*graph.Initializer{{Name: "0", Tensor: tensorOf(t, []int64{0})}, {Name: "1", Tensor: tensorOf(t, []int64{1})},
				{Name: "i", Tensor: tensorOf(t, []int64{1}, 1)}},
			Nodes: []*graph.Node{node("Concat", "px", "a", ints("axis", 0)), node("Shape", "a", "e"), node("Gather", "e0", "n"), node("Range", "0n1", "r"),
				node("Cast", "r", "f", ints("to", 1)), node("Unsqueeze", "fi", "u"), node("Mul", "au", "y")},
			Outputs: []*graph.Value{{Name: "a", Type: rows("past + s")}, {Name: "y", Type: rows("past + s")}},
		}}
	}
	r := rand.New(rand.NewPCG(3, 16))
	steps := []*tensor.Tensor{random(r, 3, 5), random(r, 1, 5), random(r, 70, 5), random(r, 1, 5), random(r, 1, 5)}
	var results [2][]*tensor.Tensor
	for k, a := range []device.Accelerator{nil, accelerator(t, open(t, vulkan.Options{Everything: true}))} {
		st, err := session(t, build(), a).NewStream([]graph.State{{Input: "p", Output: "a"}}, 4)
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		for _, x := range steps {
			in := map[string]tensor.Value{"x": x}
			pl, err := st.Plan(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(pl.Steps, func(s plan.Step) bool { return strings.HasPrefix(s.OpName(), "Range") })
			if i < 0 || pl.Steps[i].Offloaded() != (a != nil) {
				t.Errorf("the range is step %d of %v", i, pl)
			}
			out, err := st.Run(context.Background(), in)
			if err != nil {
				t.Fatal(err)
			}
			y, _ := out["y"].(*tensor.Tensor)
			results[k] = append(results[k], y)
		}
	}
	for i, want := range results[0] {
		if at := differ(results[1][i], want, 0); at >= 0 {
			t.Errorf("element %d differs after %d runs", at, i+1)
		}
	}
}
