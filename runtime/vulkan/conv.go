package vulkan

import (
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/ops/nn"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var convRows = []row{
	rowFor("pointwise", func(o *nn.Conv, b *binder) error { return bindPointwise(o, kit.Epilogue{}, b) }),
	rowFor("winograd", func(o *nn.Conv, b *binder) error { return bindWinograd(o, kit.Epilogue{}, b) }),
	rowFor("conv", func(o *nn.Conv, b *binder) error { return bindConv(o, kit.Epilogue{}, b) }),
	rowFor("pointwise", func(o *nn.FusedConv, b *binder) error { return bindPointwise(&o.Conv, o.Epilogue, b) }),
	rowFor("winograd", func(o *nn.FusedConv, b *binder) error { return bindWinograd(&o.Conv, o.Epilogue, b) }),
	rowFor("conv", func(o *nn.FusedConv, b *binder) error { return bindConv(&o.Conv, o.Epilogue, b) }),
	rowFor("conv", bindConvTranspose),
	rowFor("deform", bindDeformConv),
}

// bindDeformConv binds convolutions that read each pixel at an offset of its own.
func bindDeformConv(o *nn.DeformConv, b *binder) error {
	variant := b.sameTypes()
	shapes := make([]tensor.Shape, len(b.In))
	for i := range shapes {
		shapes[i] = b.Shape(i)
	}
	s, err := o.Extents(shapes)
	if err != nil {
		return err
	}
	if len(s.In) > spatialAxes {
		return device.Refuse("a convolution over %d axes", len(s.In))
	}
	n, taps := b.OutShape(0).Len(), product3(s.Kernel)
	if err := b.loops(s.Channels / s.Groups * taps * (6 + 4<<len(s.In))); err != nil {
		return err
	}
	var w words
	w.int(n, s.Groups, s.Fields, s.Channels, s.Filters)
	for _, list := range [][]int{s.In, s.Out, s.Kernel, s.Stride, s.Dilation} {
		w.int(spread(list, 1)...)
	}
	w.int(spread(s.Pad, 0)...)
	w.int(taps, s.Out.Len())
	defer b.works(n * s.Channels / s.Groups * taps << len(s.In))
	constants := []uint32{uint32(len(s.In)), uint32(kit.Btoi(b.Has(3))), uint32(kit.Btoi(b.Has(4)))}
	return b.flat("conv/deform", variant, n, constants, w, b.in(0), b.in(1), b.in(2), b.in(3), b.in(4), b.out(0))
}

// spatialAxes is the most spatial axes that shaders compute on.
const spatialAxes = 3

// spread returns three extents: list, padded at the front with fill.
func spread(list []int, fill int) []int {
	out := []int{fill, fill, fill}
	copy(out[spatialAxes-len(list):], list)
	return out
}

// convWords returns the words of a convolution up to its paddings.
func convWords(s *nn.ConvShape) (w words, err error) {
	if len(s.In) > spatialAxes {
		return nil, device.Refuse("a convolution over %d axes", len(s.In))
	}
	w.int(s.Groups, s.Channels, s.Filters)
	for _, list := range [][]int{s.In, s.Out, s.Kernel, s.Stride, s.Dilation} {
		w.int(spread(list, 1)...)
	}
	w.int(spread(s.Pad, 0)...)
	return w, nil
}

func product3(list []int) int {
	n := 1
	for _, x := range list {
		n *= x
	}
	return n
}

// convolution is a convolution of floats, and the number of its epilogue's function.
type convolution struct {
	*nn.ConvShape
	variant  string
	function uint32
}

// convolution refuses convolutions of other elements, and functions that no shader computes.
func (b *binder) convolution(o *nn.Conv, epilogue kit.Epilogue) (*convolution, error) {
	variant := b.floatName(b.DType(0))
	s, err := o.Shape(b.Shape(0), b.Shape(1))
	if err != nil {
		return nil, err
	}
	function, err := epilogueNumber(epilogue)
	return &convolution{s, variant, function}, err
}

// bindPointwise binds convolutions by filters of one element as products of the filters and each
// image. The planes of an image are the rows of a matrix.
func bindPointwise(o *nn.Conv, epilogue kit.Epilogue, b *binder) error {
	s, err := b.convolution(o, epilogue)
	if err != nil {
		return err
	}
	n := product3(s.Out)
	switch {
	case product3(s.Kernel) != 1 || n != product3(s.In) || product3(s.Stride) != 1:
		return device.Refuse("the filters are not single elements of the same place")
	case b.Has(2) && b.Has(3):
		return device.Refuse("a bias and a value are added")
	case s.Groups > 1 && s.Images > 1 || s.Filters < fewFilters:
		return device.Refuse("%d groups of %d filters", s.Groups, s.Filters)
	}
	if n == 1 && s.Groups == 1 {
		return b.onePixel(s, epilogue)
	}
	p := &product{m: s.Filters, n: n, k: s.Channels, aRow: s.Channels, aCol: 1, bRow: n, bCol: 1}
	c := addend{beta: 1}
	switch {
	case b.Has(2):
		c.operand, c.row = b.in(2), 1
	case b.Has(3):
		c.operand, c.row, c.col, c.batch = b.in(3), n, 1, s.Filters*n
	}
	if s.Images > 1 {
		p.batch = []batchAxis{{s.Images, 0, s.Channels * n}}
	}
	if s.Groups > 1 {
		p.batch = []batchAxis{{s.Groups, s.Filters * s.Channels, s.Channels * n}}
		if b.Has(2) {
			c.batch = s.Filters
		}
	}
	return b.products(&multiplying{product: p, dtype: b.DType(0), left: b.in(1), right: b.in(0), out: b.out(0), alpha: 1,
		c: c, epilogue: epilogue})
}

// onePixel adds products of images of one pixel, as rows, and filters, as columns.
func (b *binder) onePixel(s *convolution, epilogue kit.Epilogue) error {
	p := &product{m: s.Images, n: s.Filters, k: s.Channels, aRow: s.Channels, aCol: 1, bRow: 1, bCol: s.Channels}
	c := addend{beta: 1, col: 1}
	switch {
	case b.Has(2):
		c.operand = b.in(2)
	case b.Has(3):
		c.operand, c.row = b.in(3), s.Filters
	}
	return b.products(&multiplying{product: p, dtype: b.DType(0), left: b.in(0), right: b.in(1), out: b.out(0), alpha: 1,
		c: c, epilogue: epilogue})
}

// fewFilters is a number of filters per group. With fewer, one invocation computes one element.
const fewFilters = 8

func bindConv(o *nn.Conv, epilogue kit.Epilogue, b *binder) error {
	s, err := b.convolution(o, epilogue)
	if err != nil {
		return err
	}
	w, err := b.convFacts(s, epilogue)
	if err != nil {
		return err
	}
	operands := []device.Operand{b.in(0), b.in(1), b.in(2), b.in(3), b.out(0)}
	pixels, n := product3(s.Out), b.OutShape(0).Len()
	depth := s.Channels * product3(s.Kernel)
	defer func() { b.works(n * depth) }()
	if s.isDepthwise() {
		return b.depthwise(s, append(w, uint32(s.Images)), operands)
	}
	if s.Filters < fewFilters {
		w.int(n)
		return b.flat("conv/direct", s.variant, n, nil, w, operands...)
	}
	w.int(s.Images)
	z := s.Images * s.Groups
	filters := sideOf(wordBytes/b.DType(0).Bytes(1), s.Filters, depth, depth, 1)
	p := tiled{s.Filters, pixels, depth, z, 4}
	t := b.dev.matrixTiling("conv/matrix", s.variant, p, 1, filters, matrixSide{down: true})
	if t != nil {
		t.constants = append(t.constants, wordConstants(filters)...)
		return b.dispatch(t.shader, s.variant, t.size, t.grid(s.Filters, pixels, z), t.constants, w, operands...)
	}
	return b.tiledConv(s, w, operands)
}

// convFacts returns the words of include/conv.glsl without the number of images.
func (b *binder) convFacts(s *convolution, epilogue kit.Epilogue) (words, error) {
	w, err := convWords(s.ConvShape)
	if err != nil {
		return nil, err
	}
	w.int(kit.Btoi(b.Has(2)) | kit.Btoi(b.Has(3))<<1)
	w = append(w, s.function)
	w.float(epilogue.P, epilogue.Q)
	return w, nil
}

// isDepthwise reports whether every plane of two axes has a small filter of its own.
func (s *convolution) isDepthwise() bool {
	const most = 7 // elements along an axis of a filter
	in, out, kernel, dilation := spread(s.In, 1), spread(s.Out, 1), spread(s.Kernel, 1), spread(s.Dilation, 1)
	return s.Channels == 1 && s.Filters == 1 && in[0] == 1 && out[0] == 1 && kernel[0] == 1 &&
		max(kernel[1], kernel[2]) <= most && spread(s.Stride, 1)[2] <= 2 && product3(dilation) == 1
}

// depthwise adds the dispatch of a convolution with a filter for every plane.
func (b *binder) depthwise(s *convolution, w words, operands []device.Operand) error {
	const each = 2 // results of an invocation
	out, kernel := spread(s.Out, 1), spread(s.Kernel, 1)
	n := s.Images * s.Groups * out[1] * ((out[2] + each - 1) / each)
	var constants words
	constants.int(kernel[1], kernel[2], spread(s.Stride, 1)[2], each)
	return b.flat("conv/depth", s.variant, n, append(constants, s.function), w, operands...)
}

// tiled returns the convolution as products of filters, as rows, and pixels of all images.
func (s *convolution) tiled() tiled {
	return tiled{s.Filters, s.Images * product3(s.Out), s.Channels * product3(s.Kernel), s.Groups, tensor.F32.Bytes(1)}
}

// tiledConv adds the dispatch of a convolution by tiles in registers.
func (b *binder) tiledConv(s *convolution, w words, operands []device.Operand) error {
	p, pixels := s.tiled(), product3(s.Out)
	t, parts := b.dev.choose(convTiles, p)
	if t == nil {
		return device.Refuse("no tile of %d filters and %d pixels fits the device", p.m, p.n)
	}
	plain := product3(s.Kernel) == 1 && product3(s.Stride) == 1 && pixels == product3(s.In)
	table := device.Operand{}
	if !plain {
		terms, err := convTerms(s)
		if err != nil {
			return err
		}
		table = constant(terms...)
	}
	across, down := t.grid(p.m, p.n)
	sums, counters := b.shares(parts, across*down*p.z, t.m*t.n*p.bytes)
	constants := t.constants(parts, s.function)
	constants.bool(plain, p.k%tileWord == 0, pixels%tileWord == 0)
	return b.dispatch("conv/gemm", tileVariant(s.variant, s.function), t.size(), [3]int{across, down, s.Groups * parts},
		constants, w, append(operands, sums, counters, table)...)
}

// convTerms returns the table of conv/gemm: for each term of a sum the offset of its element from
// the first of a window, and the steps along the axes, packed.
func convTerms(s *convolution) (terms []uint32, err error) {
	const rowBits, planeBits = 12, 8
	in, kernel, dilation, pad := spread(s.In, 1), spread(s.Kernel, 1), spread(s.Dilation, 1), spread(s.Pad, 0)
	for i, bits := range []int{planeBits, rowBits, rowBits} {
		if most := 1<<(bits-1) - 1; max(pad[i], kernel[i]*dilation[i]) > most {
			return nil, device.Refuse("windows reach %d elements along axis %d", max(pad[i], kernel[i]*dilation[i]), i)
		}
	}
	for c := range s.Channels {
		for z := range kernel[0] {
			for y := range kernel[1] {
				for x := range kernel[2] {
					at := [3]int{z*dilation[0] - pad[0], y*dilation[1] - pad[1], x*dilation[2] - pad[2]}
					offset := ((c*in[0]+at[0])*in[1]+at[1])*in[2] + at[2]
					steps := at[0]<<(2*rowBits) | at[1]&(1<<rowBits-1)<<rowBits | at[2]&(1<<rowBits-1)
					terms = append(terms, uint32(offset), uint32(steps))
				}
			}
		}
	}
	return terms, nil
}

func bindConvTranspose(o *nn.ConvTranspose, b *binder) error {
	variant := b.floatName(b.DType(0))
	s, err := o.Shape(b.Shape(0), b.Shape(1))
	if err != nil {
		return err
	}
	w, err := convWords(s)
	if err != nil {
		return err
	}
	n := b.OutShape(0).Len()
	w.bool(b.Has(2))
	w.int(n)
	defer b.works(n * s.Channels * product3(s.Kernel))
	last := uint32(kit.Btoi(hasLast(b.Binding)))
	return b.flat("conv/transpose", variant, n, []uint32{last}, w, b.in(0), b.in(1), b.in(2), b.out(0))
}
