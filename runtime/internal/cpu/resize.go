package cpu

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
	"github.com/nacre-ml/nacre/runtime/internal/ops/quant"
	"github.com/nacre-ml/nacre/runtime/internal/ops/vision"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var resizeRows = []row{rowFor("resample", bindResize).Reading()}

// bindResize adds the commands that resample the axes, or one copy if no axis changes.
func bindResize(o *vision.Resize, b *binder) error {
	tables, err := b.dev.resizeTables(o, b.Binding)
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
	case !o.IsNearest() && wide(d) != tensor.F32 && d != tensor.U8 && d != tensor.I8:
		return device.Refuse("%v elements are interpolated in Go", d)
	case slices.ContainsFunc(tables, func(t *vision.Resample) bool { return t.Outside != nil }):
		return device.Refuse("outputs outside the input are filled in Go")
	}
	return b.resample(o.IsNearest(), tables)
}

// resizeTables is lower.ResizeTables within what is left of the device's budget. A node of larger tables
// is for a run in Go, which counts them.
func (d *Device) resizeTables(o *vision.Resize, b *device.Binding) ([]*vision.Resample, error) {
	taken := int64(0)
	defer func() { d.made.Release(taken) }()
	return lower.ResizeTables(o, b, func(bytes int) error {
		if err := d.made.Bytes(int64(bytes)); err != nil {
			return device.Refuse("the places and weights of an axis take %d bytes", bytes)
		}
		taken += int64(bytes)
		return nil
	})
}

// nearestRow is how many bytes of a row fill a chunk of resample_nearest, which does not divide
// rows.
const nearestRow = 1 << 16

// nearest adds the commands of the tables, with temporary values between them. One command resizes
// two neighbouring axes, or one axis: as columns, or as rows if the axis and the axes after it
// exceed one chunk.
func (b *binder) nearest(tables []*vision.Resample) error {
	d, shape, x := b.DType(0), b.Shape(0).Clone(), b.in(0)
	tables = slices.SortedFunc(slices.Values(tables), func(s, t *vision.Resample) int { return t.Axis - s.Axis })
	for len(tables) > 0 {
		rows, columns := keptAxis, tables[0]
		first, behind := columns.Axis, shape[columns.Axis+1:].Len()
		shape[first] = columns.Out
		switch tables = tables[1:]; {
		case len(tables) > 0 && tables[0].Axis == first-1:
			rows, tables = tables[0], tables[1:]
			first = rows.Axis
			shape[first] = rows.Out
		case behind > 1 && d.Bytes(columns.Out*behind) > nearestRow:
			rows, columns = columns, keptAxis
		}
		y := b.out(0)
		if len(tables) > 0 {
			y = b.temp(d.Bytes(shape.Len()))
		}
		w := nearestWords(rows, columns, shape[:first].Len(), behind, d.Bits()/8)
		if err := b.run("resample_nearest", w, x, constant(rows.Start...), constant(columns.Start...), y); err != nil {
			return err
		}
		x = y
	}
	return nil
}

// keptAxis is an axis of one element.
var keptAxis = vision.NewResample(1, 1)

// repeats returns how often each input is repeated in the output, or 0 if the output is not such a
// repetition.
func repeats(t *vision.Resample) int {
	r := (t.Out + t.In - 1) / t.In
	for j, at := range t.Start {
		if int(at) != j/r {
			return 0
		}
	}
	return r
}

// resample adds the commands of the tables, with temporary values between them.
func (b *binder) resample(nearest bool, tables []*vision.Resample) error {
	if nearest {
		return b.nearest(tables)
	}
	d, shape := b.DType(0), b.Shape(0).Clone()
	half := b.halfOf(d)
	x, from, last := b.in(0), d, d
	if d.IsInteger() {
		x, from, last = b.floats(0), tensor.F32, tensor.F32
	}
	for i, t := range tables {
		shape[t.Axis] = t.Out
		y, to := b.out(0), last
		if i < len(tables)-1 || d != last {
			if i < len(tables)-1 {
				to = tensor.F32
			}
			y = b.temp(to.Bytes(shape.Len()))
		}
		outer, inner := shape[:t.Axis].Len(), shape[t.Axis+1:].Len()
		step := 1
		if inner > 1 && inner < fewElements && max(t.In, t.Out) <= math.MaxInt32/inner {
			t, step, inner = sideBySide(t, inner), inner, 1
		}
		if err := b.interpolate(t, resampleWords(t, outer, inner, step, from, to, half), half, x, y); err != nil {
			return err
		}
		x, from = y, to
	}
	if d == last {
		return nil
	}
	return b.rounded(x, shape)
}

// fewElements is how many elements after an axis fill the kernel's vectors.
const fewElements = 8

// sideBySide returns the table of an axis merged with the elements after it. Each output then reads
// inputs that are elements apart.
func sideBySide(t *vision.Resample, elements int) *vision.Resample {
	wide := vision.NewResample(t.In*elements, t.Out*elements)
	wide.Taps, wide.Weights = t.Taps, make([]float64, 0, len(t.Weights)*elements)
	for i := range wide.Start {
		wide.Start[i] = t.Start[i/elements]*int32(elements) + int32(i%elements)
	}
	for _, w := range t.Weights {
		wide.Weights = append(wide.Weights, slices.Repeat([]float64{w}, elements)...)
	}
	return wide
}

// rounded adds a command that rounds float32 to the integers of the output: to nearest, ties to
// even, clamped to the type's range.
func (b *binder) rounded(x device.Operand, shape tensor.Shape) error {
	at, err := quant.Granularity{}.Grid(graph.DimsOf(shape), graph.Dims{})
	if err != nil {
		return err
	}
	d := b.DType(0)
	var w words
	w.dim(at.Outer, at.Axis, at.Inner, at.Block, at.PerOuter, at.PerAxis, at.PerInner)
	w.dtype(tensor.F32, d, tensor.F32, tensor.F32, d)
	w.int(1)
	w.part(b.dev.half)
	return b.run("f32_quantize", w, x, constant[float32](1), device.Operand{}, b.out(0))
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
func resampleWords(t *vision.Resample, outer, inner, step int, x, y tensor.DType, half bindings.Kernel) words {
	var w words
	w.int(outer, t.In, inner, t.Out, t.Taps, step)
	w.dtype(x, y)
	w.part(half)
	return w
}

// nearestWords is nacre_resample_nearest_words of csrc/resize/resize.h.
func nearestWords(rows, columns *vision.Resample, outer, inner, size int) words {
	var w words
	w.int(outer, rows.In, columns.In, rows.Out, columns.Out, inner, size, repeats(columns))
	return w
}
