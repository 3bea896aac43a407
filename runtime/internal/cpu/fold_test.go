package cpu

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/internal/ops/nn"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// foldings are images of one to four axes: rows of several pieces, windows apart and overlapping,
// elements outside the image, and images with elements under no window.
var foldings = []nn.Folding{
	folding(1, 2, foldAxis{5, 2, 4, 1, 1, 0}),
	folding(1, 1, foldAxis{9001, 7, 3000, 3, 2, 5}),
	folding(2, 1, foldAxis{9001, 3, 9001, 1, 1, 1}),
	folding(1, 1, foldAxis{9000, 5000, 2, 4000, 1, 0}),
	folding(2, 3, foldAxis{7, 3, 7, 1, 1, 1}, foldAxis{11, 3, 11, 1, 1, 1}),
	folding(1, 70, foldAxis{33, 4, 16, 2, 1, 1}, foldAxis{17, 2, 6, 3, 2, 2}),
	folding(1, 3, foldAxis{12, 2, 3, 4, 1, 0}, foldAxis{20, 2, 4, 5, 1, 0}),
	folding(1, 1, foldAxis{4, 6, 3, 2, 1, 3}, foldAxis{5, 7, 2, 4, 1, 3}),
	folding(1, 2, foldAxis{4, 2, 3, 1, 2, 1}, foldAxis{3, 2, 2, 2, 1, 1}, foldAxis{6, 3, 3, 2, 1, 1}),
	folding(1, 1, foldAxis{40, 17, 2, 9, 2, 1}, foldAxis{3, 1, 3, 1, 1, 0}, foldAxis{4, 1, 4, 1, 1, 0}),
	folding(1, 1, foldAxis{3, 2, 2, 1, 1, 0}, foldAxis{2, 1, 2, 1, 1, 0}, foldAxis{4, 2, 3, 1, 1, 0},
		foldAxis{5, 2, 4, 1, 1, 0}),
	folding(2, 2, foldAxis{3, 1, 3, 1, 1, 0}, foldAxis{0, 1, 0, 1, 1, 0}),
	folding(0, 2, foldAxis{3, 1, 3, 1, 1, 0}, foldAxis{4, 1, 4, 1, 1, 0}),
}

// foldAxis is one axis of an image, like nacre_fold_axis of csrc/copy/copy.h.
type foldAxis struct{ image, block, blocks, stride, dilation, pad int }

func folding(batch, channels int, axes ...foldAxis) nn.Folding {
	f := nn.Folding{Batch: batch, Channels: channels}
	for _, a := range axes {
		f.Image, f.Block, f.Blocks = append(f.Image, a.image), append(f.Block, a.block), append(f.Blocks, a.blocks)
		f.Stride, f.Dilation, f.Pad = append(f.Stride, a.stride), append(f.Dilation, a.dilation), append(f.Pad, a.pad)
	}
	return f
}

// foldBy adds up the windows by the formula.
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

// TestFold compares to sums in the order of the windows' elements, bit by bit.
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

// TestFoldHalves checks that sums of 16-bit floats are rounded once.
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
						t.Errorf("%s of %v with %s: element %d is %v, want %v", fmt.Sprintf("%+v", f), d, half.Variant(), i, got[i],
							want[i])
					}
				}
			}
		}
	}
}
