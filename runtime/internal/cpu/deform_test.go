package cpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nacre-ml/nacre/runtime/internal/ops/nn"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// deformFormula returns the columns of a group of one image.
func deformFormula(s *nn.Deformed, group int, x, offsets, mask []float64) []float64 {
	kernel, places, per, axes := volume(s.Kernel), s.Out.Len(), s.Channels/s.Groups, len(s.In)
	y := make([]float64, per*kernel*places)
	for i := range y {
		channel, k, place := group*per+i/places/kernel, i/places%kernel, i%places
		row := channel/(s.Channels/s.Fields)*kernel + k
		at, rest, tap := make([]float64, axes), place, k
		for a := axes - 1; a >= 0; a-- {
			at[a] = float64(rest%s.Out[a]*s.Stride[a]-s.Pad[a]+tap%s.Kernel[a]*s.Dilation[a]) + offsets[(row*axes+a)*places+place]
			rest, tap = rest/s.Out[a], tap/s.Kernel[a]
		}
		for q := range s.In.Len() {
			weight, rest := 1.0, q
			for a := axes - 1; a >= 0; a-- {
				weight *= max(0, 1-math.Abs(float64(rest%s.In[a])-at[a]))
				rest /= s.In[a]
			}
			y[i] += weight * x[channel*s.In.Len()+q]
		}
		if mask != nil {
			y[i] *= mask[row*places+place]
		}
	}
	return y
}

// TestDeformColumns compares columns to the formula. Offsets are quarters, so that the weights of
// pixels are exact.
func TestDeformColumns(t *testing.T) {
	pool, r := testPool(t), rand.New(rand.NewPCG(41, 42))
	for _, s := range []nn.Deformed{
		{Channels: 1, Groups: 1, Fields: 1, In: tensor.Shape{5}, Out: tensor.Shape{4}, Kernel: []int{2}, Stride: []int{1}, Dilation: []int{1}, Pad: []int{0}},
		{Channels: 6, Groups: 2, Fields: 3, In: tensor.Shape{7, 9}, Out: tensor.Shape{4, 9}, Kernel: []int{3, 3}, Stride: []int{2, 1}, Dilation: []int{1, 2}, Pad: []int{1, 2}},
		{Channels: 4, Groups: 4, Fields: 1, In: tensor.Shape{3, 4}, Out: tensor.Shape{3, 4}, Kernel: []int{1, 1}, Stride: []int{1, 1}, Dilation: []int{1, 1}, Pad: []int{0, 0}},
		{Channels: 4, Groups: 1, Fields: 2, In: tensor.Shape{3, 4, 5}, Out: tensor.Shape{2, 3, 3}, Kernel: []int{2, 2, 3}, Stride: []int{1, 1, 1}, Dilation: []int{1, 1, 1}, Pad: []int{0, 0, 0}},
		{Channels: 2, Groups: 1, Fields: 1, In: tensor.Shape{150, 130}, Out: tensor.Shape{150, 130}, Kernel: []int{1, 1}, Stride: []int{1, 1}, Dilation: []int{1, 1}, Pad: []int{0, 0}},
		{Channels: 2, Groups: 1, Fields: 1, In: tensor.Shape{0, 3}, Out: tensor.Shape{1, 2}, Kernel: []int{2, 2}, Stride: []int{1, 1}, Dilation: []int{1, 1}, Pad: []int{1, 0}},
	} {
		rows := s.Fields * volume(s.Kernel) * s.Out.Len()
		x, offsets := quarters(r, s.Channels*s.In.Len()), quarters(r, rows*len(s.In))
		offsets[0] = math.NaN()
		for group := range s.Groups {
			for _, mask := range [][]float64{nil, quarters(r, rows)} {
				small := s.In.Len() < 1000 // the formula reads every pixel
				var want []float64
				if small {
					offsets[0] = 0.5
					want = deformFormula(&s, group, x, offsets, mask)
				}
				for name, d := range map[string]tensor.DType{"f32_deform_columns": tensor.F32, "f64_deform_columns": tensor.F64} {
					n := s.Channels / s.Groups * volume(s.Kernel) * s.Out.Len()
					for _, k := range runnable(t, name) {
						if !k.Fits(numbersOf(t, deformWords(&s, group))) {
							continue
						}
						got := loaded(d, runGuarded(t, k, deformWords(&s, group), pool, d.Bytes(n), d.Bytes(1), stored(d, x),
							stored(d, offsets), stored(d, mask)))
						if i := differ(got, want[:min(len(want), len(got))], 0, 0); small && i >= 0 {
							t.Fatalf("%s %+v group %d: element %d is %v, not %v", name, s, group, i, got[i], want[i])
						}
						if !small && got[0] != 0 {
							t.Errorf("%s: a place at NaN has %v", name, got[0])
						}
					}
				}
			}
		}
	}
}
