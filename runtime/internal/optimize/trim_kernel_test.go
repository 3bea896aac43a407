package optimize_test

import (
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestTrimKernel compares the trimmed kernels of convolutions, and their results.
func TestTrimKernel(t *testing.T) {
	pads := func(v ...int64) *graph.Attr { return attrInts("pads", v...) }
	dilations := func(v ...int64) *graph.Attr { return attrInts("dilations", v...) }
	strides := func(v ...int64) *graph.Attr { return attrInts("strides", v...) }
	auto := func(how string) *graph.Attr {
		return &graph.Attr{Name: "auto_pad", Kind: graph.AttrString, Str: []byte(how)}
	}
	for _, tt := range []struct {
		name   string
		in     []any
		kernel []int
		attrs  []any
		want   []int
	}{
		{"center alone", []any{2, 3, 9, 9}, []int{3, 3}, []any{pads(12, 12, 12, 12), dilations(12, 12)}, []int{1, 1}},
		{"one axis", []any{1, 3, 30, 7}, []int{3, 5}, []any{pads(8, 16, 8, 16), dilations(8, 8)}, []int{3, 1}},
		{"half of a kernel", []any{1, 3, 5, 6}, []int{7, 1}, []any{pads(12, 0, 0, 0), dilations(2, 1)}, []int{3, 1}},
		{"strides", []any{1, 3, 6, 6}, []int{5, 5}, []any{pads(14, 14, 14, 14), dilations(7, 7), strides(2, 3)}, []int{1, 1}},
		{"same padding", []any{1, 3, 4, 5}, []int{3, 3}, []any{auto("SAME_UPPER"), dilations(6, 6)}, []int{1, 1}},
		{"same padding before", []any{1, 3, 4}, []int{4}, []any{auto("SAME_LOWER"), dilations(5)}, []int{2}},
		{"three axes", []any{1, 3, 2, 3, 4}, []int{3, 3, 3}, []any{pads(2, 1, 4, 2, 1, 4), dilations(2, 1, 4)}, []int{1, 3, 1}},
		{"all is met", []any{1, 3, 13, 13}, []int{3, 3}, []any{pads(12, 12, 12, 12), dilations(12, 12)}, []int{3, 3}},
		{"none is met", []any{1, 3, 2}, []int{2}, []any{pads(3, 3), dilations(5), strides(20)}, []int{2}},
		{"extents are open", []any{"batch", 3, "tokens"}, []int{3}, []any{pads(9, 9), dilations(9)}, []int{3}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newNet(tensor.F32, true)
			args := append([]any{b.in("x", tt.in...), b.weight(append([]int{4, 3}, tt.kernel...)...)}, tt.attrs...)
			b.out(b.op("Conv", args...))
			b.same(t)
			g := b.optimized(t).Graph
			for _, i := range g.Initializers {
				if i.Name == g.Nodes[0].Inputs[1] && !slices.Equal(i.Tensor.Shape()[2:], tt.want) {
					t.Errorf("the kernel is %v, want %v", i.Tensor.Shape()[2:], tt.want)
				}
			}
		})
	}
}
