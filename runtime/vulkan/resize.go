package vulkan

import (
	"encoding/binary"

	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/ops/vision"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var resizeRows = []row{
	rowFor("resample", bindResize),
}

// bindResize adds a dispatch for each axis that changes. Interpolated values between two of these
// are float32.
func bindResize(o *vision.Resize, b *binder) error {
	tables, err := lower.ResizeTables(o, b.Binding, func(bytes int) error {
		if bytes > mostResampled {
			return device.Refuse("the places and weights of an axis take %d bytes", bytes)
		}
		return nil
	})
	if err != nil {
		return err
	}
	d, layout := b.DType(0), device.Offloaded
	if hasLast(b.Binding) {
		layout = device.ChannelsLast
		if tables, err = lastTables(tables); err != nil {
			return err
		}
	}
	switch {
	case len(tables) == 0:
		return b.copyAll(d, b.OutShape(0).Len(), b.in(0), b.out(0))
	case !o.IsNearest() && !floats[d]:
		return device.Refuse("%v elements are interpolated in Go", d)
	}
	x, shape, from := b.in(0), layout.Extents(b.Shape(0)).Clone(), d
	for i, t := range tables {
		shape[t.Axis] = t.Out
		y, to := b.out(0), d
		if i < len(tables)-1 {
			if !o.IsNearest() {
				to = tensor.F32
			}
			y = b.temp(to.Bytes(shape.Len()))
		}
		if err := b.resample(o.IsNearest(), t, shape, from, to, x, y); err != nil {
			return err
		}
		x, from = y, to
	}
	return b.outside(o, tables, layout.Extents(b.OutShape(0)))
}

// lastTables returns the tables of spatial axes as the ones of axes with channels last.
func lastTables(tables []*vision.Resample) ([]*vision.Resample, error) {
	list := make([]*vision.Resample, len(tables))
	for i, t := range tables {
		if t.Axis < 2 {
			return nil, device.Refuse("axis %d is resampled, and channels are last", t.Axis)
		}
		own := *t
		own.Axis--
		list[i] = &own
	}
	return list, nil
}

// outside adds a dispatch for each axis of a result with the extents shape that has places outside the
// input.
func (b *binder) outside(o *vision.Resize, tables []*vision.Resample, shape tensor.Shape) error {
	d := b.DType(0)
	for _, t := range tables {
		if t.Outside == nil {
			continue
		}
		variant := b.widthName(d)
		list := make([]uint32, t.Out)
		for i, outside := range t.Outside {
			list[i] = uint32(kit.Btoi(outside))
		}
		var value [8]byte
		copy(value[:], o.OutsideBytes(d))
		w := words{uint32(shape.Len()), uint32(shape[t.Axis+1:].Len()), uint32(t.Out), binary.LittleEndian.Uint32(value[:]),
			binary.LittleEndian.Uint32(value[4:])}
		if err := b.flat("resize/outside", variant, shape.Len(), nil, w, constant(list...), b.out(0)); err != nil {
			return err
		}
	}
	return nil
}

// mostResampled bounds, in bytes, the places and weights of an axis.
const mostResampled = 1 << 24

// resample adds the dispatch of one axis. Shape is the extents of its result.
func (b *binder) resample(
	nearest bool, t *vision.Resample, shape tensor.Shape, from, to tensor.DType, x, y device.Operand,
) error {
	n := shape.Len()
	var w words
	w.int(n, t.In, shape[t.Axis+1:].Len(), t.Out)
	if nearest {
		variant := b.widthName(from)
		return b.flat("resize/nearest", variant, n, nil, w, x, constant(t.Start...), y)
	}
	variant := b.floatName(from)
	if from != to {
		variant += "_" + shortName(to)
	}
	weights := make([]float32, len(t.Weights))
	for i, v := range t.Weights {
		weights[i] = float32(v)
	}
	w.int(t.Taps)
	return b.flat("resize/resample", variant, n, nil, w, x, constant(t.Start...), constant(weights...), y)
}
