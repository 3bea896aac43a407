package cpu

import (
	"slices"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/device"
	"github.com/nacre-ml/nacre/runtime/op/vision"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var resizeRows = []row{rowFor("resample", bindResize)}

// bindResize adds a command for each axis that changes.
func bindResize(o *vision.Resize, b *binder) error {
	tables, err := resizeTables(o, b.Binding)
	if err != nil {
		return err
	}
	d := b.DType(0)
	switch {
	case b.OutShape(0).Len() == 0:
		return nil
	case !slices.Contains([]int{8, 16, 32, 64, 128}, d.Bits()):
		return device.Refuse("the elements are %v", d)
	case len(tables) == 0:
		return b.copyAll(b.in(0), b.out(0), d, b.In[0].Dims.Len())
	case !o.IsNearest() && wide(d) != tensor.F32:
		return device.Refuse("%v elements are interpolated in Go", d)
	case slices.ContainsFunc(tables, func(t *vision.Resample) bool { return t.Outside != nil }):
		return device.Refuse("outputs that lie outside the input are filled in Go")
	}
	return b.resample(o.IsNearest(), tables)
}

// resizeTables returns what becomes of the axes of input 0. The elements of the others must
// be known where they count.
func resizeTables(o *vision.Resize, b *device.Binding) ([]*vision.Resample, error) {
	list := make([]*tensor.Tensor, len(b.In))
	for i := 1; i < len(list); i++ {
		if !b.Has(i) || !o.Reads(i) || b.Shape(i).Len() == 0 {
			continue
		}
		if list[i] = b.Const(i); list[i] == nil {
			return nil, &device.NeedValue{Input: i}
		}
	}
	return o.Tables(list, b.Shape(0))
}

// resample adds the commands of the tables, with temporary values between them.
func (b *binder) resample(nearest bool, tables []*vision.Resample) error {
	d, shape := b.DType(0), b.Shape(0).Clone()
	half, err := b.halfOf(d)
	if err != nil {
		return err
	}
	x, from, to := b.in(0), d, d
	if !nearest {
		to = tensor.F32
	}
	for i, t := range tables {
		shape[t.Axis] = t.Out
		y := b.out(0)
		if i < len(tables)-1 {
			y = b.temp(to.Bytes(shape.Len()))
		} else {
			to = d
		}
		outer, inner := shape[:t.Axis].Len(), shape[t.Axis+1:].Len()
		if nearest {
			err = b.run("resample_nearest", nearestWords(t, outer, inner, d.Bits()/8), x, constant(t.Start...), y)
		} else {
			err = b.interpolate(t, resampleWords(t, outer, inner, from, to, half), half, x, y)
		}
		if err != nil {
			return err
		}
		x, from = y, to
	}
	return nil
}

func (b *binder) interpolate(t *vision.Resample, w words, half bindings.Kernel, x, y device.Operand) error {
	k, err := b.choose("f32_resample", w)
	if err != nil {
		return err
	}
	weights := make([]float32, len(t.Weights))
	for i, v := range t.Weights {
		weights[i] = float32(v)
	}
	return b.add(k, []bindings.Kernel{half}, w, x, constant(t.Start...), constant(weights...), y)
}

// resampleWords is nacre_f32_resample_words of csrc/resize/resize.h.
func resampleWords(t *vision.Resample, outer, inner int, x, y tensor.DType, half bindings.Kernel) words {
	var w words
	w.int(outer, t.In, inner, t.Out, t.Taps, floatTypes[x], floatTypes[y])
	w.part(half)
	return w
}

// nearestWords is nacre_resample_nearest_words of csrc/resize/resize.h.
func nearestWords(t *vision.Resample, outer, inner, size int) words {
	var w words
	w.int(outer, t.In, inner, t.Out, size)
	return w
}
