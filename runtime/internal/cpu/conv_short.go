package cpu

import (
	"slices"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
	"github.com/nacre-ml/nacre/runtime/internal/ops/array"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/ops/nn"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Limits of a short convolution: its result has too few places to fill vectors, and enough filters
// to fill them.
const (
	maxShortPlaces  = 14
	minShortFilters = 8
)

// bindShortConv multiplies the windows of a value, a matrix row per place of the result, by
// constant weights, a column per filter.
func bindShortConv(o *nn.Conv, epilogue kit.Epilogue, b *binder) error {
	s, err := o.Shape(b.Shape(0), b.Shape(1))
	if err != nil {
		return err
	}
	places := s.Images * tensor.Shape(s.Out).Len()
	switch {
	case b.DType(0) != tensor.F32 || s.Groups != 1 || b.Has(3) || b.Const(1) == nil:
		return device.Refuse("it is not the plain convolution of float32 by constant weights")
	case places > maxShortPlaces || s.Filters < minShortFilters:
		return device.Refuse("there are %d places and %d filters", places, s.Filters)
	case b.OutShape(0).Len() == 0:
		return nil
	}
	x, err := b.padded(s, b.in(0))
	if err != nil {
		return err
	}
	p, x, err := b.windowRows(s, x)
	if err != nil {
		return err
	}
	y, whole := b.out(0), tensor.Shape(s.Out).Len() == 1
	if !whole {
		y = b.temp(4 * places * s.Filters)
	}
	if err := b.shortProduct(p, epilogue, x, y); err != nil || whole {
		return err
	}
	return b.copy(tensor.F32, []array.Copy{channelsFirst(s)}, y, b.out(0))
}

// padded returns the part of x that windows cover, with zeros where they reach beyond x. It sets
// the extents of s to that part.
func (b *binder) padded(s *nn.ConvShape, x device.Operand) (device.Operand, error) {
	need, pads := make([]int, len(s.In)), false
	c := array.Copy{From: graph.Known(0), To: graph.Known(0)}
	for i := range need {
		need[i] = (s.Out[i]-1)*s.Stride[i] + (s.Kernel[i]-1)*s.Dilation[i] + 1
		pads = pads || s.Pad[i] > 0 || need[i] > s.In[i]
	}
	if !pads {
		return x, nil
	}
	from, to := tensor.Shape(s.In).Strides(), tensor.Shape(need).Strides()
	planes := s.Images * s.Channels
	c.Axes = []array.CopyAxis{copyAxis(planes, volumeOf(s.In), volumeOf(need))}
	at := 0
	for i := range need {
		n := min(s.In[i], need[i]-s.Pad[i])
		if n <= 0 {
			return x, device.Refuse("windows are in padding alone")
		}
		at += s.Pad[i] * to[i]
		c.Axes = append(c.Axes, copyAxis(n, from[i], to[i]))
	}
	c.To = graph.Known(at)
	total := planes * volumeOf(need)
	y := b.temp(4 * total)
	zeros := array.Copy{From: graph.Known(0), To: graph.Known(0), Axes: []array.CopyAxis{copyAxis(total, 0, 1)}}
	if err := b.copy(tensor.F32, []array.Copy{zeros}, constant(float32(0)), y); err != nil {
		return x, err
	}
	own := *s
	own.In, own.Pad = need, make([]int, len(need))
	*s = own
	return y, b.copy(tensor.F32, []array.Copy{c}, x, y)
}

// windowRows returns the product of windows, as matrix rows, by weights. Windows are read in place
// if their rows and their elements have constant strides; otherwise they are copied.
func (b *binder) windowRows(s *nn.ConvShape, x device.Operand) (*lower.Product, device.Operand, error) {
	plane, steps := volumeOf(s.In), tensor.Shape(s.In).Strides()
	rows := []array.CopyAxis{copyAxis(s.Images, s.Channels*plane, 0)}
	depth := []array.CopyAxis{copyAxis(s.Channels, plane, 0)}
	for i := range s.In {
		rows = append(rows, copyAxis(s.Out[i], s.Stride[i]*steps[i], 0))
		depth = append(depth, copyAxis(s.Kernel[i], s.Dilation[i]*steps[i], 0))
	}
	m, k := s.Images*volumeOf(s.Out), s.Channels*volumeOf(s.Kernel)
	p := &lower.Product{M: graph.Known(m), N: graph.Known(s.Filters), K: graph.Known(k), BRow: graph.Known(1),
		BCol: graph.Known(k)}
	row, plainRows := oneStep(rows)
	col, plainDepth := oneStep(depth)
	if plainRows && plainDepth {
		p.ARow, p.ACol = row, col
		return p, x, nil
	}
	p.ARow, p.ACol = graph.Known(k), graph.Known(1)
	y := b.temp(4 * m * k)
	c := array.Copy{From: graph.Known(0), To: graph.Known(0), Axes: slices.Concat(rows, depth)}
	to := graph.Known(1)
	for i := len(c.Axes) - 1; i >= 0; i-- {
		c.Axes[i].To = to
		to = to.Mul(c.Axes[i].N)
	}
	return p, y, b.copy(tensor.F32, []array.Copy{c}, x, y)
}

// oneStep returns the step between neighbouring elements of the axes. ok is false if it is not the
// same everywhere.
func oneStep(axes []array.CopyAxis) (step graph.Dim, ok bool) {
	axes = withoutOnes(axes)
	if len(axes) == 0 {
		return graph.Known(1), true
	}
	for i := range axes[1:] {
		if !axes[i].From.Same(axes[i+1].From.Mul(axes[i+1].N)) {
			return graph.Dim{}, false
		}
	}
	return axes[len(axes)-1].From, true
}

// shortProduct multiplies matrix rows by the weights, input 1, and adds the bias, input 2.
func (b *binder) shortProduct(p *lower.Product, epilogue kit.Epilogue, x, y device.Operand) error {
	apply := b.mapped(tensor.F32, epilogue)
	g := &gemm{Product: p, dtype: tensor.F32, alpha: 1, epilogue: epilogue, apply: apply}
	packs, err := b.packs(g, b.Const(1))
	if err != nil {
		return err
	}
	ops := []string{"f32_gemv", "f32_gemm"}
	if packs {
		ops = ops[1:]
	}
	var k bindings.Kernel
	for _, name := range ops {
		if k, err = b.chooseProduct(name, g, b.Const(1)); err == nil {
			break
		}
	}
	if err != nil {
		return err
	}
	right, packed, err := b.convWeights(1, k, g.forPacking())
	if err != nil {
		return err
	}
	if g.bPacked = packed; !packed {
		right = b.in(1)
	}
	none := device.Operand{}
	return b.add(k, []bindings.Kernel{apply}, g.words(), x, right, none, b.in(2), none, y)
}

// channelsFirst copies results from matrix rows of filters to the order of the output.
func channelsFirst(s *nn.ConvShape) array.Copy {
	places := volumeOf(s.Out)
	return array.Copy{From: graph.Known(0), To: graph.Known(0), Axes: []array.CopyAxis{
		copyAxis(s.Images, places*s.Filters, places*s.Filters), copyAxis(s.Filters, 1, places),
		copyAxis(places, s.Filters, 1),
	}}
}

func copyAxis(n, from, to int) array.CopyAxis {
	return array.CopyAxis{N: graph.Known(n), From: graph.Known(from), To: graph.Known(to)}
}

// volumeOf returns the number of elements of a value.
func volumeOf(extents []int) int { return tensor.Shape(extents).Len() }
