package cpu

import (
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/device"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/op/nn"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var blockedConvRows = []blockedRow{
	blockedRowFor("depthwise", offerDepthwise, func(o *nn.Conv, b *binder) error { return bindBlockedConv(o, op.Epilogue{}, b) }),
	blockedRowFor("depthwise",
		func(o *nn.FusedConv, b *device.Binding, l device.Layout) *offer { return offerDepthwise(&o.Conv, b, l) },
		func(o *nn.FusedConv, b *binder) error { return bindBlockedConv(&o.Conv, o.Then, b) }),
}

// maxBlockedTaps is the most elements of a kernel, NACRE_DEPTHWISE_TAPS of
// csrc/conv/conv.h.
const maxBlockedTaps = 1024

// offerDepthwise takes convolutions of single channels by constant weights.
func offerDepthwise(o *nn.Conv, b *device.Binding, l device.Layout) *offer {
	if !blockable(b.In[0]) || !blockable(b.Out[0]) || b.Const(1) == nil || len(b.In[0].Dims) > 4 {
		return nil
	}
	s, err := o.Shape(b.Shape(0), b.Shape(1))
	if err != nil || s.Channels != 1 || s.Filters != 1 {
		return nil
	}
	taps := tensor.Shape(s.Kernel).Len()
	if taps > maxBlockedTaps {
		return nil
	}
	w := windowOf(s.Images*s.Groups, s.In, s.Out, taps)
	blocks := w
	blocks.planes = l.Extents(b.Shape(0))[:2].Len()
	x := &offer{in: []int{0}, out: true, plain: w.depthwiseCost(l), blocked: blocks.blockedCost(l)}
	if b.Has(3) {
		if !blockable(b.In[3]) {
			return nil
		}
		x.in = append(x.in, 3)
	}
	return x
}

// bindBlockedConv adds a command of a depthwise convolution of a blocked value.
func bindBlockedConv(o *nn.Conv, then op.Epilogue, b *binder) error {
	s, err := o.Shape(b.Shape(0), b.Shape(1))
	if err != nil {
		return err
	}
	v := blockedConvWords{convWords{shape: s, dtype: tensor.F32, add: b.Has(3), packed: true, then: then}, b.OutLayout(0).Block()}
	if v.apply, err = b.mapped(tensor.F32, then); err != nil {
		return err
	}
	k, err := b.choose("f32_conv_depthwise_blocked", v.words())
	if err != nil {
		return err
	}
	weights, ok, err := b.packed(1, k, v.weights(), 1)
	if err != nil {
		return err
	}
	if !ok {
		return device.Refuse("the weights are not constant")
	}
	return b.add(k, []bindings.Kernel{v.apply}, v.words(), b.in(0), weights, b.in(2), b.in(3), b.out(0))
}

// blockedConvWords is nacre_conv_blocked_words of csrc/conv/blocked.h.
type blockedConvWords struct {
	convWords
	block int
}

func (v *blockedConvWords) words() words {
	w := v.convWords.words()
	w.int(v.block)
	return w
}

// weights is the words on which packed weights depend.
func (v *blockedConvWords) weights() words {
	w := v.convWords.weights()
	w.int(v.block)
	return w
}
