package vulkan

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/ops/nn"
)

// lastConv is the shader of convolutions with channels last by cooperative matrices.
const lastConv = "conv/last"

// lastTiles are matrixTiles of pixels and filters for lastConv.
var lastTiles = []matrixTile{
	{2, 2, 2, 2, 4, 33, 33},
	{2, 2, 1, 1, 4, 1, 1},
}

// bindLastConv binds convolutions with channels last of images of up to two axes.
func bindLastConv(o *nn.Conv, epilogue kit.Epilogue, b *binder) error {
	s, err := b.convolution(o, epilogue)
	if err != nil {
		return err
	}
	if len(s.In) > 2 {
		return device.Refuse("images of %d axes", len(s.In))
	}
	w, err := b.convFacts(s, epilogue)
	if err != nil {
		return err
	}
	w.int(s.Images)
	defer b.works(b.OutShape(0).Len() * s.Channels * product3(s.Kernel))
	if s.isDepthwise() {
		return b.lastDepthwise(s, w)
	}
	switch {
	case s.Channels%wordElements != 0:
		return device.Refuse("%d channels of a group are not whole words", s.Channels)
	case s.Filters < fewFilters:
		return device.Refuse("%d filters of a group", s.Filters)
	}
	table := device.Operand{}
	plain := product3(s.Kernel) == 1 && slices.Max(s.Pad) <= 0
	if !plain {
		terms, err := lastTerms(s)
		if err != nil {
			return err
		}
		table = constant(terms...)
	}
	rows, words := s.Images*product3(s.Out), matrixSide{words: true}
	t := b.dev.matrixTiling(lastConv, s.variant, rows, s.Filters, s.Groups, 1, words, words)
	if t == nil {
		return device.Refuse("the device has no cooperative matrices of %v elements with a tile that fits", b.DType(0))
	}
	filters := b.in(1)
	if taps := product3(s.Kernel); taps > 1 {
		axes := []axisSteps{{s.Groups * s.Filters, s.Channels * taps, s.Channels * taps}, {taps, 1, s.Channels},
			{s.Channels, taps, 1}}
		if filters, err = b.turned(1, axes); err != nil {
			return err
		}
	}
	return b.lastShares(s, epilogue, t, []uint32{uint32(kit.Btoi(plain))}, w, b.in(0), filters, b.in(2), b.in(3), b.out(0),
		table)
}

// lastLeastTerms is the least terms of a sum that a workgroup of lastConv takes.
const lastLeastTerms = 1024

// lastShares adds the dispatch of lastConv. If there are few tiles, workgroups share sums, and another
// dispatch adds these and applies the function.
func (b *binder) lastShares(
	s *convolution, epilogue kit.Epilogue, t *tiling, constants []uint32, w words, operands ...device.Operand,
) error {
	const size = 4 // bytes of a sum
	total, depth := b.OutShape(0).Len(), s.Channels*product3(s.Kernel)
	grid := t.grid(s.Images*product3(s.Out), s.Filters, s.Groups)
	parts, sums := b.parts(product3(grid[:]), depth, lastLeastTerms, size*total), device.Operand{}
	if parts = max(min(parts, b.dev.info.Caps.MaxGroups[2]/s.Groups), 1); parts > 1 {
		sums = b.temp(parts * size * total)
	}
	grid[2] *= parts
	constants = slices.Concat(t.constants, constants, []uint32{uint32(parts)})
	err := b.dispatch(lastConv, s.variant, t.size, grid, constants, w, append(operands, sums)...)
	if err != nil || parts == 1 {
		return err
	}
	w = words{}
	w.int(total, total, 1, parts, 0, 0, 0, 0)
	w.float(1, 0)
	w = append(w, s.function)
	w.float(epilogue.P, epilogue.Q)
	return b.flat("matmul/join", s.variant, total, nil, w, sums, device.Operand{}, b.out(0))
}

// lastDepthwise adds the dispatch of a convolution with a filter for every channel.
func (b *binder) lastDepthwise(s *convolution, w words) error {
	const each = 4 // channels of an invocation
	if s.Groups%each != 0 {
		return device.Refuse("%d channels are not whole words", s.Groups)
	}
	kernel := spread(s.Kernel, 1)
	taps := product3(kernel)
	filters, err := b.turned(1, []axisSteps{{taps, 1, s.Groups}, {s.Groups, taps, 1}})
	if err != nil {
		return err
	}
	constants := []uint32{uint32(kernel[1]), uint32(kernel[2]), s.function}
	return b.flat("conv/last_depth", s.variant, b.OutShape(0).Len()/each, constants, w, b.in(0), filters, b.in(2), b.in(3),
		b.out(0))
}

// turned returns input i copied along axes. A constant is copied once for all plans of the model.
func (b *binder) turned(i int, axes []axisSteps) (device.Operand, error) {
	c, n := b.Const(i), b.DType(i).Bytes(b.Shape(i).Len())
	if c == nil {
		y := b.temp(n)
		return y, b.strided(b.DType(i), 0, 0, axes, b.in(i), y)
	}
	variant, err := widthName(b.DType(i))
	if err != nil {
		return device.Operand{}, err
	}
	w, elements, err := stridedWords(0, 0, axes)
	if err != nil {
		return device.Operand{}, err
	}
	return b.prepared(c.Bytes(), n, "copy/strided", variant, elements, w)
}

// lastTerms returns the table of conv/last: for each word along a sum its offset from the first of a
// window, and the steps along the axes, packed.
func lastTerms(s *convolution) (terms []uint32, err error) {
	const most = 1<<15 - 1 // of 16 bits with a sign
	in, kernel, dilation, pad := spread(s.In, 1), spread(s.Kernel, 1), spread(s.Dilation, 1), spread(s.Pad, 0)
	for i := range in {
		if reach := max(in[i], pad[i]) + kernel[i]*dilation[i]; reach > most {
			return nil, device.Refuse("windows reach %d elements along axis %d", reach, i)
		}
	}
	words := s.Channels / wordElements
	for y := range kernel[1] {
		for x := range kernel[2] {
			y, x := y*dilation[1], x*dilation[2]
			for c := range words {
				terms = append(terms, uint32((y*in[2]+x)*s.Groups*words+c), uint32(y<<16|x))
			}
		}
	}
	return terms, nil
}
