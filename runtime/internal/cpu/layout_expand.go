package cpu

import (
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/ops/nn"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// expandConv is a convolution of single pixels followed by a depthwise one. Its inputs are the
// first convolution's, as many as operands, then the weights and the bias of the second.
type expandConv struct {
	expand, depthwise fusedConv
	operands          int
}

// fusedConv is a convolution and its epilogue.
type fusedConv struct {
	*nn.Conv
	epilogue kit.Epilogue
}

// Infer infers the first convolution, and the second from its result.
func (o *expandConv) Infer(c *op.Infer) error {
	between := &op.Value{}
	if err := o.expand.Infer(&op.Infer{In: c.In[:o.operands], Out: []*op.Value{between}, Body: c.Body}); err != nil {
		return err
	}
	return o.depthwise.Infer(&op.Infer{In: append([]*op.Value{between}, c.In[o.operands:]...), Out: c.Out, Body: c.Body})
}

// expandRows are the rows of nodes that Join makes. They compute on blocks only.
var expandRows = []blockedRow{
	blockedRowFor("blocked", offerExpand, bindExpand),
}

func offerExpand(_ *expandConv, _ *device.Binding, _ device.Layout) *offer {
	return &offer{in: []int{0}, out: true}
}

// fusedConvOf returns the node's convolution. ok is false if it is none or adds a value.
func fusedConvOf(b *device.Binding) (fusedConv, bool) {
	if b.Has(3) {
		return fusedConv{}, false
	}
	switch o := b.Op.(type) {
	case *nn.Conv:
		return fusedConv{o, kit.Epilogue{}}, true
	case *nn.FusedConv:
		return fusedConv{&o.Conv, o.Epilogue}, true
	}
	return fusedConv{}, false
}

// Join joins a convolution of single pixels of a blocked value with a depthwise convolution of its
// result.
func (d *Device) Join(first, second *device.Binding) *device.Binding {
	expand, ok := fusedConvOf(first)
	depthwise, also := fusedConvOf(second)
	if !ok || !also || first.InLayout(0) != d.blocked || second.InLayout(0) != d.blocked ||
		second.OutLayout(0) != d.blocked {
		return nil
	}
	a, err := expand.Shape(first.Shape(0), first.Shape(1))
	if err != nil {
		return nil
	}
	c, err := depthwise.Shape(second.Shape(0), second.Shape(1))
	if err != nil || !isPointwise(a) || c.Channels != 1 || c.Filters != 1 || len(c.Kernel) != 2 {
		return nil
	}
	if d.layouts == device.LayoutsByCost && !d.joinPays(a) {
		return nil
	}
	return device.Joining(first, second, &expandConv{expand, depthwise, len(first.In)}, "ExpandConv")
}

// isPointwise reports whether s is a convolution of one group over single pixels of two axes.
func isPointwise(s *nn.ConvShape) bool {
	if s.Groups != 1 || len(s.Kernel) != 2 {
		return false
	}
	for d := range s.Kernel {
		if s.Kernel[d] != 1 || s.Stride[d] != 1 || s.Pad[d] != 0 || s.In[d] != s.Out[d] {
			return false
		}
	}
	return true
}

// The smallest value between two convolutions that is better not stored: its bytes, and the pixels
// of its rows, since tiles are computed a row at a time.
const (
	joinBytes = 256 << 10
	joinWidth = 14
)

// joinPays reports whether one step of two convolutions takes less time than two. The joined kernel
// has no AMX tiles, so it does not pay if the first convolution uses them.
func (d *Device) joinPays(a *nn.ConvShape) bool {
	if 4*a.Filters*tensor.Shape(a.Out).Len() < joinBytes || a.Out[1] < joinWidth {
		return false
	}
	expand := blockedConvWords{convWords: convWords{shape: a, dtype: tensor.F32, packed: true}, block: d.blocked.Block(),
		kernel: "f32_conv_blocked"}
	k, err := (&binder{Binding: &device.Binding{}, dev: d}).choose(expand.kernel, expand.words())
	if err != nil {
		return false
	}
	tiles, err := bindings.ParseISA("amx")
	return err != nil || k.ISA()&tiles == 0
}

// bindExpand adds a command of both convolutions.
func bindExpand(o *expandConv, b *binder) error {
	a, err := o.expand.Shape(b.Shape(0), b.Shape(1))
	if err != nil {
		return err
	}
	c, err := o.depthwise.Shape(append(tensor.Shape{a.Images, a.Filters}, a.Out...), b.Shape(o.operands))
	if err != nil {
		return err
	}
	v := newExpandWords(a, c, o.expand.epilogue, o.depthwise.epilogue, b.OutLayout(0).Block())
	_, weights, err := b.blockedConv(&v.expand, 1)
	if err != nil {
		return err
	}
	_, depthwise, err := b.blockedConv(&v.depthwise, o.operands)
	if err != nil {
		return err
	}
	k, err := b.choose("f32_conv_expand", v.words())
	if err != nil {
		return err
	}
	var bias device.Operand
	if o.operands > 2 {
		bias = b.in(2)
	}
	parts := []bindings.Kernel{v.expand.apply, v.depthwise.apply}
	return b.add(k, parts, v.words(), b.in(0), weights, bias, depthwise, b.in(o.operands+1), b.out(0))
}

// expandWords is nacre_conv_expand_words of csrc/conv/expand.h: the words of two convolutions.
type expandWords struct {
	expand, depthwise blockedConvWords
}

func newExpandWords(a, c *nn.ConvShape, epilogue, epilogueDepthwise kit.Epilogue, block int) *expandWords {
	return &expandWords{
		blockedConvWords{convWords: convWords{shape: a, dtype: tensor.F32, packed: true, epilogue: epilogue}, block: block,
			kernel: "f32_conv_blocked"},
		blockedConvWords{convWords: convWords{shape: c, dtype: tensor.F32, packed: true, epilogue: epilogueDepthwise},
			block: block, kernel: "f32_conv_depthwise_blocked"},
	}
}

func (v *expandWords) words() words {
	w := append(v.expand.convWords.words(), v.depthwise.convWords.words()...)
	w.int(v.expand.block)
	return w
}
