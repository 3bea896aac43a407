package standard_test

import (
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func TestWork(t *testing.T) {
	scale := tensor.Shape{}
	for _, c := range []struct {
		domain, name string
		in           []tensor.Shape
		out          tensor.Shape
		want         float64 // multiply-adds
	}{
		{"", "MatMul", []tensor.Shape{{3, 5}, {5, 7}}, tensor.Shape{3, 7}, 3 * 5 * 7},
		{"", "MatMul", []tensor.Shape{{5}, {2, 5, 7}}, tensor.Shape{2, 7}, 2 * 5 * 7},
		{"", "MatMul", []tensor.Shape{{2, 3, 5}, {5}}, tensor.Shape{2, 3}, 2 * 3 * 5},
		{"", "Gemm", []tensor.Shape{{5, 3}, {5, 7}, nil}, tensor.Shape{3, 7}, 3 * 5 * 7},
		{"", "Conv", []tensor.Shape{{2, 6, 9, 9}, {4, 3, 3, 3}, nil}, tensor.Shape{2, 4, 7, 7}, 2 * 4 * 7 * 7 * 3 * 3 * 3},
		{"", "ConvTranspose", []tensor.Shape{{2, 6, 7}, {6, 4, 3}}, tensor.Shape{2, 4, 9}, 2 * 6 * 7 * 4 * 3},
		{"", "QLinearConv", []tensor.Shape{{1, 2, 8}, scale, scale, {4, 2, 3}, scale, scale, scale, scale}, tensor.Shape{1, 4, 6}, 4 * 6 * 2 * 3},
		{"", "GRU", []tensor.Shape{{3, 2, 5}, {1, 12, 5}, {1, 12, 4}}, tensor.Shape{3, 1, 2, 4}, 3 * 2 * 12 * (5 + 4)},
		{kit.Microsoft, "FusedMatMul", []tensor.Shape{{2, 5, 3}, {2, 7, 5}}, tensor.Shape{2, 3, 7}, 2 * 3 * 5 * 7},
		{kit.Microsoft, "MatMulNBits", []tensor.Shape{{1, 3, 32}, {7, 1, 16}, {7}}, tensor.Shape{1, 3, 7}, 3 * 32 * 7},
		{"", "Relu", []tensor.Shape{{3}}, tensor.Shape{3}, 0},
	} {
		row, _, err := standard.Registry().Find(&graph.Node{Domain: c.domain, Op: c.name, Version: 99})
		if err != nil {
			t.Fatal(err)
		}
		got := 0.0
		if row.Work != nil {
			got = row.Work(c.in, []tensor.Shape{c.out})
		}
		if got != 2*c.want {
			t.Errorf("%s of %v: %g operations, want %g", c.name, c.in, got, 2*c.want)
		}
	}
}

// TestRandomIsImpure holds rows to what the columns imply.
func TestRandomIsImpure(t *testing.T) {
	for _, row := range standard.Registry().Rows() {
		if row.Random && !row.Impure {
			t.Errorf("%s is random and not impure", row.Name)
		}
		if row.Elementwise && row.Rowwise != nil {
			t.Errorf("%s is elementwise, so that it needs no Rowwise", row.Name)
		}
	}
}

// TestOwnNames checks that operators of passes share no name with operators of files: plans and
// profiles that leave out the domain would not tell which one they mean.
func TestOwnNames(t *testing.T) {
	domains := map[string][]string{}
	rows := standard.Registry().Rows()
	for _, row := range rows {
		domains[row.Name] = append(domains[row.Name], row.Domain)
	}
	for _, row := range rows {
		if row.Domain == kit.Internal && len(domains[row.Name]) > 1 {
			t.Errorf("%s is an operator of the domains %q", row.Name, domains[row.Name])
		}
	}
}
