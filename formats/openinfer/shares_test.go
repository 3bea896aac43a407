package openinfer

import (
	"math/rand/v2"
	"testing"

	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestShares runs calls that are large enough for several threads, with results that do not fill
// the last byte.
func TestShares(t *testing.T) {
	s := source{Rand: rand.New(rand.NewPCG(3, 5)), tame: true}
	in := func(d dtype, shapes ...[]int) (list []*tensor.Tensor) {
		for _, dims := range shapes {
			list = append(list, s.tensor(d, dims...))
		}
		return list
	}
	acc := func(d dtype) []attr { return []attr{{"acc", d}} }
	run(t, []trial{
		{name: "add", word: "add", in: dtI2, out: dtI2, inputs: in(dtI2, []int{3, 33331}, []int{3, 1}), dims: []int{3, 33331}},
		{name: "mul", word: "mul", in: dtU1, out: dtU64, attrs: acc(dtU64), inputs: in(dtU1, []int{50001}, []int{50001}), dims: []int{50001}},
		{name: "cast", word: "cast", in: dtI4, out: dtF16, attrs: []attr{{"to", dtF16}}, inputs: in(dtI4, []int{50001}), dims: []int{50001}},
		{name: "sum", word: "sum_axis", in: dtI4, out: dtI4, attrs: []attr{{"axes", []int64{1}}}, inputs: in(dtI4, []int{1003, 77}), dims: []int{1003}},
		{name: "prod", word: "prod_axis", in: dtF8, out: dtF8, attrs: []attr{{"axes", []int64{0}}}, inputs: in(dtF8, []int{33, 2049}), dims: []int{2049}},
		{name: "tiles", word: "matmul", in: dtI4, out: dtI32, attrs: acc(dtI32), inputs: in(dtI4, []int{2, 65, 131}, []int{131, 259}), dims: []int{2, 65, 259}},
		{name: "bytes", word: "matmul", in: dtI2, out: dtI2, inputs: in(dtI2, []int{3, 67, 131}, []int{131, 261}), dims: []int{3, 67, 261}},
		{name: "whole bytes", word: "matmul", in: dtU1, out: dtU1, inputs: in(dtU1, []int{3, 67, 131}, []int{131, 264}), dims: []int{3, 67, 264}},
	})
}
