package cpu

import (
	"slices"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/ops/nn"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var blockedConvRows = []blockedRow{
	blockedRowFor("blocked", offerConv,
		func(o *nn.Conv, b *binder) error { return bindBlockedConv(o, kit.Epilogue{}, b) }),
	blockedRowFor("blocked",
		func(o *nn.FusedConv, b *device.Binding, l device.Layout) *offer { return offerConv(&o.Conv, b, l) },
		func(o *nn.FusedConv, b *binder) error { return bindBlockedConv(&o.Conv, o.Epilogue, b) }),
}

// maxBlockedTaps is the most elements of a kernel, NACRE_DEPTHWISE_KERNEL of csrc/conv/conv.h.
const maxBlockedTaps = 1024

// offerConv accepts convolutions by constant weights.
func offerConv(o *nn.Conv, b *device.Binding, l device.Layout) *offer {
	if !blockable(b.In[0]) || !blockable(b.Out[0]) || b.Const(1) == nil || len(b.In[0].Dims) > 5 {
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
	case groupsInBlocks(s, l):
		x.plain, x.blocked = gemmConvCost(s, l),
			windowOf(l.Extents(b.Shape(0))[:2].Len(), s.In, s.Out, taps*s.Channels).blockedCost(l)
		if s.Channels == 1 && len(s.In) <= 2 {
			x.plain = windowOf(s.Images*s.Groups, s.In, s.Out, taps).depthwiseCost(l)
		}
	case s.Channels > 0 && !mostlyPadding(s):
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

// groupsInBlocks reports whether every block holds whole groups with as many filters as channels,
// such as the single channels of a depthwise convolution.
func groupsInBlocks(s *nn.ConvShape, l device.Layout) bool {
	return s.Channels == s.Filters && s.Channels > 0 && s.Channels < l.Block() && l.Block()%s.Channels == 0 &&
		(s.Groups > 1 || s.Channels == 1)
}

// mostlyPadding reports whether a convolution's windows reach far beyond the value. Kernels for
// blocks copy the value into that area, among zeros.
func mostlyPadding(s *nn.ConvShape) bool {
	reach, value := 1.0, 1.0
	for d := range s.In {
		reach *= float64(s.Out[d]-1)*float64(s.Stride[d]) + float64(s.Kernel[d]-1)*float64(s.Dilation[d]) + 1
		value *= float64(s.In[d])
	}
	return reach > 4*value+1<<8
}

// readsPlain reports whether the blocked form of a convolution reads a plain value. It does if
// channels are so few that padding would fill most of a block.
func readsPlain(s *nn.ConvShape, l device.Layout) bool {
	return s.Groups == 1 && 2*s.Channels <= l.Block()
}

// bindBlockedConv adds a command of a convolution with a blocked result.
func bindBlockedConv(o *nn.Conv, epilogue kit.Epilogue, b *binder) error {
	s, err := o.Shape(b.Shape(0), b.Shape(1))
	if err != nil {
		return err
	}
	if p := loneProduct(s, b.OutLayout(0)); p != nil && !b.Has(3) && b.InLayout(0) != device.Plain {
		return b.shortProduct(p, epilogue, b.in(0), b.out(0))
	}
	v := blockedConvWords{convWords: convWords{shape: s, dtype: tensor.F32, add: b.Has(3), packed: true,
		epilogue: epilogue}, block: b.OutLayout(0).Block()}
	v.kernel = "f32_conv_depthwise_blocked"
	if !groupsInBlocks(s, b.OutLayout(0)) {
		v.kernel, v.plain = "f32_conv_blocked", b.InLayout(0) == device.Plain
		tile := winogradTile(s, v.block)
		if kit.CodesOf(b.Const(1)) != nil && winogradTiles(s, tile) < leastCodedTiles[tile] {
			tile = 0
		}
		if tile > 0 && !v.plain && !b.dev.direct {
			v.kernel, v.tile = "f32_conv_winograd", tile
		}
	}
	k, weights, err := b.blockedConv(&v, 1)
	if err != nil {
		return err
	}
	return b.add(k, []bindings.Kernel{v.apply}, v.words(), b.in(0), weights, b.in(2), b.in(3), b.out(0))
}

// loneProduct returns a convolution of single pixels as a product of matrix rows of channels by
// weights. It returns nil for other convolutions, and if rows do not follow each other in blocks.
func loneProduct(s *nn.ConvShape, l device.Layout) *lower.Product {
	lone := volumeOf(s.In) == 1 && volumeOf(s.Out) == 1 && volumeOf(s.Kernel) == 1 && slices.Max(s.Pad) == 0 &&
		s.Groups == 1
	if !lone || s.Images > 1 && (s.Channels%l.Block() > 0 || s.Filters%l.Block() > 0) {
		return nil
	}
	n, k := graph.Known(s.Filters), graph.Known(s.Channels)
	return &lower.Product{M: graph.Known(s.Images), N: n, K: k, ARow: k, ACol: graph.Known(1), BRow: graph.Known(1), BCol: k}
}

// blockedConv sets the epilogue's kernel. It returns the convolution's kernel and its weights,
// input i, packed for that kernel.
func (b *binder) blockedConv(v *blockedConvWords, i int) (k bindings.Kernel, weights device.Operand, err error) {
	v.apply = b.mapped(tensor.F32, v.epilogue)
	if k, err = b.choose(v.kernel, v.words()); err != nil {
		return k, weights, err
	}
	var ok bool
	if v.kernel == "f32_conv_winograd" {
		weights, ok, err = b.transformedWeights(i, k, v)
	} else {
		weights, ok, err = b.convWeights(i, k, v.weights())
	}
	if err == nil && !ok {
		err = device.Refuse("the weights are not constant")
	}
	return k, weights, err
}

// winogradTile returns the side of the tiles in which a convolution takes least time, or 0 if a
// transform does not pay. Larger tiles need fewer products. With few tiles, reading all transformed
// weights costs more than that, most of all for wide vectors.
func winogradTile(s *nn.ConvShape, block int) int {
	if !transforms(s) {
		return 0
	}
	few := 25
	if block < 16 {
		few = 16
	}
	four := winogradTiles(s, 4)
	switch {
	case four >= 25, four >= 16 && s.Out[0]%4 == 0 && s.Out[1]%4 == 0:
		return 4
	case winogradTiles(s, 2) >= few:
		return 2
	}
	return 0
}

// winogradTiles returns the number of tiles with m pixels on a side; 0 if m is 0.
func winogradTiles(s *nn.ConvShape, m int) int {
	if m == 0 {
		return 0
	}
	return s.Images * ((s.Out[0] + m - 1) / m) * ((s.Out[1] + m - 1) / m)
}

// leastCodedTiles is the least number of tiles, by their side, with which a transform pays if each
// run transforms the weights as well, because they are codes.
var leastCodedTiles = map[int]int{2: 40, 4: 25}

// transforms reports whether a convolution needs fewer products on transformed values.
func transforms(s *nn.ConvShape) bool {
	one := []int{1, 1}
	return s.Groups == 1 && slices.Equal(s.Kernel, []int{3, 3}) && slices.Equal(s.Stride, one) &&
		slices.Equal(s.Dilation, one) && min(s.Channels, s.Filters) >= 16
}

// blockedConvWords holds the words of a kernel: nacre_conv_blocked_words of csrc/conv/blocked.h,
// nacre_conv_dense_words of csrc/conv/dense.h or nacre_conv_winograd_words of csrc/conv/winograd.h.
type blockedConvWords struct {
	convWords
	kernel string
	block  int
	plain  bool // of f32_conv_blocked
	tile   int  // of f32_conv_winograd
}

func (v *blockedConvWords) words() words { return v.with(v.convWords.words(), v.plain) }

// weights returns the words that packed weights depend on.
func (v *blockedConvWords) weights() words { return v.with(v.convWords.weights(), false) }

func (v *blockedConvWords) with(w words, plain bool) words {
	w.int(v.block)
	switch v.kernel {
	case "f32_conv_blocked":
		w.bool(plain)
	case "f32_conv_winograd":
		w.int(v.tile)
	}
	return w
}
