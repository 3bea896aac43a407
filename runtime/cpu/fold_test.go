package cpu

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/op/nn"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// foldings are images of one to four axes, with rows of several pieces, windows apart and
// over one another, elements beside the image, and images that no window touches in places.
var foldings = []nn.Folding{
	{Batch: 1, Channels: 2, Image: []int{5}, Block: []int{2}, Blocks: []int{4}, Stride: []int{1}, Dilation: []int{1}, Pad: []int{0}},
	{Batch: 1, Channels: 1, Image: []int{9001}, Block: []int{7}, Blocks: []int{3000}, Stride: []int{3}, Dilation: []int{2}, Pad: []int{5}},
	{Batch: 2, Channels: 1, Image: []int{9001}, Block: []int{3}, Blocks: []int{9001}, Stride: []int{1}, Dilation: []int{1}, Pad: []int{1}},
	{Batch: 1, Channels: 1, Image: []int{9000}, Block: []int{5000}, Blocks: []int{2}, Stride: []int{4000}, Dilation: []int{1}, Pad: []int{0}},
	{Batch: 2, Channels: 3, Image: []int{7, 11}, Block: []int{3, 3}, Blocks: []int{7, 11}, Stride: []int{1, 1}, Dilation: []int{1, 1}, Pad: []int{1, 1}},
	{Batch: 1, Channels: 70, Image: []int{33, 17}, Block: []int{4, 2}, Blocks: []int{16, 6}, Stride: []int{2, 3}, Dilation: []int{1, 2}, Pad: []int{1, 2}},
	{Batch: 1, Channels: 3, Image: []int{12, 20}, Block: []int{2, 2}, Blocks: []int{3, 4}, Stride: []int{4, 5}, Dilation: []int{1, 1}, Pad: []int{0, 0}},
	{Batch: 1, Channels: 1, Image: []int{4, 5}, Block: []int{6, 7}, Blocks: []int{3, 2}, Stride: []int{2, 4}, Dilation: []int{1, 1}, Pad: []int{3, 3}},
	{Batch: 1, Channels: 2, Image: []int{4, 3, 6}, Block: []int{2, 2, 3}, Blocks: []int{3, 2, 3}, Stride: []int{1, 2, 2}, Dilation: []int{2, 1, 1}, Pad: []int{1, 1, 1}},
	{Batch: 1, Channels: 1, Image: []int{3, 2, 4, 5}, Block: []int{2, 1, 2, 2}, Blocks: []int{2, 2, 3, 4}, Stride: []int{1, 1, 1, 1}, Dilation: []int{1, 1, 1, 1}, Pad: []int{0, 0, 0, 0}},
	{Batch: 2, Channels: 2, Image: []int{3, 0}, Block: []int{1, 1}, Blocks: []int{3, 0}, Stride: []int{1, 1}, Dilation: []int{1, 1}, Pad: []int{0, 0}},
	{Batch: 0, Channels: 2, Image: []int{3, 4}, Block: []int{1, 1}, Blocks: []int{3, 4}, Stride: []int{1, 1}, Dilation: []int{1, 1}, Pad: []int{0, 0}},
}

// foldBy adds up the windows as the formula says.
func foldBy[T scatterNumber](f *nn.Folding, x []T) []T {
	y := make([]T, f.Batch*f.Channels*f.Image.Len())
	count, size := f.Blocks.Len(), f.Block.Len()
	steps, blockSteps, elementSteps := f.Image.Strides(), f.Blocks.Strides(), f.Block.Strides()
	for i, v := range x {
		plane, e, b, at, inside := i/count/size, i/count%size, i%count, 0, true
		for a, n := range f.Image {
			p := b/blockSteps[a]%f.Blocks[a]*f.Stride[a] - f.Pad[a] + e/elementSteps[a]%f.Block[a]*f.Dilation[a]
			inside = inside && p >= 0 && p < n
			at += p * steps[a]
		}
		if inside {
			y[plane*f.Image.Len()+at] += v
		}
	}
	return y
}

func checkFold[T scatterNumber](t *testing.T, pool *bindings.Pool, d tensor.DType, random func() T) {
	for _, k := range runnable(t, foldOp(d)) {
		for _, f := range foldings {
			x := make([]T, f.Batch*f.Channels*f.Block.Len()*f.Blocks.Len())
			for i := range x {
				x[i] = random()
			}
			want := foldBy(&f, x)
			got := runGuarded(t, k, foldWords(&f, d, bindings.Kernel{}), pool, d.Bytes(len(want)), d.Bytes(1), viewBytes(x))
			if !slices.Equal(viewAs[T](got), want) {
				t.Errorf("%s/%s of %+v: wrong", k.Op(), k.Variant(), f)
			}
		}
	}
}

// TestFold compares with sums in the order of the windows' elements, bit by bit.
func TestFold(t *testing.T) {
	t.Parallel()
	pool, r := testPool(t), rand.New(rand.NewPCG(31, 7))
	checkFold(t, pool, tensor.F32, func() float32 { return float32(r.NormFloat64()) })
	checkFold(t, pool, tensor.F64, r.NormFloat64)
	checkFold(t, pool, tensor.U8, func() uint8 { return uint8(r.Uint32()) })
	checkFold(t, pool, tensor.I16, func() int16 { return int16(r.Uint32()) })
	checkFold(t, pool, tensor.U32, r.Uint32)
	checkFold(t, pool, tensor.I64, func() int64 { return int64(r.Uint64()) })
}

// TestFoldHalves rounds the sums of 16-bit floats once.
func TestFoldHalves(t *testing.T) {
	t.Parallel()
	pool, r := testPool(t), rand.New(rand.NewPCG(32, 7))
	for _, d := range []tensor.DType{tensor.F16, tensor.BF16} {
		for _, half := range parts(t, "half") {
			for _, k := range runnable(t, foldOp(d)) {
				for _, f := range foldings {
					list := make([]float64, f.Batch*f.Channels*f.Block.Len()*f.Blocks.Len())
					for i := range list {
						list[i] = r.NormFloat64()
					}
					list = rounded(d, list)
					x := make([]float32, len(list))
					for i, v := range list {
						x[i] = float32(v)
					}
					sums := foldBy(&f, x)
					want := make([]float64, len(sums))
					for i, v := range sums {
						want[i] = float64(v)
					}
					want = rounded(d, want)
					got := loaded(d, runGuarded(t, k, foldWords(&f, d, half), pool, d.Bytes(len(want)), d.Bytes(1), stored(d, list)))
					if i := differ(got, want, 0, 0); i >= 0 {
						t.Errorf("%s of %v with %s: element %d is %v, want %v", fmt.Sprintf("%+v", f), d, half.Variant(), i, got[i], want[i])
					}
				}
			}
		}
	}
}
