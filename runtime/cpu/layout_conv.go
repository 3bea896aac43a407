package cpu

import (
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/device"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/op/nn"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var blockedConvRows = []blockedRow{
	blockedRowFor("blocked", offerConv, func(o *nn.Conv, b *binder) error { return bindBlockedConv(o, op.Epilogue{}, b) }),
	blockedRowFor("blocked",
		func(o *nn.FusedConv, b *device.Binding, l device.Layout) *offer { return offerConv(&o.Conv, b, l) },
		func(o *nn.FusedConv, b *binder) error { return bindBlockedConv(&o.Conv, o.Then, b) }),
}

// maxBlockedTaps is the most elements of a kernel, NACRE_DEPTHWISE_KERNEL of
// csrc/conv/conv.h.
const maxBlockedTaps = 1024

// offerConv takes convolutions by constant weights, of single channels or of all.
func offerConv(o *nn.Conv, b *device.Binding, l device.Layout) *offer {
	if !blockable(b.In[0]) || !blockable(b.Out[0]) || b.Const(1) == nil || len(b.In[0].Dims) > 4 {
		return nil
	}
	s, err := o.Shape(b.Shape(0), b.Shape(1))
	if err != nil {
		return nil
	}
	taps := tensor.Shape(s.Kernel).Len()
	x := &offer{in: []int{0}, out: true}
	switch {
	case taps > maxBlockedTaps:
		return nil
	case s.Channels == 1 && s.Filters == 1:
		w := windowOf(s.Images*s.Groups, s.In, s.Out, taps)
		blocks := w
		blocks.planes = l.Extents(b.Shape(0))[:2].Len()
		x.plain, x.blocked = w.depthwiseCost(l), blocks.blockedCost(l)
	case s.Groups == 1 && s.Channels > 0:
		if readsPlain(s, l) {
			x.in = nil
		}
		x.plain, x.blocked = gemmConvCost(s, l), denseCost(s, l)
	default:
		return nil
	}
	if b.Has(3) {
		if !blockable(b.In[3]) {
			return nil
		}
		x.in = append(x.in, 3)
	}
	return x
}

// readsPlain reports whether the blocked form of a convolution reads a plain value: one
// of so few channels that most of a block would be padding.
func readsPlain(s *nn.ConvShape, l device.Layout) bool { return 2*s.Channels <= l.Block() }

// bindBlockedConv adds a command of a convolution whose result is blocked.
func bindBlockedConv(o *nn.Conv, then op.Epilogue, b *binder) error {
	s, err := o.Shape(b.Shape(0), b.Shape(1))
	if err != nil {
		return err
	}
	v := blockedConvWords{convWords: convWords{shape: s, dtype: tensor.F32, add: b.Has(3), packed: true, then: then}, block: b.OutLayout(0).Block()}
	kernel := "f32_conv_depthwise_blocked"
	if s.Channels != 1 || s.Filters != 1 {
		kernel, v.dense, v.plain = "f32_conv_blocked", true, b.InLayout(0) == device.Plain
	}
	if v.apply, err = b.mapped(tensor.F32, then); err != nil {
		return err
	}
	k, err := b.choose(kernel, v.words())
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

// blockedConvWords is nacre_conv_blocked_words of csrc/conv/blocked.h or, with dense,
// nacre_conv_dense_words of csrc/conv/dense.h.
type blockedConvWords struct {
	convWords
	block        int
	dense, plain bool
}

func (v *blockedConvWords) words() words { return v.with(v.convWords.words(), v.plain) }

// weights is the words on which packed weights depend.
func (v *blockedConvWords) weights() words { return v.with(v.convWords.weights(), false) }

func (v *blockedConvWords) with(w words, plain bool) words {
	w.int(v.block)
	if v.dense {
		w.bool(plain)
	}
	return w
}
