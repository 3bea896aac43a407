package standard_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestConvTypes checks that every element type, prepared in every way, gives the results of
// float64, which is computed by the formula.
func TestConvTypes(t *testing.T) {
	testenv.Need(t, bindings.Available())
	pool, err := bindings.NewPool(2)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	for _, c := range []struct {
		op   string
		x, w tensor.Shape
		bias int
		set  []*graph.Attr
	}{
		{"Conv", tensor.Shape{2, 3, 9, 8}, tensor.Shape{4, 3, 3, 3}, 4, attrs("pads", []int64{1, 1, 1, 1}, "strides", []int64{2, 1})},
		{"Conv", tensor.Shape{1, 4, 6, 6}, tensor.Shape{4, 1, 3, 3}, 0, attrs("group", 4, "auto_pad", "SAME_LOWER")},
		{"Conv", tensor.Shape{1, 4, 7, 6}, tensor.Shape{6, 2, 1, 1}, 6, attrs("group", 2, "kernel_shape", []int64{1, 1})},
		{"Conv", tensor.Shape{2, 3, 20}, tensor.Shape{2, 3, 4}, 2, attrs("dilations", []int64{3}, "pads", []int64{5, 2})},
		{"Conv", tensor.Shape{1, 2, 4, 5, 6}, tensor.Shape{3, 2, 2, 3, 2}, 3, attrs("auto_pad", "VALID")},
		{"ConvTranspose", tensor.Shape{2, 3, 5, 4}, tensor.Shape{3, 4, 3, 2}, 4, attrs("strides", []int64{2, 3}, "output_padding", []int64{1, 0})},
		{"ConvTranspose", tensor.Shape{1, 4, 5}, tensor.Shape{4, 3, 4}, 6, attrs("group", 2, "pads", []int64{2, 1})},
		{"ConvTranspose", tensor.Shape{1, 2, 3, 3}, tensor.Shape{2, 2, 3, 3}, 0, attrs("strides", []int64{3, 2}, "output_shape", []int64{10, 8})},
	} {
		r := rand.New(rand.NewPCG(5, 6))
		operands := func(d tensor.DType) []*tensor.Tensor {
			r = rand.New(rand.NewPCG(5, 6))
			list := []*tensor.Tensor{smallInts(r, d, c.x...), smallInts(r, d, c.w...)}
			if c.bias > 0 {
				list = append(list, smallInts(r, d, c.bias))
			}
			return list
		}
		want, err := evalPrepared(c.op, 22, -1, nil, c.set, operands(tensor.F64)...)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range []tensor.DType{tensor.F32, tensor.F16, tensor.BF16} {
			for _, constant := range []int{-1, 1} {
				t.Run(fmt.Sprint(c.op, c.x, c.w, d, constant), func(t *testing.T) {
					out, err := evalPrepared(c.op, 22, constant, pool, c.set, operands(d)...)
					if err != nil {
						t.Fatal(err)
					}
					rounded := want
					if d == tensor.BF16 {
						// Sums above 256 are rounded.
						rounded = tensor.New(d, want.Shape()...)
						kit.PutDoubles(rounded, kit.Doubles(want))
					}
					if !out.Shape().Equal(want.Shape()) || !closeLists(kit.Doubles(out), kit.Doubles(rounded)) {
						t.Errorf("got %v %v, want %v", out, kit.Doubles(out), kit.Doubles(rounded))
					}
				})
			}
		}
	}
}

func TestConvCases(t *testing.T) {
	x, w := counted(1, 1, 3), from([]float32{1, 10}, 1, 1, 2)
	runEvalCases(t, []evalCase{
		{"all padding", "Conv", 11, attrs("pads", []int64{2, 2}), in(tensor.New(tensor.F32, 1, 1, 0), w, f32s(7)), tensor.Shape{1, 1, 3}, []float64{7, 7, 7}},
		{"no image", "Conv", 11, nil, in(tensor.New(tensor.F32, 0, 1, 3), w), tensor.Shape{0, 1, 2}, nil},
		{"no channel", "Conv", 11, nil, in(tensor.New(tensor.F32, 1, 0, 3), tensor.New(tensor.F32, 1, 0, 2), f32s(7)), tensor.Shape{1, 1, 2}, []float64{7, 7}},
		{"a step beyond the value", "Conv", 11, attrs("strides", []int64{1 << 30}), in(x, w), tensor.Shape{1, 1, 1}, []float64{10}},
		{"transposed", "ConvTranspose", 11, nil, in(x, w), tensor.Shape{1, 1, 4}, []float64{0, 1, 12, 20}},
		{"transposed, stretched beyond the taps", "ConvTranspose", 11, attrs("output_shape", []int64{6}), in(x, w, f32s(1)), tensor.Shape{1, 1, 6}, []float64{1, 2, 13, 21, 1, 1}},
		{"transposed, odd padding", "ConvTranspose", 11, attrs("output_shape", []int64{3}), in(x, w), tensor.Shape{1, 1, 3}, []float64{1, 12, 20}},
		{"transposed, odd padding, upper", "ConvTranspose", 11, attrs("output_shape", []int64{3}, "auto_pad", "SAME_UPPER"), in(x, w), tensor.Shape{1, 1, 3}, []float64{0, 1, 12}},
		{"transposed, odd padding before version 11", "ConvTranspose", 1, attrs("output_shape", []int64{3}), in(x, w), tensor.Shape{1, 1, 3}, []float64{1, 12, 20}},
		{"transposed, shape with batch and channels", "ConvTranspose", 1, attrs("output_shape", []int64{1, 1, 4}), in(x, w), tensor.Shape{1, 1, 4}, []float64{0, 1, 12, 20}},
	})
}

func TestConvErrors(t *testing.T) {
	x, w := counted(1, 2, 4, 4), counted(2, 2, 3, 3)
	refused(t, []evalCase{
		{name: "no spatial axis", op: "Conv", version: 11, in: in(counted(1, 2), counted(2, 2))},
		{name: "ranks differ", op: "Conv", version: 11, in: in(x, counted(2, 2, 3))},
		{name: "channels", op: "Conv", version: 11, in: in(x, counted(2, 3, 3, 3))},
		{name: "groups", op: "Conv", version: 11, attrs: attrs("group", 3), in: in(x, w)},
		{name: "no group", op: "Conv", version: 11, attrs: attrs("group", 0), in: in(x, w)},
		{name: "negative stride", op: "Conv", version: 11, attrs: attrs("strides", []int64{-1, 1}), in: in(x, w)},
		{name: "strides for one axis", op: "Conv", version: 11, attrs: attrs("strides", []int64{1}), in: in(x, w)},
		{name: "negative pads", op: "Conv", version: 11, attrs: attrs("pads", []int64{-1, 0, 0, 0}), in: in(x, w)},
		{name: "kernel does not fit", op: "Conv", version: 11, in: in(x, counted(2, 2, 5, 5))},
		{name: "kernel is empty", op: "Conv", version: 11, in: in(x, counted(2, 2, 0, 3))},
		{name: "kernel_shape is another", op: "Conv", version: 11, attrs: attrs("kernel_shape", []int64{2, 2}), in: in(x, w)},
		{name: "bias", op: "Conv", version: 11, in: in(x, w, counted(3))},
		{name: "auto_pad", op: "Conv", version: 11, attrs: attrs("auto_pad", "SAME"), in: in(x, w)},
		{name: "nine axes", op: "Conv", version: 11, in: in(counted(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1), counted(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1))},
		{name: "transposed channels", op: "ConvTranspose", version: 11, in: in(x, counted(3, 2, 3, 3))},
		{name: "transposed groups", op: "ConvTranspose", version: 11, attrs: attrs("group", 3), in: in(x, w)},
		{name: "transposed, all cut off", op: "ConvTranspose", version: 11, attrs: attrs("pads", []int64{4, 4, 4, 4}), in: in(x, w)},
		{name: "transposed, negative output_padding", op: "ConvTranspose", version: 11, attrs: attrs("output_padding", []int64{-1, 0}), in: in(x, w)},
		{name: "transposed, output_shape of one axis", op: "ConvTranspose", version: 11, attrs: attrs("output_shape", []int64{4}), in: in(x, w)},
		{name: "transposed, too large", op: "ConvTranspose", version: 11, attrs: attrs("strides", []int64{1 << 30, 1 << 30}), in: in(counted(1, 2, 40, 40), w)},
	})
}
