package cpu

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/ops/nn"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestConvCodes decodes codes in several orders by all variants, and compares the floats to the
// floats of the codes.
func TestConvCodes(t *testing.T) {
	t.Parallel()
	pool, r := testPool(t), rand.New(rand.NewPCG(71, 72))
	const filters, channels = 37, 70
	shape := tensor.Shape{filters, channels, 3}
	// panels is an order of panels of lanes filters, with zeros after the last filter.
	panels := func(lanes int) (from []int) {
		for f := 0; f < filters; f += lanes {
			for k := range channels * 3 {
				for l := f; l < f+lanes; l++ {
					if l < filters {
						from = append(from, l*channels*3+k)
					} else {
						from = append(from, -1)
					}
				}
			}
		}
		return from
	}
	natural := make([]int, shape.Len())
	for i := range natural {
		natural[i] = i
	}
	orders := map[string][]int{"natural": natural, "panels of 14": panels(14), "panels of 32": panels(32), "panels of 3": panels(3),
		"at random": r.Perm(shape.Len()), "zeros": append(slices.Repeat([]int{-1}, 40), natural...)}
	for _, d := range []tensor.DType{tensor.I2, tensor.U2, tensor.I4, tensor.U4, tensor.I8, tensor.U8} {
		for _, g := range []struct {
			scales      []int
			axis, block int
		}{{nil, 0, 0}, {[]int{filters}, 0, 0}, {[]int{channels}, 1, 0}, {[]int{filters, 3, 3}, 1, 32}} {
			for _, zeros := range []bool{false, true} {
				s := cases.NewSource(fmt.Sprint(d, g, zeros))
				half := float64(int(1) << (d.Bits() - 1))
				low := map[bool]float64{true: -half}[d.Kind() == tensor.Signed]
				codes := s.Between(d, low, low+2*half-1, shape...)
				var points *tensor.Tensor
				if zeros {
					points = s.Between(d, low, low+2*half-1, g.scales...)
				}
				c, err := kit.NewCodes(codes, s.Any(tensor.F32, g.scales...), points, g.axis, g.block)
				if err != nil {
					t.Fatal(err)
				}
				floats := tensor.View[float32](c.Floats())
				for name, order := range orders {
					spread := newCodeSpread(c, int32s(order))
					data := bindings.Alloc(spread.size())
					defer bindings.Free(data)
					spread.write(data)
					want := make([]float32, len(order))
					for i, from := range order {
						if from >= 0 {
							want[i] = floats[from]
						}
					}
					for _, k := range runnable(t, "f32_conv_weights") {
						got := viewAs[float32](runGuarded(t, k, nil, pool, 4*len(order), 4, data))
						for i := range want {
							if got[i] != want[i] {
								t.Fatalf("%s, %v, scales %v along axis %d, zeros %v, %s: weight %d is %v, not %v", k.Variant(), d, g.scales, g.axis,
									zeros, name, i, got[i], want[i])
							}
						}
					}
				}
			}
		}
	}
}

// int32s returns an order as codeSpread has it.
func int32s(order []int) []int32 {
	list := make([]int32, len(order))
	for i, from := range order {
		list[i] = int32(from + 1)
	}
	return list
}

// TestConvCodesAtRandom refuses codes that take more than half the memory of floats, because their
// scales follow each other without order.
func TestConvCodesAtRandom(t *testing.T) {
	t.Parallel()
	r, s := rand.New(rand.NewPCG(73, 74)), cases.NewSource("codes at random")
	c, err := kit.NewCodes(s.Any(tensor.I8, 64, 256, 1), s.Any(tensor.F32, 64), nil, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	d := &Device{}
	for _, random := range []bool{false, true} {
		data, err := d.packCodes(c, 64*256, func(index, order []byte) {
			copy(order, index)
			if random {
				list := viewAs[int32](order)
				r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
			}
		})
		if err != nil || (data == nil) != random {
			t.Errorf("at random %v: %d bytes, %v", random, len(data), err)
		}
		bindings.Free(data)
	}
}

// TestWinogradWeights compares weights that a command transforms to packed ones.
func TestWinogradWeights(t *testing.T) {
	t.Parallel()
	pool := testPool(t)
	for i, k := range runnable(t, "f32_conv_winograd") {
		by := runnable(t, "f32_winograd_weights")[i]
		for _, tile := range []int{2, 4} {
			for _, block := range testBlocks {
				s := &nn.ConvShape{Images: 1, Groups: 1, Channels: 37, Filters: 50, In: []int{12, 12}, Out: []int{12, 12},
					Kernel: []int{3, 3}, Stride: ones(2), Dilation: ones(2), Pad: ones(2)}
				v := blockedConvWords{convWords: convWords{shape: s, dtype: tensor.F32, packed: true}, kernel: "f32_conv_winograd", block: block, tile: tile}
				list := numbersOf(t, v.words())
				if !k.Fits(list) {
					continue
				}
				w := cases.NewSource("weights").Any(tensor.F32, 50, 37, 3, 3).Bytes()
				want := bindings.Alloc(k.Packed(list, weightsOperand))
				defer bindings.Free(want)
				k.Pack(list, weightsOperand, w, want)
				if got := runGuarded(t, by, v.words(), pool, len(want), 64, w); !bytes.Equal(got, want) {
					t.Errorf("%s, tiles of %d, blocks of %d: the weights differ", by.Variant(), tile, block)
				}
			}
		}
	}
}
