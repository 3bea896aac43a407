package cpu

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
	"github.com/nacre-ml/nacre/runtime/internal/ops/nn"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var deformRows = []row{
	rowFor("columns", bindDeformConv),
}

// deformAxes is the most spatial axes of a command, NACRE_DEFORM_AXES.
const deformAxes = 8

// deformWords is nacre_deform_words of csrc/resize/resize.h for the channels of a group.
func deformWords(s *nn.Deformed, group int) words {
	var w words
	per := s.Channels / s.Groups
	w.int(len(s.In), s.Channels/s.Fields, group*per, per)
	for _, list := range [][]int{s.In, s.Out, s.Kernel, s.Stride, s.Dilation, s.Pad} {
		w.int(list...)
		w.int(make([]int, deformAxes-len(list))...)
	}
	return w
}

// deformed holds the operands of one deformable convolution, of element type dtype.
type deformed struct {
	*nn.Deformed
	dtype                     tensor.DType
	x, w, offsets, bias, mask device.Operand
	columns, y                device.Operand
}

// bindDeformConv samples the operands of each product, a group of channels of an image, into
// columns. 16-bit floats are widened first and the result is rounded at the end.
func bindDeformConv(o *nn.DeformConv, b *binder) error {
	shapes := make([]tensor.Shape, len(b.In))
	for i := range shapes {
		if shapes[i] = b.Shape(i); b.Has(i) && shapes[i] == nil {
			return device.Refuse("extents %v are not known", b.In[i].Dims)
		}
	}
	s, err := o.Extents(shapes)
	if err != nil || b.isEmpty() {
		return err
	}
	d := &deformed{Deformed: s, dtype: wide(b.DType(0))}
	for i, to := range []*device.Operand{&d.x, &d.w, &d.offsets, &d.bias, &d.mask} {
		*to = b.widened(i)
	}
	return lower.Rounded(b, d.dtype, lower.Output(b, 0), func(y device.Operand) error {
		d.y = y
		return b.deform(d)
	})
}

func (b *binder) deform(d *deformed) error {
	kernel, places := tensor.Shape(d.Kernel).Len(), d.Out.Len()
	depth, filters := d.Channels/d.Groups*kernel, d.Filters/d.Groups
	d.columns = b.temp(d.dtype.Bytes(depth * places))
	p := &lower.Product{
		M: graph.Known(filters), N: graph.Known(places), K: graph.Known(depth),
		ARow: graph.Known(depth), ACol: graph.Known(1), BRow: graph.Known(places), BCol: graph.Known(1),
	}
	for image := range d.Batch {
		for g := range d.Groups {
			if err := b.sample(d, image, g); err != nil {
				return err
			}
			w, y := d.element(d.w, g*filters*depth), d.element(d.y, (image*d.Filters+g*filters)*places)
			if err := b.multiply(d.dtype, p, w, d.columns, y); err != nil {
				return err
			}
		}
	}
	if d.bias.Place == device.None {
		return nil
	}
	add := b.function(d.dtype, "add")
	l, one := storage{bytes: d.dtype.Bytes(1)}, graph.Known(1)
	dims := graph.Dims{graph.Known(d.Batch), graph.Known(d.Filters), graph.Known(places)}
	return b.pairs(add, l, l, l, d.y, d.bias, d.y, dims, dims, graph.Dims{graph.Known(d.Filters), one})
}

// sample adds the command that writes the columns of a group of an image.
func (b *binder) sample(d *deformed, image, group int) error {
	kernel, places := tensor.Shape(d.Kernel).Len(), d.Out.Len()
	if d.Channels == 0 {
		return nil
	}
	name := map[tensor.DType]string{tensor.F32: "f32_deform_columns", tensor.F64: "f64_deform_columns"}[d.dtype]
	rows := image * d.Fields * kernel
	return b.run(name, deformWords(d.Deformed, group), d.element(d.x, image*d.Channels*d.In.Len()),
		d.element(d.offsets, rows*len(d.In)*places), d.element(d.mask, rows*places), d.columns)
}

// element returns operand o from element at on; none if o is none.
func (d *deformed) element(o device.Operand, at int) device.Operand {
	if o.Place == device.None {
		return o
	}
	return o.At(graph.Known(d.dtype.Bytes(at)))
}
