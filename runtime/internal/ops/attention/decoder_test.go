package attention

import (
	"math"
	"testing"

	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestDecoderBeams reads a cache through the beams that its tokens came from, and compares with the
// attention of each beam to its own keys and values.
func TestDecoderBeams(t *testing.T) {
	const beams, heads, size, room, past = 3, 2, 4, 6, 4
	state := uint32(1)
	numbers := func(shape ...int) *tensor.Tensor {
		x := tensor.New(tensor.F32, shape...)
		for i := range x.Len() {
			state = state*1664525 + 1013904223
			tensor.View[float32](x)[i] = float32(state>>8)/(1<<23) - 1
		}
		return x
	}
	ints := func(list []int32, shape ...int) *tensor.Tensor {
		x := tensor.New(tensor.I32, shape...)
		copy(tensor.View[int32](x), list)
		return x
	}
	from := make([]int32, beams*room)
	for i := range from {
		from[i] = int32(i * 7 % beams)
	}
	in := make([]*tensor.Tensor, DecoderBias+1)
	for i := range 3 {
		in[i] = numbers(beams, 1, heads*size)
	}
	in[DecoderPastKey], in[DecoderPastValue] = numbers(beams, heads, room, size), numbers(beams, heads, room, size)
	in[DecoderPastLength], in[DecoderBeams] = ints([]int32{past}, 1), ints([]int32{beams}, 1)
	in[DecoderIndirection] = ints(from, 1, beams, room)
	out := []*tensor.Tensor{tensor.New(tensor.F32, beams, 1, heads*size),
		tensor.New(tensor.F32, beams, heads, room, size), tensor.New(tensor.F32, beams, heads, room, size)}
	if err := (&DecoderAttention{Heads: heads}).Run(&op.Run{In: in, Out: out}); err != nil {
		t.Fatal(err)
	}
	at := func(x *tensor.Tensor, i int) float64 { return float64(tensor.View[float32](x)[i]) }
	for b := range beams {
		for h := range heads {
			weights, sum := make([]float64, past+1), 0.0
			place := func(j, i int) (cache bool, k int) {
				if j == past {
					return false, (b*heads+h)*size + i
				}
				return true, ((int(from[b*room+j])*heads+h)*room+j)*size + i
			}
			element := func(which, j, i int) float64 {
				cache, k := place(j, i)
				if cache {
					return at(in[DecoderPastKey+which], k)
				}
				return at(in[DecoderKey+which], k)
			}
			for j := range weights {
				score := 0.0
				for i := range size {
					score += at(in[DecoderQuery], (b*heads+h)*size+i) * element(0, j, i)
				}
				weights[j] = math.Exp(score / math.Sqrt(size))
				sum += weights[j]
			}
			for i := range size {
				want := 0.0
				for j, w := range weights {
					want += w / sum * element(1, j, i)
				}
				if got := at(out[0], (b*heads+h)*size+i); math.Abs(got-want) > 1e-5 {
					t.Fatalf("beam %d, head %d, element %d is %v, want %v", b, h, i, got, want)
				}
			}
		}
	}
}
