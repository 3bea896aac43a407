package cpu

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/vision"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var sampleRows = []row{
	rowFor("taps", bindGridSample),
	rowFor("affine", bindAffineGrid),
	rowFor("regions", bindRoiAlign),
	rowFor("regions", bindCropResize),
}

// gridAxes is the most spatial axes of a command, NACRE_GRID_AXES of csrc/resize/resize.h.
const gridAxes = 8

var (
	gridModes    = map[string]int{"nearest": 0, "linear": 1, "cubic": 2}
	gridPaddings = map[string]int{"zeros": 0, "border": 1, "reflection": 2}
)

// gridWords is nacre_grid_words of csrc/resize/resize.h.
func gridWords(o *vision.GridSample, x tensor.Shape, places int) words {
	var w words
	in := x[2:]
	w.int(x[0], x[1], len(in), places)
	w.int(in...)
	w.int(make([]int, gridAxes-len(in))...)
	w.int(gridModes[o.Mode], gridPaddings[o.Padding])
	w.bool(o.Corners)
	return w
}

func bindGridSample(o *vision.GridSample, b *binder) error {
	x := b.Shape(0)
	switch {
	case b.isEmpty():
		return nil
	case wide(b.DType(0)) != tensor.F32 || wide(b.DType(1)) != tensor.F32:
		return device.Refuse("%v elements at places of %v are sampled in Go", b.DType(0), b.DType(1))
	case x.Len() == 0:
		return device.Refuse("the image has no pixels")
	}
	return b.sampled("f32_grid_sample", gridWords(o, x, b.OutShape(0)[2:].Len()), 2)
}

// affineAxes is NACRE_AFFINE_AXES of csrc/resize/resize.h.
const affineAxes = 3

// affineWords is nacre_affine_grid_words of csrc/resize/resize.h for an output of shape y.
func affineWords(o *vision.AffineGrid, y tensor.Shape) (w words) {
	space := y[1 : len(y)-1]
	w.int(y[0], len(space))
	w.int(space...)
	for range affineAxes - len(space) {
		w.int(1)
	}
	w.bool(o.Corners)
	return w
}

func bindAffineGrid(o *vision.AffineGrid, b *binder) error {
	y := b.OutShape(0)
	switch {
	case b.isEmpty():
		return nil
	case b.DType(0) != tensor.F32:
		return device.Refuse("grids of %v are computed in Go", b.DType(0))
	case y == nil:
		return device.Refuse("the size of the grid is not known")
	}
	return b.run("f32_affine_grid", affineWords(o, y), b.in(0), b.out(0))
}

// sampled adds a command of an op on float32. It widens the first inputs, as many as floats, and
// rounds the result to its type.
func (b *binder) sampled(name string, w words, floats int) (err error) {
	list := make([]device.Operand, 0, 4)
	for i := range min(len(b.In), 3) {
		x := b.in(i)
		if i < floats {
			x = b.widened(i)
		}
		list = append(list, x)
	}
	return b.inFloats(func(y device.Operand) error { return b.run(name, w, append(list, y)...) })
}

// The kinds of regions, nacre_regions_kind of csrc/resize/resize.h.
const (
	regionsAlign = iota
	regionsCrop
	regionsCropNearest
	regionsLargest
)

// regions is nacre_regions_words of csrc/resize/resize.h.
type regions struct {
	x, y                   tensor.Shape
	kind, samples, most    int
	scale, offset, outside float64
	least, batchBytes      int
}

func (r *regions) words() (w words) {
	w.int(r.x...)
	w.int(r.y[0], r.y[2], r.y[3], r.kind, r.samples, r.most)
	w.float(r.scale, r.offset)
	w.int(r.least)
	w.float(r.outside)
	w.int(r.batchBytes)
	return w
}

func bindRoiAlign(o *vision.RoiAlign, b *binder) error {
	if b.DType(2) != tensor.I64 {
		return device.Refuse("numbers of images are %v", b.DType(2))
	}
	r := &regions{
		kind: regionsAlign, samples: o.Ratio, most: vision.MaxRoiGrid, scale: o.Scale, offset: o.Offset, batchBytes: 8,
	}
	if o.Largest {
		r.kind = regionsLargest
	}
	if o.Offset == 0 {
		r.least = 1
	}
	return b.regions(r)
}

func bindCropResize(o *vision.CropResize, b *binder) error {
	r := &regions{kind: regionsCrop, outside: float64(o.Outside), batchBytes: 4}
	if o.Nearest {
		r.kind = regionsCropNearest
	}
	return b.regions(r)
}

// regions adds the command that samples regions of an image.
func (b *binder) regions(r *regions) error {
	batch := b.Shape(2)
	r.x, r.y = b.Shape(0), b.OutShape(0)
	switch {
	case b.unsized:
		return device.Refuse("extents %v are not known", b.Out[0].Dims)
	case wide(b.DType(0)) != tensor.F32:
		return device.Refuse("regions of %v are sampled in Go", b.DType(0))
	case b.isEmpty():
		return nil
	case r.x.Len() == 0:
		return device.Refuse("the image has no pixels")
	case batch.Len() != r.y[0]:
		return graph.Errorf(graph.ErrShape, "%d regions with %d batch indices", r.y[0], batch.Len())
	}
	return b.sampled("f32_regions", r.words(), 2)
}
