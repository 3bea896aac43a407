package cpu

import (
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
	"github.com/nacre-ml/nacre/runtime/internal/ops/nn"
	"github.com/nacre-ml/nacre/runtime/internal/ops/quant"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var poolRows = []row{
	rowFor("windows", bindPool),
	rowFor("windows", func(o *quant.NhwcMaxPool, b *binder) error {
		p, err := o.Windows(b.Shape(0))
		if err != nil {
			return err
		}
		return b.poolBytes(p, true)
	}),
	rowFor("windows", func(o *quant.Pool, b *binder) error {
		p, err := o.Windows(b.Shape(0))
		if err != nil {
			return err
		}
		if err := p.CheckAverage(); err != nil {
			return err
		}
		return b.poolBytes(p, false)
	}),
}

// poolAxes is the most axes of a window, NACRE_POOLING_AXES of csrc/pool/pool.h.
const poolAxes = 8

func bindPool(o *nn.Pool, b *binder) error {
	p, err := o.Windows(b.Shape(0))
	if err != nil {
		return err
	}
	d := b.DType(0)
	switch {
	case o.Kind == nn.PoolNorm:
		return device.Refuse("norms are computed in Go")
	case b.Wants(1) || o.Kind == nn.PoolMax && d == tensor.F64:
		return b.maxIndex(o, p)
	case d == tensor.U8 || d == tensor.I8:
		return b.poolBytes(&quant.BytePooling{Pooling: *p, Inner: 1}, true)
	case wide(d) != tensor.F32:
		return device.Refuse("the elements are %v", d)
	}
	if skip, err := b.checkWindows(p); skip || err != nil {
		return err
	}
	w, half := b.poolWords(p, o.Kind == nn.PoolMax, d)
	return b.runWith("f32_pooling", []bindings.Kernel{half}, w, b.in(0), b.out(0))
}

// maxIndex adds a command that finds maxima and their indices. 16-bit floats are widened to
// float32, which changes no maximum.
func (b *binder) maxIndex(o *nn.Pool, p *nn.Pooling) error {
	if skip, err := b.checkWindows(p); skip || err != nil {
		return err
	}
	d := wide(b.DType(0))
	x := lower.As(b, d, lower.Input(b, 0))
	return lower.Rounded(b, d, lower.Output(b, 0), func(y device.Operand) error {
		return b.run("max_index", maxIndexWords(p, d, o.ColumnMajor), x, y, b.out(1))
	})
}

// maxIndexWords is nacre_max_index_words of csrc/pool/pool.h.
func maxIndexWords(p *nn.Pooling, d tensor.DType, columnMajor bool) (w words) {
	w.pooling(p, true)
	w.dtype(d)
	w.bool(columnMajor)
	return w
}

// checkWindows returns an error for windows that kernels do not take. skip is true if the output is
// empty.
func (b *binder) checkWindows(p *nn.Pooling) (skip bool, err error) {
	switch {
	case b.OutShape(0).Len() == 0:
		return true, nil
	case b.Shape(0).Len() == 0:
		return false, graph.Errorf(graph.ErrShape, "windows are in padding alone")
	case len(p.Axes) > poolAxes:
		return false, device.Refuse("a window of %d axes; %d are the most", len(p.Axes), poolAxes)
	}
	return false, nil
}

// poolWords returns nacre_f32_pooling_words of csrc/pool/pool.h, and the kernel among them that
// converts 16-bit floats.
func (b *binder) poolWords(p *nn.Pooling, maximum bool, d tensor.DType) (w words, half bindings.Kernel) {
	half = b.halfOf(d)
	w.pooling(p, maximum)
	w.dtype(d)
	w.part(half)
	return w, half
}

// halfOf returns the kernel that converts between 16-bit floats of type d and float32. It is the
// zero Kernel for other types.
func (b *binder) halfOf(d tensor.DType) bindings.Kernel {
	if d != tensor.F16 && d != tensor.BF16 {
		return bindings.Kernel{}
	}
	return b.kernel("half")
}

// pooling appends nacre_pooling_extents of csrc/pool/pool.h.
func (w *words) pooling(p *nn.Pooling, maximum bool) {
	w.int(p.Planes, len(p.Axes))
	w.bool(maximum, p.CountPad)
	for _, a := range p.Axes {
		w.int(a.In, a.Out, a.Taps, a.Stride, a.Dilation, a.Pad, a.PadEnd)
	}
	for range poolAxes - len(p.Axes) {
		w.int(0, 0, 0, 0, 0, 0, 0)
	}
}

// poolBytes adds a command of windows over codes: their maxima, or their means. Means are read with
// the scale and zero point of inputs 1 and 2 and written with those in inputs 3 and 4.
func (b *binder) poolBytes(p *quant.BytePooling, maximum bool) error {
	if skip, err := b.checkWindows(&p.Pooling); skip || err != nil {
		return err
	}
	half := b.kernel("half")
	w := bytePoolWords(p, maximum, b.DType(0), [2]tensor.DType{b.DType(1), b.DType(3)}, half)
	if maximum {
		none := device.Operand{}
		return b.run("i8_pooling", w, b.in(0), none, none, none, none, b.out(0))
	}
	return b.runWith("i8_pooling", []bindings.Kernel{half}, w, b.in(0), b.in(1), b.in(2), b.in(3), b.in(4), b.out(0))
}

// bytePoolWords is nacre_i8_pooling_words of csrc/pool/pool.h.
func bytePoolWords(
	p *quant.BytePooling, maximum bool, codes tensor.DType, scales [2]tensor.DType, half bindings.Kernel,
) words {
	var w words
	w.pooling(&p.Pooling, maximum)
	w.int(p.Inner)
	w.bool(codes == tensor.I8, p.IsWhole())
	w.dtype(scales[:]...)
	w.part(half)
	return w
}
