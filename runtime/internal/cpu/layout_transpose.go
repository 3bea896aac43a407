package cpu

import (
	"fmt"
	"slices"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/array"
	"github.com/nacre-ml/nacre/runtime/internal/ops/nn"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var blockedTransposeRows = []blockedRow{
	blockedRowFor("phases", offerConvTranspose, bindBlockedConvTranspose),
}

// phased is a transposed convolution as ordinary ones. Each phase computes the elements of the
// result at one place within a stride, with the elements of the kernel that reach them.
type phased struct {
	shape *nn.ConvShape
	list  []phase
}

type phase struct {
	conv  *nn.ConvShape
	at    []int // the phase's first element in the result
	first []int // the phase's first element of the kernel; the others follow by stride
}

// phasedOf returns the phases of a node. ok is false unless the weights are constant, every phase
// has elements of the kernel and needs no cropping of the value, and kernels for these blocks take
// the phases.
func phasedOf(o *nn.ConvTranspose, b *device.Binding, l device.Layout) (*phased, bool) {
	if b.Const(1) == nil {
		return nil, false
	}
	s, err := o.Shape(b.Shape(0), b.Shape(1))
	if err != nil || s.Groups != 1 || s.Channels == 0 || len(s.In) > 3 || len(s.In) == 3 && s.Channels%l.Block() != 0 {
		return nil, false
	}
	for d := range s.In {
		if s.Dilation[d] != 1 && s.Kernel[d] != 1 || s.Kernel[d] < s.Stride[d] || s.Stride[d] > s.Out[d] {
			return nil, false
		}
	}
	n := tensor.Shape(s.Stride).Len()
	if n > maxBlockedTaps || tensor.Shape(s.Kernel).Len() > maxBlockedTaps {
		return nil, false
	}
	t := &phased{shape: s}
	for i := range n {
		p, ok := phaseOf(s, i)
		if !ok {
			return nil, false
		}
		t.list = append(t.list, p)
	}
	return t, true
}

// phaseOf returns phase i of a transposed convolution. Phases are numbered with the last axis
// fastest.
func phaseOf(s *nn.ConvShape, i int) (p phase, ok bool) {
	axes := len(s.In)
	one := slices.Repeat([]int{1}, axes)
	c := &nn.ConvShape{Images: s.Images, Groups: 1, Channels: s.Channels, Filters: s.Filters, In: s.In,
		Out: make([]int, axes), Kernel: make([]int, axes), Stride: one, Dilation: one, Pad: make([]int, axes)}
	p = phase{conv: c, at: make([]int, axes), first: make([]int, axes)}
	for d := axes - 1; d >= 0; d-- {
		stride := s.Stride[d]
		p.at[d], i = i%stride, i/stride
		p.first[d] = (p.at[d] + s.Pad[d]) % stride
		c.Out[d] = (s.Out[d] - p.at[d] + stride - 1) / stride
		c.Kernel[d] = (s.Kernel[d] - p.first[d] + stride - 1) / stride
		c.Pad[d] = c.Kernel[d] - 1 - (p.at[d]+s.Pad[d])/stride
		if c.Pad[d] < 0 {
			return p, false
		}
	}
	return p, !mostlyPadding(c)
}

func offerConvTranspose(o *nn.ConvTranspose, b *device.Binding, l device.Layout) *offer {
	if !blockable(b.In[0]) || !blockable(b.Out[0]) {
		return nil
	}
	t, ok := phasedOf(o, b, l)
	if !ok {
		return nil
	}
	n, blocks := elementCounts(b.Out[0], l)
	taps, phases := float64(tensor.Shape(t.shape.Kernel).Len()), float64(len(t.list))
	pixel := *t.shape
	pixel.Out, pixel.Kernel = pixel.In, slices.Repeat([]int{1}, len(pixel.In))
	x := &offer{in: []int{0}, out: true, plain: taps*gemmConvCost(&pixel, l) + 4*eltwiseElement*n*taps/phases,
		blocked: eltwiseElement * blocks}
	for _, p := range t.list {
		x.blocked += denseCost(p.conv, l)
	}
	return x
}

// bindBlockedConvTranspose computes one phase after another and copies each into the result.
func bindBlockedConvTranspose(o *nn.ConvTranspose, b *binder) error {
	l := b.OutLayout(0)
	t, ok := phasedOf(o, b.Binding, l)
	if !ok {
		return device.Refuse("no convolutions of constant weights make up the result")
	}
	list, most := make([]blockedConvWords, len(t.list)), 0
	for i, p := range t.list {
		list[i] = blockedConvWords{convWords: convWords{shape: p.conv, dtype: tensor.F32, packed: true}, block: l.Block(),
			kernel: "f32_conv_blocked"}
		most = max(most, l.Bytes(tensor.F32, append(tensor.Shape{p.conv.Images, p.conv.Filters}, p.conv.Out...)))
	}
	kernels := make([]bindings.Kernel, len(list))
	for i := range list {
		var err error
		if kernels[i], err = b.choose(list[i].kernel, list[i].words()); err != nil {
			return err
		}
	}
	weights, ok, err := b.phaseWeights(t, kernels, list)
	if err != nil {
		return err
	}
	if !ok {
		return device.Refuse("the weights are not constant")
	}
	part := b.temp(most)
	for i, p := range t.list {
		if err := b.add(kernels[i], []bindings.Kernel{{}}, list[i].words(), b.in(0), weights[i], b.in(2), device.Operand{},
			part); err != nil {
			return err
		}
		if err := b.copy(tensor.F32, []array.Copy{p.copyTo(t.shape, l.Block())}, part, b.out(0)); err != nil {
			return err
		}
	}
	return nil
}

// phaseWeights returns the weights [channels, filters, kernel...], packed for each phase.
func (b *binder) phaseWeights(
	t *phased, kernels []bindings.Kernel, list []blockedConvWords,
) (each []device.Operand, ok bool, err error) {
	constant := b.Const(1)
	if b.dev.packs.weights.moves(constant) {
		return nil, false, nil
	}
	numbers, bytes := make([][]int64, len(list)), make([]int, len(list)+1)
	for i := range list {
		if numbers[i], err = b.numbers(list[i].weights()); err != nil {
			return nil, false, err
		}
		bytes[i+1] = bytes[i] + kernels[i].Packed(numbers[i], 1)
	}
	key := packKey{packing: kernels[0].Packing(), operand: 1,
		words: fmt.Sprint("phases ", numbers, t.shape.Kernel, t.shape.Stride, t.shape.Pad)}
	data, err := b.dev.pack(constant, key, bytes[len(list)], func(w *tensor.Tensor, all []byte) error {
		var rows []float32
		for i, p := range t.list {
			rows = p.weights(t.shape, tensor.View[float32](w), rows)
			kernels[i].Pack(numbers[i], 1, memoryOf(rows), all[bytes[i]:bytes[i+1]])
		}
		return nil
	})
	whole, ok, err := b.packedOperand(1, data, err)
	if err != nil || !ok {
		return nil, ok, err
	}
	for i := range list {
		o := whole
		o.Data = whole.Data[bytes[i]:bytes[i+1]]
		each = append(each, o)
	}
	return each, true, nil
}

// weights returns the weights of the phase's convolution, [filters, channels, kernel...], from
// those of the transposed one, w, [channels, filters, kernel...]. It reuses the memory of rows.
func (p *phase) weights(s *nn.ConvShape, w, rows []float32) []float32 {
	places := []int{0}
	for d, n := range p.conv.Kernel {
		next := make([]int, 0, len(places)*n)
		for _, at := range places {
			for k := n - 1; k >= 0; k-- {
				next = append(next, at*s.Kernel[d]+p.first[d]+k*s.Stride[d])
			}
		}
		places = next
	}
	taps, count := tensor.Shape(s.Kernel).Len(), len(places)
	rows = slices.Grow(rows[:0], s.Filters*s.Channels*count)[:s.Filters*s.Channels*count]
	for c := range s.Channels {
		for f := range s.Filters {
			to, from := rows[(f*s.Channels+c)*count:][:count], w[(c*s.Filters+f)*taps:][:taps]
			for i, at := range places {
				to[i] = from[at]
			}
		}
	}
	return rows
}

// copyTo returns the copy of a phase, [images, blocks, spatial..., block], into the result.
func (p *phase) copyTo(s *nn.ConvShape, block int) array.Copy {
	known := graph.Known
	c := array.Copy{From: known(0), Axes: []array.CopyAxis{{N: known(block), From: known(1), To: known(1)}}}
	from, to, at := block, block, 0
	for d := len(s.In) - 1; d >= 0; d-- {
		at += p.at[d] * to
		c.Axes = append(c.Axes, array.CopyAxis{N: known(p.conv.Out[d]), From: known(from), To: known(to * s.Stride[d])})
		from, to = from*p.conv.Out[d], to*s.Out[d]
	}
	blocks := (s.Filters + block - 1) / block * s.Images
	c.To, c.Axes = known(at), append(c.Axes, array.CopyAxis{N: known(blocks), From: known(from), To: known(to)})
	slices.Reverse(c.Axes)
	return c
}
