package cpu

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/device"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op/array"
	"github.com/nacre-ml/nacre/runtime/op/nn"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var blockedTransposeRows = []blockedRow{
	blockedRowFor("tiles", offerConvTranspose, bindBlockedConvTranspose),
}

// tiling is a transposed convolution whose windows lie side by side: every pixel becomes
// a tile of the result, of the kernel's extents.
type tiling struct {
	shape  *nn.ConvShape
	taps   int
	pixels *nn.ConvShape // the convolution of each pixel by one tap
}

// tilingOf returns the tiling that a node is, if it is one by constants.
func tilingOf(o *nn.ConvTranspose, b *device.Binding, l device.Layout) (*tiling, bool) {
	if b.Const(1) == nil {
		return nil, false
	}
	s, err := o.Shape(b.Shape(0), b.Shape(1))
	if err != nil || s.Groups != 1 || s.Channels == 0 || len(s.In) > 2 || !slices.Equal(s.Kernel, s.Stride) {
		return nil, false
	}
	for d := range s.In {
		if s.Pad[d] != 0 || s.Out[d] != s.In[d]*s.Kernel[d] || s.Dilation[d] != 1 && s.Kernel[d] != 1 {
			return nil, false
		}
	}
	t := &tiling{shape: s, taps: tensor.Shape(s.Kernel).Len()}
	one := slices.Repeat([]int{1}, len(s.In))
	t.pixels = &nn.ConvShape{Images: s.Images, Groups: 1, Channels: s.Channels, Filters: s.Filters, In: s.In, Out: s.In,
		Kernel: one, Stride: one, Dilation: one, Pad: make([]int, len(s.In))}
	return t, t.taps <= maxBlockedTaps
}

func offerConvTranspose(o *nn.ConvTranspose, b *device.Binding, l device.Layout) *offer {
	if !blockable(b.In[0]) || !blockable(b.Out[0]) {
		return nil
	}
	t, ok := tilingOf(o, b, l)
	if !ok {
		return nil
	}
	n, blocks := elements(b.Out[0], l)
	taps := float64(t.taps)
	return &offer{in: []int{0}, out: true,
		plain: taps*gemmConvCost(t.pixels, l) + 4*eltwiseElement*n, blocked: taps*denseCost(t.pixels, l) + eltwiseElement*blocks}
}

// bindBlockedConvTranspose convolves the pixels by one tap after the other and puts each
// where it belongs.
func bindBlockedConvTranspose(o *nn.ConvTranspose, b *binder) error {
	l := b.OutLayout(0)
	t, ok := tilingOf(o, b.Binding, l)
	if !ok {
		return device.Refuse("windows overlap, or weights are not constant")
	}
	v := blockedConvWords{convWords: convWords{shape: t.pixels, dtype: tensor.F32, packed: true}, block: l.Block(), kernel: "f32_conv_blocked"}
	k, err := b.choose(v.kernel, v.words())
	if err != nil {
		return err
	}
	weights, ok, err := b.tapWeights(t, k, v.weights())
	if err != nil {
		return err
	}
	if !ok {
		return device.Refuse("the weights are not constant")
	}
	out := append(tensor.Shape{t.pixels.Images, t.pixels.Filters}, t.pixels.Out...)
	pixels, all := b.temp(l.Bytes(tensor.F32, out)), weights.Data
	for tap := range t.taps {
		each := len(all) / t.taps
		weights.Data = all[tap*each:][:each]
		if err := b.add(k, []bindings.Kernel{{}}, v.words(), b.in(0), weights, b.in(2), device.Operand{}, pixels); err != nil {
			return err
		}
		if err := b.copy(tensor.F32, []array.Copy{t.copyOf(tap, l.Block())}, pixels, b.out(0)); err != nil {
			return err
		}
	}
	return nil
}

// tapWeights is the weights [channels, filters, kernel...] packed for each tap.
func (b *binder) tapWeights(t *tiling, k bindings.Kernel, w words) (o device.Operand, ok bool, err error) {
	constant := b.Const(1)
	if b.dev.packs.weights.moves(constant) {
		return o, false, nil
	}
	list, err := b.numbers(w)
	if err != nil {
		return o, false, err
	}
	n := k.Packed(list, 1)
	key := packKey{kernel: k.Word(), operand: 1, words: fmt.Sprint("taps ", list, t.shape.Kernel)}
	data, err := b.dev.packs.get(constant, key, n*t.taps, func(w *tensor.Tensor, all []byte) error {
		x, rows := tensor.View[float32](w), make([]float32, t.shape.Filters*t.shape.Channels)
		for tap := range t.taps {
			for i := range rows {
				rows[i] = x[(i%t.shape.Channels*t.shape.Filters+i/t.shape.Channels)*t.taps+tap]
			}
			k.Pack(list, 1, unsafe.Pointer(unsafe.SliceData(rows)), all[tap*n:][:n])
		}
		return nil
	})
	return b.packedOperand(1, data, err)
}

// copyOf puts the pixels [images, blocks, rows, columns, block] of a tap to the result.
func (t *tiling) copyOf(tap, block int) array.Copy {
	known := graph.Known
	rows, high, columns, wide := 1, 1, t.shape.In[0], t.shape.Kernel[0]
	if len(t.shape.In) == 2 {
		rows, high, columns, wide = t.shape.In[0], t.shape.Kernel[0], t.shape.In[1], t.shape.Kernel[1]
	}
	blocks := (t.shape.Filters + block - 1) / block * t.shape.Images
	return array.Copy{From: known(0), To: known((tap/wide*columns*wide + tap%wide) * block), Axes: []array.CopyAxis{
		{N: known(blocks * rows), From: known(columns * block), To: known(high * columns * wide * block)},
		{N: known(columns), From: known(block), To: known(wide * block)},
		{N: known(block), From: known(1), To: known(1)},
	}}
}
