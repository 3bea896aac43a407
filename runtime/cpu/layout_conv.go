package cpu

import (
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/device"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var blockedConvRows = []blockedRow{
	blockedRowFor("depthwise", offerDepthwise, func(o *op.Conv, b *binder) error { return bindBlockedConv(o, op.Epilogue{}, b) }),
	blockedRowFor("depthwise",
		func(o *op.FusedConv, b *device.Binding, l device.Layout) *offer { return offerDepthwise(&o.Conv, b, l) },
		func(o *op.FusedConv, b *binder) error { return bindBlockedConv(&o.Conv, o.Then, b) }),
}

// The nanoseconds of a depthwise convolution for each multiply-add, and for each element
// of its operands.
const (
	depthwisePlainTap, depthwisePlainElement     = 0.05, 0.25
	depthwiseBlockedTap, depthwiseBlockedElement = 0.03, 0.10
)

// maxBlockedTaps is the most elements of a kernel, NACRE_DEPTHWISE_TAPS of
// csrc/conv/conv.h.
const maxBlockedTaps = 1024

// offerDepthwise takes convolutions of single channels by constant weights.
func offerDepthwise(o *op.Conv, b *device.Binding, l device.Layout) *offer {
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
	x := &offer{in: []int{0}, out: true}
	in, inBlocks := elements(b.In[0], l)
	out, outBlocks := elements(b.Out[0], l)
	x.plain = depthwisePlainTap*out*float64(taps) + depthwisePlainElement*(in+out)
	x.blocked = depthwiseBlockedTap*outBlocks*float64(taps) + depthwiseBlockedElement*(inBlocks+outBlocks)
	if b.Has(3) {
		if !blockable(b.In[3]) {
			return nil
		}
		x.in = append(x.in, 3)
	}
	return x
}

// bindBlockedConv adds a command of a depthwise convolution of a blocked value.
func bindBlockedConv(o *op.Conv, then op.Epilogue, b *binder) error {
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
	add := b.in(3)
	if b.Const(3) != nil {
		if add, err = b.blockedConst(3); err != nil {
			return err
		}
	}
	return b.add(k, []bindings.Kernel{v.apply}, v.words(), b.in(0), weights, b.in(2), add, b.out(0))
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
