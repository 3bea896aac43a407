package vision

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Resize is Resize and Upsample. It resamples one axis after another.
type Resize struct {
	filter             filter
	axes               []int // axes of scales, sizes and roi; nil for all
	policy             string
	extrapolation      float32
	roi, scales, sizes int       // inputs; -1 if the operator lacks one
	fixed              []float32 // scales from attributes
}

var (
	resizeModes    = []string{"nearest", "linear", "cubic"}
	resizeNearest  = []string{"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}
	resizePolicies = []string{"stretch", "not_larger", "not_smaller"}
	resizeCoords   = []string{"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
		"tf_half_pixel_for_nn", "tf_crop_and_resize"}
)

func newResize(n *op.Node) (op.Op, error) {
	if n.Since == 10 {
		return newUpsample(n)
	}
	o := &Resize{roi: 1, scales: 2, sizes: 3, filter: filter{
		mode: n.Str("mode", "nearest"), coords: n.Str("coordinate_transformation_mode", "half_pixel"),
		nearest: n.Str("nearest_mode", "round_prefer_floor"), cubicA: float64(n.Float("cubic_coeff_a", -0.75)),
		excludeOutside: n.Bool("exclude_outside", false),
	}, extrapolation: n.Float("extrapolation_value", 0), policy: "stretch"}
	if n.Since >= 18 {
		o.filter.antialias = n.Bool("antialias", false)
		o.axes = n.Ints("axes")
		o.policy = n.Str("keep_aspect_ratio_policy", "stretch")
	}
	return o, o.check()
}

// newUpsample reads Upsample and the first Resize. Their coordinates are those later called
// asymmetric.
func newUpsample(n *op.Node) (op.Op, error) {
	o := &Resize{roi: -1, scales: 1, sizes: -1, policy: "stretch",
		filter: filter{mode: n.Str("mode", "nearest"), coords: "asymmetric", nearest: "floor", first: true}}
	if o.filter.mode == "bilinear" && n.Since == 1 {
		o.filter.mode = "linear"
	}
	switch {
	case n.Since == 1:
		o.scales = -1
		o.fixed = []float32{1, 1, n.Float("height_scale", 0), n.Float("width_scale", 0)}
	case n.Since == 7:
		o.scales = -1
		if o.fixed = n.Floats("scales"); o.fixed == nil {
			return nil, graph.Errorf(graph.ErrFormat, "attribute \"scales\" is missing")
		}
	}
	return o, o.check()
}

func (o *Resize) check() error {
	for _, c := range []struct {
		name, value string
		list        []string
	}{
		{"mode", o.filter.mode, resizeModes},
		{"coordinate_transformation_mode", o.filter.coords, resizeCoords},
		{"nearest_mode", o.filter.nearest, resizeNearest},
		{"keep_aspect_ratio_policy", o.policy, resizePolicies},
	} {
		if !slices.Contains(c.list, c.value) {
			return graph.Errorf(graph.ErrFormat, "%s is %q; it takes %q", c.name, c.value, c.list)
		}
	}
	if o.filter.antialias && o.filter.mode == "nearest" {
		return graph.Errorf(graph.ErrFormat, "antialias does not go with mode nearest")
	}
	return nil
}

// resizedAxes returns the axes of scales, sizes and roi.
func (o *Resize) resizedAxes(rank int) ([]int, error) {
	if o.axes != nil {
		return kit.NormAxes(o.axes, rank)
	}
	list := make([]int, rank)
	for i := range list {
		list[i] = i
	}
	return list, nil
}

// Infer computes the extents from constant scales or known sizes.
func (o *Resize) Infer(c *op.Infer) error {
	x := c.In[0]
	if d := x.DType; o.filter.mode != "nearest" && !op.Floats.Has(d) && !d.IsInteger() {
		return graph.Errorf(graph.ErrUnsupported, "elements of %v cannot be interpolated; mode nearest takes them", d)
	}
	rank, ok := x.Rank()
	if !ok {
		c.Set(0, x.DType, nil)
		return nil
	}
	axes, err := o.resizedAxes(rank)
	if err != nil {
		return err
	}
	c.Set(0, x.DType, o.unknown(x.Dims, axes))
	in := make([]*tensor.Tensor, len(c.In))
	for i, v := range c.In[1:] {
		if v == nil {
			continue
		}
		if in[i+1] = v.Const; v.Const == nil && i+1 == o.sizes && o.policy == "stretch" {
			if sizes, ok := v.IntVec(); ok && len(sizes) == len(axes) {
				c.Set(0, x.DType, replaced(x.Dims, axes, sizes))
			}
			return nil
		}
		if v.Const == nil && (i+1 != o.roi || o.filter.coords == "tf_crop_and_resize") {
			return nil
		}
	}
	targets, err := o.targets(in, len(axes))
	if err != nil {
		return err
	}
	if shape, ok := x.Dims.Concrete(); ok {
		list, err := o.plan(shape, axes, targets)
		if err != nil {
			return err
		}
		dims := slices.Clone(x.Dims)
		for _, r := range list {
			dims[r.Axis] = graph.Known(r.Out)
		}
		c.Set(0, x.DType, dims)
		return nil
	}
	c.Set(0, x.DType, o.symbolic(x.Dims, axes, targets))
	return nil
}

// unknown keeps the extents of axes that are not resized and leaves the others unknown.
func (o *Resize) unknown(in graph.Dims, axes []int) graph.Dims {
	return replaced(in, axes, graph.UnknownDims(len(axes)))
}

func replaced(in graph.Dims, axes []int, by graph.Dims) graph.Dims {
	dims := slices.Clone(in)
	for i, a := range axes {
		dims[a] = by[i]
	}
	return dims
}

// symbolic computes extents from expressions if scales or their inverses are integers.
func (o *Resize) symbolic(in graph.Dims, axes []int, t targets) graph.Dims {
	dims := o.unknown(in, axes)
	for i, a := range axes {
		switch {
		case t.sizes != nil && o.policy == "stretch":
			dims[a] = graph.Known(t.sizes[i])
		case t.sizes != nil || o.filter.coords == "tf_crop_and_resize":
		case t.scales[i] == float32(int32(t.scales[i])):
			dims[a] = in[a].Mul(graph.Known(int(t.scales[i])))
		case 1/t.scales[i] == float32(int32(1/t.scales[i])) && float64(t.scales[i])*float64(1/t.scales[i]) >= 1:
			dims[a] = in[a].Div(graph.Known(int(1 / t.scales[i])))
		}
	}
	return dims
}

// IsNearest reports whether outputs are elements of the input.
func (o *Resize) IsNearest() bool { return o.filter.mode == "nearest" }

// Reads reports whether the operator reads the elements of input i > 0.
func (o *Resize) Reads(i int) bool { return i != o.roi || o.filter.coords == "tf_crop_and_resize" }

// Tables returns the filters for the axes of a value of the given shape, in the order of
// resampling, without unchanged axes. It reads in[1:] only. Tables calls take with the bytes of
// each filter before it makes the filter.
func (o *Resize) Tables(in []*tensor.Tensor, shape tensor.Shape, take func(bytes int) error) ([]*Resample, error) {
	axes, err := o.resizedAxes(len(shape))
	if err != nil {
		return nil, err
	}
	t, err := o.targets(in, len(axes))
	if err != nil {
		return nil, err
	}
	list, err := o.plan(shape, axes, t)
	if err != nil {
		return nil, err
	}
	tables := make([]*Resample, 0, len(list))
	if o.copies(list) {
		return tables, nil
	}
	for _, r := range list {
		t, err := o.filter.resample(r, take)
		if err != nil {
			return nil, err
		}
		if !t.identity() {
			tables = append(tables, t)
		}
	}
	// Axes that shrink come first, and among the others the last one, since its rows are then few.
	// Both keep the values between the passes small.
	slices.SortStableFunc(tables, func(a, b *Resample) int {
		if c := compareScale(a.resized, b.resized); c != 0 {
			return c
		}
		return b.Axis - a.Axis
	})
	return tables, nil
}

// copies reports whether the output equals the input. In mode nearest it does if no extent changes,
// however the scales were rounded.
func (o *Resize) copies(list []resized) bool {
	return o.IsNearest() && o.filter.coords != "tf_crop_and_resize" &&
		!slices.ContainsFunc(list, func(r resized) bool { return r.In != r.Out })
}

// Run resamples in Go. It serves cases that no device computes.
func (o *Resize) Run(c *op.Run) error {
	x := c.In[0]
	tables, err := o.Tables(c.In, x.Shape(), c.Mem.Reserve)
	if err != nil {
		return err
	}
	shape := x.Shape().Clone()
	for _, t := range tables {
		shape[t.Axis] = t.Out
	}
	out, err := c.Output(0, x.DType(), shape)
	if err != nil || out.Len() == 0 {
		return err
	}
	o.resample(c.Pace(), x, out, tables)
	o.extrapolate(out, tables)
	return nil
}

// OutsideBytes returns the element for outputs outside the input.
func (o *Resize) OutsideBytes(d tensor.DType) []byte {
	return elementBytes(d, float64(o.extrapolation))
}

// extrapolate overwrites the outputs outside the input.
func (o *Resize) extrapolate(out *tensor.Tensor, tables []*Resample) {
	size := max(out.DType().Bits()/8, 1)
	for _, t := range tables {
		if t.Outside == nil || out.DType() == tensor.String {
			continue
		}
		value := o.OutsideBytes(out.DType())
		inner := out.Shape()[t.Axis+1:].Len()
		for a := range out.Shape()[:t.Axis].Len() {
			for j, outside := range t.Outside {
				if !outside {
					continue
				}
				at := (a*t.Out + j) * inner
				for i := at; i < at+inner; i++ {
					copy(out.Bytes()[i*size:], value)
				}
			}
		}
	}
}

var resizeRows = []op.Row{
	{Name: "Resize", Since: []int{10, 11, 13, 18, 19}, In: [2]int{2, 2}, Later: []op.Arity{{Since: 11, In: [2]int{1, 4}}}, Out: [2]int{1, 1}, Types: resizeTypes, Heap: 16, Items: itemsOfResize, New: newResize},
	{Name: "Upsample", Since: []int{1, 7, 9, 10}, In: [2]int{1, 1}, Later: []op.Arity{{Since: 9, In: [2]int{2, 2}}}, Out: [2]int{1, 1}, Types: resizeTypes, Heap: 16, Items: itemsOfResize, New: newUpsample},
}

// Interpolation takes only the numbers among them.
var resizeTypes = slices.Concat(op.Numeric, op.Boolean, op.Types{tensor.String, tensor.C64, tensor.C128})
