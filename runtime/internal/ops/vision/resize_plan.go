package vision

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// targets holds the inputs for each resized axis: scales or sizes and, for tf_crop_and_resize, the
// region of interest.
type targets struct {
	scales     []float32
	sizes      []int
	begin, end []float32
}

func (o *Resize) targets(in []*tensor.Tensor, n int) (t targets, err error) {
	given := func(i int) *tensor.Tensor {
		if i < 0 || i >= len(in) || in[i] == nil || in[i].Len() == 0 {
			return nil
		}
		return in[i].Aligned()
	}
	t.scales = o.fixed
	if s := given(o.scales); s != nil {
		if t.scales, err = tensor.Data[float32](s); err != nil {
			return t, err
		}
	}
	if s := given(o.sizes); s != nil {
		if t.scales != nil {
			return t, graph.Errorf(graph.ErrFormat, "has both scales and sizes; the operator takes one of them")
		}
		if t.sizes, err = op.Ints(s); err != nil {
			return t, err
		}
	}
	switch {
	case t.scales == nil && t.sizes == nil && n > 0:
		return t, graph.Errorf(graph.ErrFormat, "has neither scales nor sizes")
	case max(len(t.scales), len(t.sizes)) != n:
		return t, graph.Errorf(graph.ErrShape, "scales or sizes have %d elements for %d axes",
			max(len(t.scales), len(t.sizes)), n)
	}
	for _, s := range t.scales {
		if !(s > 0) || math.IsInf(float64(s), 0) {
			return t, graph.Errorf(graph.ErrShape, "scale %v is not a number above 0", s)
		}
	}
	for _, s := range t.sizes {
		if s < 0 {
			return t, graph.Errorf(graph.ErrShape, "size %d is below 0", s)
		}
	}
	t.begin, t.end = make([]float32, n), slices.Repeat([]float32{1}, n)
	if o.filter.coords != "tf_crop_and_resize" {
		return t, nil
	}
	region := kit.Doubles(given(o.roi))
	if len(region) != 2*n {
		return t, graph.Errorf(graph.ErrShape, "roi has %d elements for %d axes; it takes two per axis", len(region), n)
	}
	roi := make([]float32, 2*n)
	for i, v := range region {
		if math.IsNaN(v) || math.Abs(v) > math.MaxInt32 {
			return t, graph.Errorf(graph.ErrShape, "roi %v is out of range", v)
		}
		roi[i] = float32(v)
	}
	t.begin, t.end = roi[:n], roi[n:]
	return t, nil
}

// resized is one axis that the operator may change.
type resized struct {
	Axis, In, Out int
	scale         float32
	begin, end    float32 // of the region of interest
}

// plan computes the output's extents. The product of a scale and an extent is rounded to float32,
// as scales are. A scale that is a quotient of extents then gives back the extent.
func (o *Resize) plan(shape tensor.Shape, axes []int, t targets) ([]resized, error) {
	list := make([]resized, len(axes))
	for i, a := range axes {
		r := resized{Axis: a, In: shape[a], begin: t.begin[i], end: t.end[i]}
		if t.sizes != nil {
			r.Out, r.scale = t.sizes[i], float32(t.sizes[i])/float32(r.In)
		} else {
			out := t.scales[i] * (r.end - r.begin) * float32(r.In)
			if !(out >= 0 && out < math.MaxInt32) {
				return nil, graph.Errorf(graph.ErrShape, "axis %d of %d elements at scale %v would have %v", a, r.In, t.scales[i],
					out)
			}
			r.Out, r.scale = int(out), t.scales[i]
		}
		if r.In == 0 && r.Out > 0 {
			return nil, graph.Errorf(graph.ErrShape, "axis %d is empty and cannot become %d elements", a, r.Out)
		}
		if r.In > math.MaxInt32 || r.Out > math.MaxInt32 {
			return nil, graph.Errorf(graph.ErrShape, "axis %d has too many elements", a)
		}
		list[i] = r
	}
	if t.sizes != nil && o.policy != "stretch" {
		return list, o.keepAspect(list)
	}
	return list, nil
}

// keepAspect sets all scales to the least or the greatest of them.
func (o *Resize) keepAspect(list []resized) error {
	for _, r := range list {
		if r.In == 0 {
			return graph.Errorf(graph.ErrShape, "axis %d is empty and has no aspect ratio", r.Axis)
		}
	}
	scale := slices.MinFunc(list, compareScale).scale
	if o.policy == "not_smaller" {
		scale = slices.MaxFunc(list, compareScale).scale
	}
	for i := range list {
		out := math.Floor(float64(scale*float32(list[i].In)) + 0.5)
		if out > math.MaxInt32 {
			return graph.Errorf(graph.ErrShape, "axis %d would have %v elements", list[i].Axis, out)
		}
		list[i].scale, list[i].Out = scale, int(out)
	}
	return nil
}

func compareScale(a, b resized) int {
	switch {
	case a.scale < b.scale:
		return -1
	case a.scale > b.scale:
		return 1
	}
	return 0
}
