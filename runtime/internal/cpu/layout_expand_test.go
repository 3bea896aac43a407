package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// expandCases returns depthwise convolutions, and for each the channels of the convolution before
// it.
func expandCases(r *rand.Rand) (channels []int, list []convCase) {
	list = []convCase{
		{images: 1, groups: 33, in: []int{14, 14}, kernel: []int{3, 3}, before: []int{1, 1}, behind: []int{1, 1}},
		{images: 2, groups: 48, in: []int{28, 29}, kernel: []int{3, 3}, stride: []int{2, 2}, before: []int{1, 1}, behind: []int{1, 1}},
		{images: 1, groups: 20, in: []int{15, 17}, kernel: []int{5, 5}, stride: []int{2, 2}, before: []int{1, 1}, behind: []int{2, 2}},
		{images: 1, groups: 16, in: []int{90, 112}, kernel: []int{3, 3}, before: []int{1, 1}, behind: []int{1, 1}},
		{images: 1, groups: 5, in: []int{9, 130}, kernel: []int{7, 7}, before: []int{3, 3}, behind: []int{3, 3}},
		{images: 1, groups: 3, in: []int{40, 10}, kernel: []int{1, 2}, stride: []int{3, 1}, behind: []int{0, 5}},
		{images: 1, groups: 17, in: []int{2, 3}, kernel: []int{3, 3}, before: []int{4, 4}, behind: []int{4, 4}},
	}
	for range 10 {
		c := convCase{images: 1 + r.IntN(2), groups: 1 + r.IntN(70)}
		for range 2 {
			k := 1 + r.IntN(5)
			c.kernel = append(c.kernel, k)
			c.dilation = append(c.dilation, 1+r.IntN(2))
			c.stride = append(c.stride, 1+r.IntN(3))
			c.before = append(c.before, r.IntN(k+1))
			c.behind = append(c.behind, r.IntN(k+1))
			c.in = append(c.in, 2*k+r.IntN(40))
		}
		list = append(list, c)
	}
	for i := range list {
		list[i].name, list[i].channels, list[i].filter, list[i].noBias = fmt.Sprint("case ", i), 1, 1, i%5 == 4
		channels = append(channels, 1+r.IntN(40))
	}
	return channels, list
}

// expandData is a convolution and the depthwise convolution of its result.
type expandData struct {
	first, second *convData
}

func newExpandData(r *rand.Rand, channels int, c convCase) *expandData {
	c = c.whole()
	pointwise := convCase{images: c.images, groups: 1, channels: channels, filter: c.groups, in: c.in,
		kernel: []int{1, 1}, noBias: c.groups%3 == 0}.whole()
	return &expandData{newConvData(r, &pointwise, pointwise.shape()), newConvData(r, &c, c.shape())}
}

// words returns the words of the command for kernel k, with functions within its levels.
func (d *expandData) words(
	t *testing.T, k bindings.Kernel, epilogue, epilogueDepthwise kit.Epilogue, block int,
) *expandWords {
	t.Helper()
	v := newExpandWords(d.first.shape, d.second.shape, epilogue, epilogueDepthwise, block)
	for _, w := range []*blockedConvWords{&v.expand, &v.depthwise} {
		if w.epilogue.Func == "leaky_relu" {
			w.apply = partOf(t, "f32_leaky_relu", k.ISA())
		}
	}
	return v
}

// packedBy returns weights packed for the kernel of their own convolution within levels isa.
func packedBy(t *testing.T, v *blockedConvWords, isa bindings.ISA, w []float64) []byte {
	t.Helper()
	k := partOfOp(t, v, isa)
	list := numbersOf(t, v.weights())
	packed := bindings.Alloc(k.Packed(list, 1))
	t.Cleanup(func() { bindings.Free(packed) })
	k.Pack(list, 1, stored(tensor.F32, w), packed)
	return packed
}

func partOfOp(t *testing.T, v *blockedConvWords, isa bindings.ISA) bindings.Kernel {
	t.Helper()
	for _, k := range bindings.Variants(v.kernel) {
		if k.ISA()&^isa == 0 && k.Fits(numbersOf(t, v.words())) {
			return k
		}
	}
	t.Fatalf("no %s fits", v.kernel)
	return bindings.Kernel{}
}

// TestExpandConv compares all variants to the formula of one convolution after the other.
func TestExpandConv(t *testing.T) {
	t.Parallel()
	pool := testPool(t)
	r := rand.New(rand.NewPCG(27, 28))
	tried := map[string]bool{}
	channels, cases := expandCases(r)
	for i, c := range cases {
		d := newExpandData(r, channels[i], c)
		if i%3 == 2 {
			for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
				d.first.x[r.IntN(len(d.first.x))] = v
			}
		}
		epilogue, epilogueDepthwise := convEpilogues[i%len(convEpilogues)], convEpilogues[i/2%len(convEpilogues)]
		d.second.x = d.first.formula(t, "f64_conv", epilogue)
		want := d.second.formula(t, "f64_conv", epilogueDepthwise)
		for _, k := range runnable(t, "f32_conv_expand") {
			for _, block := range testBlocks {
				v := d.words(t, k, epilogue, epilogueDepthwise, block)
				if !k.Fits(numbersOf(t, v.words())) {
					continue
				}
				tried[k.Variant()] = true
				in := append(tensor.Shape{d.first.shape.Images, d.first.shape.Channels}, d.first.shape.In...)
				out := append(tensor.Shape{d.second.shape.Images, d.second.shape.Groups}, d.second.shape.Out...)
				n := device.Blocked(block).Bytes(tensor.F32, out)
				got := fromBlocks(runGuarded(t, k, v.words(), pool, n, 4, toBlocks(d.first.x, in, block),
					packedBy(t, &v.expand, k.ISA(), d.first.w), stored(tensor.F32, d.first.bias),
					packedBy(t, &v.depthwise, k.ISA(), d.second.w), stored(tensor.F32, d.second.bias)), out, block)
				if i := differ(got, want, 0, 0); i >= 0 {
					t.Fatalf("%s, %s in blocks of %d: element %d is %v, not %v", c.name, k.Variant(), block, i, got[i], want[i])
				}
			}
		}
	}
	if len(tried) != len(runnable(t, "f32_conv_expand")) {
		t.Errorf("only %v fit", tried)
	}
}
