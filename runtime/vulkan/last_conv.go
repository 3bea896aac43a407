package vulkan

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/ops/nn"
)

// lastConv is the shader of convolutions with channels last by cooperative matrices.
const lastConv = "conv/last"

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
	case s.Channels%pieceElements != 0:
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
	side := matrixSide{words: true}
	p := tiled{s.Images * product3(s.Out), s.Filters, s.Channels * product3(s.Kernel), s.Groups, 4}
	t := b.dev.matrixTiling(lastConv, s.variant, p, mostShares, side, side)
	if t == nil {
		return device.Refuse("no tile of cooperative matrices of %v elements fits %d pixels and %d filters", b.DType(0), p.m,
			p.n)
	}
	filters := b.in(1)
	if taps := product3(s.Kernel); taps > 1 {
		axes := []axisSteps{{s.Groups * s.Filters, s.Channels * taps, s.Channels * taps}, {taps, 1, s.Channels},
			{s.Channels, taps, 1}}
		if filters, err = b.turnedFilters(axes); err != nil {
			return err
		}
	}
	grid := t.grid(p.m, p.n, p.z)
	sums, counters := b.shares(t.parts, product3(grid[:]), p.bytes*t.rows*t.cols)
	grid[2] *= t.parts
	constants := append(t.constants, uint32(kit.Btoi(plain)), uint32(t.parts))
	return b.dispatch(t.shader, s.variant, t.size, grid, constants, w, b.in(0), filters, b.in(2), b.in(3), b.out(0), table,
		sums, counters)
}

// lastDepthwise adds the dispatch of a convolution with a filter for every channel.
func (b *binder) lastDepthwise(s *convolution, w words) error {
	const each = 4 // channels of an invocation
	if s.Groups%each != 0 {
		return device.Refuse("%d channels are not whole words", s.Groups)
	}
	kernel := spread(s.Kernel, 1)
	taps := product3(kernel)
	filters, err := b.turnedFilters([]axisSteps{{taps, 1, s.Groups}, {s.Groups, taps, 1}})
	if err != nil {
		return err
	}
	constants := []uint32{uint32(kernel[1]), uint32(kernel[2]), s.function}
	return b.flat("conv/last_depth", s.variant, b.OutShape(0).Len()/each, constants, w, b.in(0), filters, b.in(2), b.in(3),
		b.out(0))
}

// turnedFilters returns input 1 copied along axes. Constant filters are copied once for all plans of
// the model.
func (b *binder) turnedFilters(axes []axisSteps) (device.Operand, error) {
	c, d := b.Const(1), b.DType(1)
	bytes := d.Bytes(b.Shape(1).Len())
	if c == nil {
		y := b.temp(bytes)
		return y, b.strided(d, 0, 0, axes, b.in(1), y)
	}
	w, n, err := stridedWords(0, 0, axes)
	if err != nil {
		return device.Operand{}, err
	}
	return b.prepared(c.Bytes(), bytes, "copy/strided", b.widthName(d), n, nil, w)
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
	words := s.Channels / pieceElements
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
