package nn

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// PaddedTranspose is ConvTransposeWithDynamicPads: ConvTranspose with the padding as input 2. The
// bias is input 3.
type PaddedTranspose struct{ ConvTranspose }

func newPaddedTranspose(n *op.Node) (op.Op, error) {
	o, err := newConvTranspose(n)
	if err != nil {
		return nil, err
	}
	return &PaddedTranspose{*o.(*ConvTranspose)}, nil
}

// With returns the transposed convolution with the given padding.
func (o *PaddedTranspose) With(pads []int) (*ConvTranspose, error) {
	t, w := o.ConvTranspose, *o.window
	for _, v := range pads {
		if v < 0 || v > maxWindow {
			return nil, graph.Errorf(graph.ErrShape, "pads are %v; they take 0 to %d", pads, maxWindow)
		}
	}
	if len(pads)%2 != 0 {
		return nil, graph.Errorf(graph.ErrShape, "there are %d pads; they take two per axis", len(pads))
	}
	w.padBegin, w.padEnd = pads[:len(pads)/2], pads[len(pads)/2:]
	t.window = &w
	return &t, nil
}

// operands splits a list into the padding and the operands of ConvTranspose.
func operands[T any](list []T) (pads T, rest []T) {
	rest = append(rest, list[0], list[1])
	if len(list) > 2 {
		pads = list[2]
	}
	if len(list) > 3 {
		rest = append(rest, list[3])
	}
	return pads, rest
}

// Infer computes the extents of the output. If the padding is unknown, so are the spatial extents.
func (o *PaddedTranspose) Infer(c *op.Infer) error {
	pads, in := operands(c.In)
	list, ok := []int(nil), true
	if pads != nil {
		var err error
		if list, ok, err = pads.KnownAxes(); err != nil {
			return err
		}
	}
	t, err := o.With(list)
	if err != nil {
		return err
	}
	if err := t.Infer(&op.Infer{In: in, Out: c.Out}); err != nil || ok {
		return err
	}
	if d := c.Out[0].Dims; d != nil {
		c.Set(0, c.In[0].DType, kit.JoinDims(d[:2], graph.UnknownDims(len(d)-2)))
	}
	return nil
}

// Run adds every element of the input, times the weights, to the output.
func (o *PaddedTranspose) Run(c *op.Run) error {
	pads, in := operands(c.In)
	list, err := []int(nil), error(nil)
	if pads != nil {
		if list, err = op.Ints(pads); err != nil {
			return err
		}
	}
	t, err := o.With(list)
	if err != nil {
		return err
	}
	x, w := in[0].Shape(), in[1].Shape()
	bound, err := t.bind(len(x)-2, w[2:])
	if err != nil {
		return err
	}
	out, pad, err := bound.resolve(x[2:])
	if err != nil {
		return err
	}
	filters := w[1] * o.group
	shape := append(tensor.Shape{x[0], filters}, out...)
	y, err := c.Output(0, tensor.F32, shape)
	if err != nil {
		return err
	}
	s := scatterConv{bound, x, w, shape, pad, o.group}
	var bias []float32
	if len(in) > 2 && in[2] != nil {
		bias = tensor.View[float32](in[2])
	}
	return s.run(c, tensor.View[float32](in[0]), tensor.View[float32](in[1]), bias, tensor.View[float32](y))
}

// scatterConv is a transposed convolution of known extents.
type scatterConv struct {
	*transposedWindow
	x, w, y tensor.Shape
	pad     []int
	group   int
}

func (s *scatterConv) run(c *op.Run, x, w, bias, y []float32) error {
	in, kernel, out := s.x[2:], s.w[2:], s.y[2:]
	planes, taps, size := in.Len(), kernel.Len(), out.Len()
	for i := range y {
		y[i] = 0
		if bias != nil {
			y[i] = bias[i/size%s.y[1]]
		}
	}
	per, filters := s.x[1]/s.group, s.w[1]
	for n := range s.x[0] * s.x[1] {
		if c.Stopped() {
			return op.ErrStopped
		}
		channel := n % s.x[1]
		base := (n/s.x[1]*s.y[1] + channel/per*filters) * size
		for p := range planes {
			v := x[n*planes+p]
			for k := range taps {
				at, ok := s.place(in, kernel, out, p, k)
				for f := 0; ok && f < filters; f++ {
					y[base+f*size+at] += v * w[(channel*filters+f)*taps+k]
				}
			}
		}
	}
	return nil
}

// place returns the index in an output plane for tap k of element p; ok is false in the padding.
func (s *scatterConv) place(in, kernel, out tensor.Shape, p, k int) (at int, ok bool) {
	step := 1
	for a := len(in) - 1; a >= 0; a-- {
		i := p%in[a]*s.stride[a] + k%kernel[a]*s.dilation[a] - s.pad[a]
		if i < 0 || i >= out[a] {
			return 0, false
		}
		at += i * step
		step *= out[a]
		p /= in[a]
		k /= kernel[a]
	}
	return at, true
}

var paddedTransposeRows = []op.Row{
	{Domain: kit.Microsoft, Name: "ConvTransposeWithDynamicPads", Since: []int{1}, In: [2]int{2, 4}, Out: [2]int{1, 1}, Types: op.Types{tensor.F32}, New: newPaddedTranspose},
}
