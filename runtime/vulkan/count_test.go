package vulkan_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/tensor"
	"github.com/nacre-ml/nacre/runtime/vulkan"
)

// countedNodes are nodes with extents that a run counts. Their inputs have more elements than one
// workgroup sums.
func countedNodes(t *testing.T, r *rand.Rand) (list []nodeCase) {
	const rows, columns, inner = 3, 1021, 2
	n := rows * columns * inner
	conditions := make([]bool, columns-8)
	for i := range conditions {
		conditions[i] = r.IntN(3) == 0
	}
	condition, none := tensorOf(t, conditions, len(conditions)), tensorOf(t, make([]bool, 5), 5)
	shape := []int{rows, columns, inner}
	bytes := make([]uint8, n)
	for i := range bytes {
		bytes[i] = uint8(r.IntN(5))
	}
	values := []*tensor.Tensor{tensorOf(t, bytes, shape...), tensorOf(t, picks(r, n, 2), shape...),
		tensor.New(tensor.I32, shape...)}
	for _, d := range narrowFloats {
		values = append(values, typed(t, d, few(r, n), shape...))
	}
	for _, x := range values {
		list = append(list, nodeCase{op: "NonZero", in: []*tensor.Tensor{x}, outs: 1},
			nodeCase{op: "Compress", in: []*tensor.Tensor{x, condition}, outs: 1},
			nodeCase{op: "Compress", in: []*tensor.Tensor{x, none}, outs: 1},
			nodeCase{op: "Compress", attrs: []*graph.Attr{ints("axis", -2)}, in: []*tensor.Tensor{x, condition}, outs: 1})
		for _, sorted := range []int64{0, 1} {
			list = append(list, nodeCase{op: "Unique", attrs: []*graph.Attr{ints("sorted", sorted)}, in: []*tensor.Tensor{x}, outs: 4},
				nodeCase{op: "Unique", attrs: []*graph.Attr{ints("sorted", sorted), ints("axis", 1)}, in: []*tensor.Tensor{x}, outs: 4})
		}
	}
	list = append(list, nodeCase{domain: kit.Microsoft, op: "Unique", in: []*tensor.Tensor{typed(t, tensor.F32, few(r, n), n)}, outs: 3},
		nodeCase{op: "Unique", in: []*tensor.Tensor{tensorOf(t, []float32{3}, 1)}, outs: 4})
	const images, classes, boxes = 2, 3, 301
	scores := few(r, images*classes*boxes)
	for i, v := range scores {
		if 0 < v && v < 0x1p-126 {
			scores[i] = 0x1p-126 // devices may take smaller ones for 0
		}
	}
	part, least := tensorOf(t, []float32{0.25}), tensorOf(t, []float32{-20}, 1)
	for _, center := range []int64{0, 1} {
		corners := odd(r, images*boxes*4)
		in := []*tensor.Tensor{tensorOf(t, corners, images, boxes, 4), tensorOf(t, scores, images, classes, boxes)}
		for _, limits := range [][]*tensor.Tensor{{}, {tensorOf(t, []int64{40})}, {tensorOf(t, []int64{1 << 40}, 1), part},
			{tensorOf(t, []int64{7}), nil, least}, {tensorOf(t, []int64{boxes}), part, least}} {
			list = append(list, nodeCase{op: "NonMaxSuppression", attrs: []*graph.Attr{ints("center_point_box", center)},
				in: append(in[:2:2], limits...), outs: 1})
		}
	}
	return list
}

// TestCounted checks nodes on the device that read values with extents counted there. The extents
// differ in each run, and the last run has none.
func TestCounted(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 8))
	const n = 2000
	m := &graph.Model{Graph: &graph.Graph{
		Name:         "counted",
		Inputs:       []*graph.Value{{Name: "x", Type: graph.TensorOf(tensor.F32, graph.Dims{graph.Known(n)})}},
		Outputs:      []*graph.Value{{Name: "y"}, {Name: "i"}},
		Initializers: []*graph.Initializer{{Name: "l", Tensor: tensorOf(t, []float32{1}, 1)}},
		Nodes: []*graph.Node{
			node("Greater", "xl", "m"), node("Compress", "xm", "c"), node("Exp", "c", "e"), node("Unique", "e", "u"), node("Neg", "u", "y"), node("NonZero", "m", "i"),
		},
	}}
	d := open(t, vulkan.Options{Everything: true})
	here, there := session(t, m, nil), session(t, m, accelerator(t, d))
	for run := range 4 {
		list := some(r, n)
		for i := range list[:run*n/3] {
			list[i] = -1
		}
		in := map[string]tensor.Value{"x": tensorOf(t, list, n)}
		want, err := here.RunValues(context.Background(), in)
		if err != nil {
			t.Fatal(err)
		}
		got, prof, err := there.Profile(context.Background(), in)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range prof.Steps {
			if !s.Offloaded && !isLacking(t, d, &s) && run < 3 {
				t.Errorf("%s ran by %s", s.Op, s.How)
			}
		}
		for _, name := range []string{"y", "i"} {
			a, b := got[name].(*tensor.Tensor), want[name].(*tensor.Tensor)
			if !a.Shape().Equal(b.Shape()) || differ(a, b, 1e-6) >= 0 {
				t.Errorf("run %d: %s is %v, want %v", run, name, a, b)
			}
		}
	}
}
