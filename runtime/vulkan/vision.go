package vulkan

import (
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/ops/vision"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var visionRows = []row{
	rowFor("affine", bindAffineGrid),
	rowFor("bins", bindMaxRoiPool),
	rowFor("grid", bindGridSample),
	rowFor("regions", bindRoiAlign),
}

func bindGridSample(o *vision.GridSample, b *binder) error {
	variant := b.floatName(b.DType(0))
	switch b.DType(1) {
	case b.DType(0):
	case tensor.F32:
		variant += "_f32"
	default:
		return device.Refuse("images are %v and places %v", b.DType(0), b.DType(1))
	}
	x, y := b.Shape(0), b.OutShape(0)
	axes := len(x) - 2
	if axes > spatialAxes {
		return device.Refuse("images of %d axes", axes)
	}
	mode := map[string]uint32{"nearest": 0, "linear": 1, "cubic": 2}[o.Mode]
	padding := map[string]uint32{"zeros": 0, "border": 1, "reflection": 2}[o.Padding]
	var w words
	w.int(y.Len(), x[1], y[2:].Len(), x[2:].Len())
	w.int(spread(x[2:], 1)...)
	constants := []uint32{uint32(axes), mode, padding, uint32(kit.Btoi(o.Corners))}
	return b.flat("vision/grid", variant, y.Len(), constants, w, b.in(0), b.in(1), b.out(0))
}

func bindAffineGrid(o *vision.AffineGrid, b *binder) error {
	variant := b.floatName(b.DType(0))
	y := b.OutShape(0)
	space := y[1 : len(y)-1]
	var w words
	w.int(y.Len(), space.Len())
	w.int(spread(space, 1)...)
	return b.flat("vision/affine", variant, y.Len(), []uint32{uint32(len(space)), uint32(kit.Btoi(o.Corners))}, w,
		b.in(0), b.out(0))
}

func bindRoiAlign(o *vision.RoiAlign, b *binder) error {
	variant := b.floatName(b.DType(0))
	indexWords := b.intWords(b.DType(2))
	x, y := b.Shape(0), b.OutShape(0)
	var w words
	w.int(y.Len(), x[0], x[1], x[2], x[3], o.Height, o.Width, o.Ratio)
	w.float(o.Scale, o.Offset)
	constants := []uint32{uint32(kit.Btoi(o.Largest)), uint32(indexWords)}
	return b.flat("vision/regions", variant, y.Len(), constants, w, b.in(0), b.in(1), b.in(2), b.out(0),
		b.fault("region %d is of an image that is not there, or its bins take too many samples"))
}

func bindMaxRoiPool(o *vision.MaxRoiPool, b *binder) error {
	variant := b.floatName(b.DType(0))
	x, y := b.Shape(0), b.OutShape(0)
	var w words
	w.int(y.Len(), x[0], x[1], x[2], x[3], o.Height, o.Width)
	w.float(o.Scale)
	return b.flat("vision/bins", variant, y.Len(), nil, w, b.in(0), b.in(1), b.out(0),
		b.fault("region %d is of an image that is not there, or far from it"))
}
